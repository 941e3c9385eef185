package detect

// sePersonal may have the century before it. A coordination number's day is 60 more.
func sePersonal(c chars) bool {
	d := c.all()
	if len(d) == 12 {
		if century := decimal(d[:2]); century < 18 || century > 20 {
			return false
		}
		d = d[2:]
	}
	day := decimal(d[4:6])
	if day > 60 {
		day -= 60
	}
	return dayOf(decimal(d[2:4]), day) && luhn(d)
}

func seOrganisation(c chars) bool {
	d := c.all()
	return d[2] > '1' && luhn(d)
}

// noBirth has two check digits. A D number's day is 40 more.
func noBirth(c chars) bool {
	d := c.all()
	day := decimal(d[:2])
	if day > 40 {
		day -= 40
	}
	return dayOf(decimal(d[2:4]), day) && weigh(d, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1)%11 == 0 && weigh(d, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)%11 == 0
}

func ddmmyy6(c chars) bool {
	d := c.all()
	return ddmmyy(d[:6])
}

func fiCheck(d []byte, check byte) bool {
	return ddmmyy(d[:6]) && "0123456789ABCDEFHJKLMNPRSTUVWXY"[decimal(d[:9])%31] == check
}

func fiDigits(c chars) bool {
	d := c.all()
	return fiCheck(d, d[9])
}

// fiPersonal has a sign for the century after the date: a letter, or a hyphen that is not among the characters here.
func fiPersonal(c chars) bool {
	code := c.all()
	if len(code) == 10 {
		return fiCheck(code, code[9])
	}
	var d [9]byte
	copy(d[:], code[:6])
	copy(d[6:], code[7:10])
	return fiCheck(d[:], code[10])
}

func ruSNILS(c chars) bool {
	d := c.all()
	return !same(d) && weigh(d, 9, 8, 7, 6, 5, 4, 3, 2, 1)%101%100 == decimal(d[9:])
}

func ruINN(c chars) bool {
	d := c.all()
	if len(d) == 10 {
		return !same(d) && weigh(d, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == int(d[9]-'0')
	}
	return !same(d) && weigh(d, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == int(d[10]-'0') && weigh(d, 3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == int(d[11]-'0')
}
