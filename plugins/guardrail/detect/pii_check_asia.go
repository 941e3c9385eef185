package detect

import "strings"

func inAadhaar(c chars) bool {
	d := c.all()
	palindrome := true
	for i := range 6 {
		palindrome = palindrome && d[i] == d[11-i]
	}
	return d[0] > '1' && !palindrome && verhoeff(d)
}

func inPAN(c chars) bool {
	code := c.all()
	return strings.IndexByte("ABCFGHJLPT", code[3]) >= 0
}

func inGSTIN(c chars) bool {
	code := c.all()
	if state := decimal(code[:2]); state < 1 || state > 38 {
		return false
	}
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := 0
	for i, c := range code[:14] {
		n := strings.IndexByte(alphabet, c) * (1 + i%2)
		sum += n/36 + n%36
	}
	return alphabet[(36-sum%36)%36] == code[14]
}

// inVehicle knows the states and territories; a BH series begins with a year.
func inVehicle(c chars) bool {
	code := c.all()
	if aDigit(code[0]) {
		return string(code[2:4]) == "BH"
	}
	const states = " AN AP AR AS BR CG CH DD DL DN GA GJ HP HR JH JK KA KL LA LD MH ML MN MP MZ NL OD OR PB PY RJ SK TG TN TR TS UA UK UP WB "
	return contains(states, []byte{' ', code[0], code[1], ' '})
}

func sgNRIC(c chars) bool {
	code := c.all()
	sum := weigh(code[1:], 2, 7, 6, 5, 4, 3, 2)
	switch code[0] {
	case 'S':
		return "JZIHGFEDCBA"[sum%11] == code[8]
	case 'T':
		return "JZIHGFEDCBA"[(sum+4)%11] == code[8]
	case 'F':
		return "XWUTRQPNMLK"[sum%11] == code[8]
	case 'G':
		return "XWUTRQPNMLK"[(sum+4)%11] == code[8]
	case 'M':
		return "XWUTRQPNJLK"[(sum+3)%11] == code[8]
	}
	return false
}

func sgUEN(c chars) bool {
	code := c.all()
	last := code[len(code)-1]
	switch {
	case len(code) == 9:
		return "XMKECAWLJDB"[weigh(code, 10, 4, 9, 3, 8, 2, 7, 1)%11] == last
	case aDigit(code[0]):
		year := decimal(code[:4])
		return year >= 1800 && year < 2100 && "ZKCMDNERGWH"[weigh(code, 10, 8, 6, 4, 9, 7, 5, 3, 1)%11] == last
	}
	const alphabet = "ABCDEFGHJKLMNPQRSTUVWX0123456789"
	sum := -5
	for i, w := range [9]int{4, 3, 5, 3, 10, 2, 2, 5, 7} {
		n := strings.IndexByte(alphabet, code[i])
		if n < 0 {
			return false
		}
		sum += w * n
	}
	return (code[0] == 'R' || code[0] == 'S' || code[0] == 'T') && alphabet[(sum+11)%11] == last
}

func cnResident(c chars) bool {
	code := c.all()
	if year := decimal(code[6:10]); year < 1900 || year > 2100 {
		return false
	}
	return yymmdd(code[8:14]) && "10X98765432"[weigh(code, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)%11] == code[17]
}

func twNational(c chars) bool {
	code := c.all()
	n := 10 + strings.IndexByte("ABCDEFGHJKLMNPQRSTUVXYWZIO", code[0])
	switch code[1] {
	case '1', '2', '8', '9':
		return (n/10+n%10*9+weigh(code[1:], 8, 7, 6, 5, 4, 3, 2, 1, 1))%10 == 0
	}
	return false
}

func thTNIN(c chars) bool {
	d := c.all()
	return d[0] > '0' && d[0] < '9' && !same(d) && (11-weigh(d, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11)%10 == int(d[12]-'0')
}

func krSum(d []byte) int { return weigh(d, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5) % 11 }

// krRRN has no check digit since October 2020.
func krRRN(c chars) bool {
	d := c.all()
	unchecked := d[0] == '2' && d[6] > '2'
	return yymmdd(d[:6]) && (d[6] < '5' || d[6] == '9') && (unchecked || (11-krSum(d))%10 == int(d[12]-'0'))
}

func krFRN(c chars) bool {
	d := c.all()
	return yymmdd(d[:6]) && d[6] > '4' && d[6] < '9' && (13-krSum(d))%10 == int(d[12]-'0')
}

func krBRN(c chars) bool {
	d := c.all()
	sum := weigh(d, 1, 3, 7, 1, 3, 7, 1, 3, 5) + int(d[8]-'0')*5/10
	return (10-sum%10)%10 == int(d[9]-'0') && !same(d)
}

func krDriver(c chars) bool {
	region := decimal(c.all()[:2])
	return region >= 11 && region <= 28
}

func jpMyNumber(c chars) bool {
	d := c.all()
	return !same(d) && check11(weigh(d, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) == int(d[11]-'0')
}

func yymmdd6(c chars) bool {
	d := c.all()
	return yymmdd(d[:6])
}

// idNIK is Indonesia's: a province, a date in which women's days are 40 more, a serial number.
func idNIK(c chars) bool {
	d := c.all()
	day := decimal(d[6:8])
	if day > 40 {
		day -= 40
	}
	return d[0] > '0' && dayOf(decimal(d[8:10]), day)
}

func kzIIN(c chars) bool {
	d := c.all()
	r := weigh(d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) % 11
	if r == 10 {
		r = weigh(d, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2) % 11
	}
	return yymmdd(d[:6]) && r == int(d[11]-'0')
}

func trID(c chars) bool {
	d := c.all()
	odd, even := weigh(d, 1, 0, 1, 0, 1, 0, 1, 0, 1), weigh(d, 0, 1, 0, 1, 0, 1, 0, 1)
	return d[0] != '0' && (7*odd+9*even)%10 == int(d[9]-'0') && weigh(d, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)%10 == int(d[10]-'0')
}
