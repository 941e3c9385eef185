package detect

import "strings"

func ukNHS(c chars) bool {
	d := c.all()
	last := 11 - weigh(d, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11
	return last%11 == int(d[9]-'0') && last != 10 && !same(d)
}

// ukNINO leaves out the prefixes and letters that are not given.
func ukNINO(c chars) bool {
	code := c.all()
	switch string(code[:2]) {
	case "BG", "GB", "NK", "KN", "TN", "NT", "ZZ":
		return false
	}
	return strings.IndexByte("DFIQUV", code[0]) < 0 && strings.IndexByte("DFIOQUV", code[1]) < 0 && code[8] <= 'D'
}

// ukDriving is five characters of the surname, filled up with 9, and the date of birth in another order; women's months
// are 50 more.
func ukDriving(c chars) bool {
	code := c.all()
	name := strings.TrimRight(string(code[:5]), "9")
	for i := range len(name) {
		if !aLetter(name[i]) {
			return false
		}
	}
	return name != "" && dayOf(decimal(code[6:8])%50, decimal(code[8:10])) && (aLetter(code[11]) || code[11] == '9')
}

func iePPS(c chars) bool {
	code := c.all()
	sum := weigh(code, 8, 7, 6, 5, 4, 3, 2)
	if len(code) == 9 && code[8] != 'W' {
		sum += 9 * int(code[8]-'A'+1)
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == code[7] && (len(code) == 8 || code[8] <= 'I' || code[8] == 'W')
}

const spanishLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

func esNIF(c chars) bool {
	code := c.all()
	n := len(code) - 1
	return spanishLetters[decimal(code[:n])%23] == code[n]
}

func esNIE(c chars) bool {
	code := c.all()
	if code[0] < 'X' {
		return false
	}
	return spanishLetters[(int(code[0]-'X')*10_000_000+decimal(code[1:8]))%23] == code[8]
}

// itFiscal sums the characters, those at odd places after a table of the decree of 23 December 1976.
func itFiscal(c chars) bool {
	code := c.all()
	odd := [26]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i, c := range code[:15] {
		n := int(c - '0')
		if aLetter(c) {
			n = int(c - 'A')
		}
		if i%2 == 0 {
			n = odd[n]
		}
		sum += n
	}
	return strings.IndexByte("ABCDEHLMPRST", code[8]) >= 0 && byte(sum%26)+'A' == code[15]
}

// crossed sums the digits of each digit times its weight.
func crossed(d []byte, weights ...int) int {
	sum := 0
	for i, w := range weights {
		n := w * int(d[i]-'0')
		sum += n/10 + n%10
	}
	return sum
}

// spelled puts a letter's place in the alphabet, of two digits, in place of it.
func spelled(buf, code []byte) []byte {
	for _, c := range code {
		if aLetter(c) {
			n := c - 'A' + 1
			buf = append(buf, '0'+n/10, '0'+n%10)
		} else {
			buf = append(buf, c)
		}
	}
	return buf
}

func deSocial(c chars) bool {
	code := c.all()
	var buf [16]byte
	d := spelled(buf[:0], code)
	day := decimal(code[2:4])
	return dayOf(decimal(code[4:6]), day) && crossed(d, 2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)%10 == int(d[12]-'0')
}

func deHealth(c chars) bool {
	code := c.all()
	var buf [16]byte
	d := spelled(buf[:0], code)
	return crossed(d, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2)%10 == int(d[10]-'0')
}

// deCard is the number of Germany's identity cards and passports; with a tenth character, that is ICAO's check digit.
func deCard(c chars) bool {
	code := c.all()
	sum, digits := 0, 0
	for i, c := range code[:9] {
		n := int(c - '0')
		if aLetter(c) {
			if strings.IndexByte("CFGHJKLMNPRTVWXYZ", c) < 0 {
				return false
			}
			n = int(c-'A') + 10
		} else {
			digits++
		}
		sum += n * [3]int{7, 3, 1}[i%3]
	}
	return digits > 1 && (len(code) == 9 || sum%10 == int(code[9]-'0'))
}

func deVAT(c chars) bool {
	code := c.all()
	return string(code[:2]) == "DE" && code[2] != '0' && mod11and10(code[2:])
}
