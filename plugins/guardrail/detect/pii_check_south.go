package detect

func zaID(c chars) bool {
	d := c.all()
	return yymmdd(d[:6]) && d[10] < '3' && luhn(d)
}

func auABN(c chars) bool {
	d := c.all()
	return d[0] != '0' && (weigh(d, 10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)-10)%89 == 0
}

func auACN(c chars) bool {
	d := c.all()
	return !same(d) && (10-weigh(d, 8, 7, 6, 5, 4, 3, 2, 1)%10)%10 == int(d[8]-'0')
}

func auTFN(c chars) bool {
	d := c.all()
	if len(d) == 8 {
		return weigh(d, 10, 7, 8, 4, 6, 3, 5, 1)%11 == 0 && !same(d)
	}
	return weigh(d, 1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0 && !same(d)
}

func auMedicare(c chars) bool {
	d := c.all()
	return d[0] > '1' && d[0] < '7' && weigh(d, 1, 3, 7, 9, 1, 3, 7, 9)%10 == int(d[8]-'0')
}
