// Package checkdigit checks numbers such as those of cards, passports and taxes: their check
// digits, and the dates and other parts that they have. A [Rule] describes the numbers of one kind
// in a small language.
//
// A new rule is a row of ../../data/checks.txt. A check digit that no condition there says is a function of
// this file, and a case of parser.condition.
package checkdigit

// Luhn is the check digit of ISO/IEC 7812-1 annex B, which is the last: every second digit from
// the right counts double, and the sum of all digits is a multiple of ten. Digits that are all the
// same are refused, for many of them pass.
func Luhn(digits []byte) bool { return luhnSum(digits)%10 == 0 && vary(digits) }

func luhnSum(digits []byte) int {
	sum := 0
	for i := range digits {
		n := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			n = 2*n%10 + n/5
		}
		sum += n
	}
	return sum
}

// vary tells whether not all characters are the same.
func vary(code []byte) bool {
	for _, c := range code {
		if c != code[0] {
			return true
		}
	}
	return false
}

// Decimal is the value of some digits.
func Decimal(digits []byte) int {
	n := 0
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}

// Mod97 goes on with the remainder of ISO 7064 mod 97-10 over digits and capital letters; the
// first remainder is 0. Letters count 10 to 35.
func Mod97(remainder int, code []byte) int {
	for _, c := range code {
		if isLetter(c) {
			remainder = (100*remainder + int(c-'A') + 10) % 97
		} else {
			remainder = (10*remainder + int(c-'0')) % 97
		}
	}
	return remainder
}

// mod11and10 is the check digit of ISO 7064 mod 11,10, which is the last.
func mod11and10(digits []byte) bool {
	p := 10
	last := len(digits) - 1
	for _, c := range digits[:last] {
		p = (p + int(c-'0')) % 10
		if p == 0 {
			p = 10
		}
		p = 2 * p % 11
	}
	return (p+int(digits[last]-'0'))%10 == 1
}

// The tables of Verhoeff's check digit (1969): how a digit is permuted by its place, and the
// group's product.
var (
	verhoeffTurn = [8]string{
		"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415",
		"7046913258",
	}
	verhoeffSum = [10]string{
		"0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
		"5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
	}
)

// verhoeff is J. Verhoeff's check digit over the dihedral group of order ten; it is the last.
func verhoeff(digits []byte) bool {
	sum := byte(0)
	for i := range digits {
		turned := verhoeffTurn[i%8][digits[len(digits)-1-i]-'0'] - '0'
		sum = verhoeffSum[sum][turned] - '0'
	}
	return sum == 0 && vary(digits)
}

// repeatsOne tells whether exactly one digit is there twice or three times, and none more often.
func repeatsOne(digits []byte) bool {
	var times [10]int
	repeated := 0
	for _, c := range digits {
		times[c-'0']++
		switch times[c-'0'] {
		case 2:
			repeated++
		case 4:
			return false
		}
	}
	return repeated == 1
}

// IsDay tells whether a month has such a day in some year.
func IsDay(month, day int) bool {
	days := [12]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month-1]
}

func isLetter(c byte) bool { return 'A' <= c && c <= 'Z' }
