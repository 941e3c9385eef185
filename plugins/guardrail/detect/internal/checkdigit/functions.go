package checkdigit

import "strings"

// functions are the checks that need more than the language of rules has, by the name that rules
// call them by.
var functions = map[string]func(number) bool{
	"de-card":     germanCard,
	"de-health":   germanHealth,
	"de-social":   germanSocial,
	"de-tax":      germanTax,
	"fr-corsica":  frenchCorsica,
	"ie-pps":      irishPPS,
	"in-aadhaar":  indianAadhaar,
	"in-gstin":    indianGSTIN,
	"it-fiscal":   italianFiscal,
	"kr-business": koreanBusiness,
	"tw-national": taiwaneseNational,
	"uk-driving":  britishDriving,
	"vin":         vehicle,
}

// A number is handed to functions as a value: if it were a slice, the compiler could not know that
// a function keeps nothing of it, and would allocate it.
type number struct {
	bytes [maxLength]byte
	n     int
}

func numberOf(code []byte) (n number) {
	n.n = copy(n.bytes[:], code)
	return n
}

func (n *number) code() []byte { return n.bytes[:n.n] }

// weigh is the sum of the digits, each times its weight.
func weigh(digits []byte, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += w * int(digits[i]-'0')
	}
	return sum
}

// weighAcross is the same, where each product counts as the sum of its two digits.
func weighAcross(digits []byte, weights ...int) int {
	sum := 0
	for i, w := range weights {
		n := w * int(digits[i]-'0')
		sum += n/10 + n%10
	}
	return sum
}

// spell appends a code with letters written as two digits, their places in the alphabet.
func spell(to, code []byte) []byte {
	for _, c := range code {
		if isLetter(c) {
			n := c - 'A' + 1
			to = append(to, '0'+n/10, '0'+n%10)
		} else {
			to = append(to, c)
		}
	}
	return to
}

// germanCard is the number of Germany's identity cards and passports: at least two digits, and
// letters that look like no others. If it has a tenth character, that is ICAO's check digit.
func germanCard(n number) bool {
	code := n.code()
	sum := 0
	digits := 0
	for i, c := range code[:9] {
		value := int(c - '0')
		if isLetter(c) {
			if strings.IndexByte("CFGHJKLMNPRTVWXYZ", c) < 0 {
				return false
			}
			value = int(c-'A') + 10
		} else {
			digits++
		}
		sum += value * [3]int{7, 3, 1}[i%3]
	}
	return digits > 1 && (len(code) == 9 || sum%10 == int(code[9]-'0'))
}

func germanHealth(n number) bool {
	var buf [16]byte
	digits := spell(buf[:0], n.code())
	return weighAcross(digits, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2)%10 == int(digits[10]-'0')
}

// germanSocial has the day of birth, which is 50 more where the day has no numbers left.
func germanSocial(n number) bool {
	code := n.code()
	var buf [16]byte
	digits := spell(buf[:0], code)
	return IsDay(Decimal(code[4:6]), Decimal(code[2:4])%50) &&
		weighAcross(digits, 2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)%10 == int(digits[12]-'0')
}

// germanTax wants exactly one digit among the first ten to be there twice or three times.
func germanTax(n number) bool {
	digits := n.code()
	var times [10]int
	for _, c := range digits[:10] {
		times[c-'0']++
	}
	repeated := 0
	for _, n := range times {
		if n > 3 {
			return false
		}
		if n > 1 {
			repeated++
		}
	}
	return digits[0] != '0' && repeated == 1 && mod11and10(digits)
}

// frenchCorsica is a social security number of who was born in the departments 2A or 2B, which
// count as 19 and 18.
func frenchCorsica(n number) bool {
	digits := n.code()
	for i, c := range digits {
		if isLetter(c) && i != 6 {
			return false
		}
	}
	if digits[5] != '2' {
		return false
	}
	switch digits[6] {
	case 'A':
		digits[5] = '1'
		digits[6] = '9'
	case 'B':
		digits[5] = '1'
		digits[6] = '8'
	default:
		return false
	}
	month := Decimal(digits[3:5])
	known := month >= 1 && month <= 12 || month >= 20 && month <= 42 || month >= 50
	return digits[0] != '0' && digits[0] != '9' && known &&
		97-Decimal(digits[:13])%97 == Decimal(digits[13:])
}

