package detect

// Check digits. Each takes digits as ASCII, the check digit last.

// chars are a number's digits, or a code's characters. They are handed to checks as a value: the compiler cannot see what
// a function that it does not know does with a slice, and would allocate it.
type chars struct {
	bytes [20]byte
	n     int
}

func (c *chars) all() []byte { return c.bytes[:c.n] }

func luhnCheck(c chars) bool       { return luhn(c.all()) }
func verhoeffCheck(c chars) bool   { return verhoeff(c.all()) }
func mod11and10Check(c chars) bool { return mod11and10(c.all()) }

// luhn is ISO/IEC 7812-1 annex B: every second digit from the right doubled, the sum of all digits a multiple of ten.
func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0 && !same(d)
}

// same says whether all digits are the same, which many check digits let pass.
func same(d []byte) bool {
	for _, c := range d {
		if c != d[0] {
			return false
		}
	}
	return true
}

// weigh is the sum of the digits, each times its weight.
func weigh(d []byte, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += w * int(d[i]-'0')
	}
	return sum
}

// decimal is the value of some digits.
func decimal(d []byte) int {
	n := 0
	for _, c := range d {
		n = 10*n + int(c-'0')
	}
	return n
}

// mod97 is ISO 7064 mod 97-10 over letters and digits, letters counting 10 to 35.
func mod97(rest int, code []byte) int {
	for _, c := range code {
		if aDigit(c) {
			rest = (10*rest + int(c-'0')) % 97
		} else {
			rest = (100*rest + int(c-'A') + 10) % 97
		}
	}
	return rest
}

// mod11and10 is ISO 7064 mod 11,10.
func mod11and10(d []byte) bool {
	p := 10
	for _, c := range d[:len(d)-1] {
		if p = (p + int(c-'0')) % 10; p == 0 {
			p = 10
		}
		p = 2 * p % 11
	}
	return (p+int(d[len(d)-1]-'0'))%10 == 1
}

var (
	verhoeffTurn = [8]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
	verhoeffSum  = [10]string{"0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"}
)

// verhoeff is J. Verhoeff's check digit (1969), over the dihedral group of order ten.
func verhoeff(d []byte) bool {
	sum := byte(0)
	for i := range d {
		sum = verhoeffSum[sum][verhoeffTurn[i%8][d[len(d)-1-i]-'0']-'0'] - '0'
	}
	return sum == 0 && !same(d)
}

// yymmdd says whether six digits can be a date of two digits each for year, month and day.
func yymmdd(d []byte) bool {
	return dayOf(decimal(d[2:4]), decimal(d[4:6]))
}

// ddmmyy says whether six digits can be a date of two digits each for day, month and year.
func ddmmyy(d []byte) bool {
	return dayOf(decimal(d[2:4]), decimal(d[:2]))
}

// dayOf says whether a month has such a day in some year.
func dayOf(month, day int) bool {
	switch month {
	case 2:
		return day >= 1 && day <= 29
	case 4, 6, 9, 11:
		return day >= 1 && day <= 30
	case 1, 3, 5, 7, 8, 10, 12:
		return day >= 1 && day <= 31
	}
	return false
}
