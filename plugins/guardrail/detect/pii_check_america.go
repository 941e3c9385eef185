package detect

// usSSN leaves out what the Social Security Administration never gives, and three numbers it has withdrawn.
func usSSN(c chars) bool {
	d := c.all()
	area := decimal(d[:3])
	switch string(d) {
	case "078051120", "219099999", "123456789":
		return false
	}
	return area > 0 && area != 666 && area < 900 && decimal(d[3:5]) > 0 && decimal(d[5:]) > 0 && !same(d)
}

func usITIN(c chars) bool {
	d := c.all()
	group := decimal(d[3:5])
	return d[0] == '9' && group >= 50 && group != 89 && group != 93 && group != 66 && group != 67 && group != 68 && group != 69
}

func abaRouting(c chars) bool {
	d := c.all()
	district := decimal(d[:2])
	return weigh(d, 3, 7, 1, 3, 7, 1, 3, 7, 1)%10 == 0 && !same(d) &&
		(district <= 12 || district >= 21 && district <= 32 || district >= 61 && district <= 72 || district == 80)
}

// usNPI is Luhn's check digit with the prefix 80840 of health care in the United States.
func usNPI(c chars) bool {
	d := c.all()
	all := [15]byte{'8', '0', '8', '4', '0'}
	copy(all[5:], d)
	return (d[0] == '1' || d[0] == '2') && luhn(all[:])
}

func usMBI(c chars) bool {
	code := c.all()
	for _, c := range code {
		switch c {
		case 'S', 'L', 'O', 'I', 'B', 'Z':
			return false
		}
	}
	return code[0] != '0'
}

// dea is the Drug Enforcement Administration's number of who may prescribe.
func dea(c chars) bool {
	code := c.all()
	d := code[2:]
	switch code[0] {
	case 'I', 'N', 'O', 'Q', 'V', 'W', 'Y', 'Z':
		return false
	}
	return weigh(d, 1, 2, 1, 2, 1, 2)%10 == int(d[6]-'0') && !same(d)
}

func brCPF(c chars) bool {
	d := c.all()
	return !same(d) && check11(weigh(d, 10, 9, 8, 7, 6, 5, 4, 3, 2)) == int(d[9]-'0') && check11(weigh(d, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)) == int(d[10]-'0')
}

func brCNPJ(c chars) bool {
	d := c.all()
	return !same(d) && check11(weigh(d, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)) == int(d[12]-'0') &&
		check11(weigh(d, 6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)) == int(d[13]-'0')
}

// check11 is the check digit that makes a sum a multiple of eleven, 0 if there is none of one digit.
func check11(sum int) int {
	if c := 11 - sum%11; c < 10 {
		return c
	}
	return 0
}

func arCUIT(c chars) bool {
	d := c.all()
	switch decimal(d[:2]) {
	case 20, 23, 24, 25, 26, 27, 30, 33, 34:
		return check11(weigh(d, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) == int(d[10]-'0')
	}
	return false
}

// rutDigit is the check digit of Chile's RUT: 10 stands for K.
func rutDigit(d []byte) int {
	sum := 0
	for i := range d {
		sum += (2 + i%6) * int(d[len(d)-1-i]-'0')
	}
	return (11 - sum%11) % 11
}

func clRUT(c chars) bool {
	d := c.all()
	return !same(d) && rutDigit(d[:len(d)-1]) == int(d[len(d)-1]-'0')
}

func clRUTLetter(c chars) bool {
	code := c.all()
	return code[len(code)-1] == 'K' && rutDigit(code[:len(code)-1]) == 10
}

func coNIT(c chars) bool {
	d := c.all()
	r := weigh(d, 41, 37, 29, 23, 19, 17, 13, 7, 3) % 11
	if r > 1 {
		r = 11 - r
	}
	return r == int(d[9]-'0')
}

func mxCURP(c chars) bool {
	code := c.all()
	sum := 0
	for i, c := range code[:17] {
		sum += (18 - i) * curpValue(c)
	}
	return yymmdd(code[4:10]) && (10-sum%10)%10 == int(code[17]-'0')
}

// curpValue counts Ñ between N and O.
func curpValue(c byte) int {
	switch {
	case aDigit(c):
		return int(c - '0')
	case c > 'N':
		return int(c-'A') + 11
	}
	return int(c-'A') + 10
}

func mxRFC(c chars) bool {
	code := c.all()
	return yymmdd(code[len(code)-9 : len(code)-3])
}