// irishPPS has a second letter since 2013, which counts nine times; W counts nothing.
func irishPPS(n number) bool {
	code := n.code()
	sum := weigh(code, 8, 7, 6, 5, 4, 3, 2)
	if len(code) == 9 {
		if code[8] > 'I' && code[8] != 'W' {
			return false
		}
		if code[8] != 'W' {
			sum += 9 * int(code[8]-'A'+1)
		}
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == code[7]
}

// indianAadhaar is no palindrome.
func indianAadhaar(n number) bool {
	digits := n.code()
	palindrome := true
	for i := range 6 {
		palindrome = palindrome && digits[i] == digits[11-i]
	}
	return digits[0] > '1' && !palindrome && verhoeff(digits)
}

// indianGSTIN begins with a state, and sums the digits to base 36 of each product.
func indianGSTIN(n number) bool {
	code := n.code()
	state := Decimal(code[:2])
	if state < 1 || state > 38 {
		return false
	}
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := 0
	for i, c := range code[:14] {
		product := strings.IndexByte(alphabet, c) * (1 + i%2)
		sum += product/36 + product%36
	}
	return alphabet[(36-sum%36)%36] == code[14]
}

// italianFiscal sums the characters; those at the first, third and so on count after a table of
// the decree of 23 December 1976.
func italianFiscal(n number) bool {
	code := n.code()
	odd := [26]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22,
		25, 24, 23}
	sum := 0
	for i, c := range code[:15] {
		value := int(c - '0')
		if isLetter(c) {
			value = int(c - 'A')
		}
		if i%2 == 0 {
			value = odd[value]
		}
		sum += value
	}
	month := strings.IndexByte("ABCDEHLMPRST", code[8])
	return month >= 0 && byte(sum%26)+'A' == code[15]
}

func koreanBusiness(n number) bool {
	digits := n.code()
	sum := weigh(digits, 1, 3, 7, 1, 3, 7, 1, 3, 5) + int(digits[8]-'0')*5/10
	return (10-sum%10)%10 == int(digits[9]-'0') && vary(digits)
}

func taiwaneseNational(n number) bool {
	code := n.code()
	switch code[1] {
	case '1', '2', '8', '9':
	default:
		return false
	}
	letter := 10 + strings.IndexByte("ABCDEFGHJKLMNPQRSTUVXYWZIO", code[0])
	return (letter/10+letter%10*9+weigh(code[1:], 8, 7, 6, 5, 4, 3, 2, 1, 1))%10 == 0
}

// britishDriving begins with five letters of the surname, filled up with 9, and has the date of
// birth in another order. Women's months are 50 more.
func britishDriving(n number) bool {
	code := n.code()
	name := code[:5]
	for len(name) > 0 && name[len(name)-1] == '9' {
		name = name[:len(name)-1]
	}
	for _, c := range name {
		if !isLetter(c) {
			return false
		}
	}
	return len(name) > 0 && IsDay(Decimal(code[6:8])%50, Decimal(code[8:10])) &&
		(isLetter(code[11]) || code[11] == '9')
}

// vehicle is the number of a vehicle that was made for North America (49 CFR part 565): the first
// three characters are the maker, and the ninth is the remainder of a sum by 11, X for ten.
func vehicle(n number) bool {
	code := n.code()
	if code[0] == '0' || !isLetter(code[1]) && !isLetter(code[2]) {
		return false
	}
	weights := [17]int{8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2}
	const letters = "12345678-12345-7-923456789" // what A to Z count; I, O and Q are not used
	sum := 0
	for i, c := range code {
		value := c
		if isLetter(c) {
			value = letters[c-'A']
		}
		if value == '-' {
			return false
		}
		sum += weights[i] * int(value-'0')
	}
	return "0123456789X"[sum%11] == code[8]
}
