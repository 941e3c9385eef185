package detect

func deTaxID(c chars) bool {
	d := c.all()
	var times [10]int
	for _, c := range d[:10] {
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
	return d[0] != '0' && repeated == 1 && mod11and10(d)
}

func atSVNR(c chars) bool {
	d := c.all()
	month, day := decimal(d[6:8]), decimal(d[4:6])
	if month > 12 && month < 16 { // where a day has no numbers left
		month = 12
	}
	return d[0] != '0' && dayOf(month, day) && weigh(d, 3, 7, 9, 0, 5, 8, 4, 2, 1, 6)%11 == int(d[3]-'0')
}

func chAHV(c chars) bool {
	d := c.all()
	return string(d[:3]) == "756" && weigh(d, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)%10 == 0
}

func plPESEL(c chars) bool {
	d := c.all()
	return dayOf(decimal(d[2:4])%20, decimal(d[4:6])) && weigh(d, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)%10 == 0
}

func plNIP(c chars) bool {
	d := c.all()
	return !same(d) && weigh(d, 6, 5, 7, 2, 3, 4, 5, 6, 7)%11 == int(d[9]-'0')
}

// czBirth is the birth number of the Czech Republic and Slovakia: women's months are 50 more, and 20 more where a day has
// no numbers left; before 1954 it had nine digits, of which none checks.
func czBirth(c chars) bool {
	d := c.all()
	month := decimal(d[2:4]) % 50
	if month > 20 {
		month -= 20
	}
	if !dayOf(month, decimal(d[4:6])) {
		return false
	}
	return len(d) == 9 && decimal(d[:2]) < 54 || len(d) == 10 && decimal(d[:9])%11%10 == int(d[9]-'0')
}

func huTaxID(c chars) bool {
	d := c.all()
	return d[0] == '8' && weigh(d, 1, 2, 3, 4, 5, 6, 7, 8, 9)%11 == int(d[9]-'0')
}

func roCNP(c chars) bool {
	d := c.all()
	r := weigh(d, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9) % 11
	if r == 10 {
		r = 1
	}
	county := decimal(d[7:9])
	return d[0] != '0' && yymmdd(d[1:7]) && (county > 0 && county < 53 || county == 70) && r == int(d[12]-'0')
}

func bgEGN(c chars) bool {
	d := c.all()
	return dayOf(decimal(d[2:4])%20, decimal(d[4:6])) && weigh(d, 2, 4, 8, 5, 10, 9, 7, 3, 6)%11%10 == int(d[9]-'0')
}

func siEMSO(c chars) bool {
	d := c.all()
	return dayOf(decimal(d[2:4]), decimal(d[:2])) && (d[4] == '9' || d[4] == '0') && check11(weigh(d, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) == int(d[12]-'0')
}

func eePersonal(c chars) bool {
	d := c.all()
	r := weigh(d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1) % 11
	if r == 10 {
		r = weigh(d, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3) % 11 % 10
	}
	return d[0] > '0' && d[0] < '9' && yymmdd(d[1:7]) && r == int(d[10]-'0')
}

// beNRN has a 2 before it when it is checked for who was born from 2000 on.
func beNRN(c chars) bool {
	d := c.all()
	n, check := decimal(d[:9]), decimal(d[9:])
	return decimal(d[2:4])%20 <= 12 && decimal(d[4:6]) <= 31 && !same(d) && (97-n%97 == check || 97-(2_000_000_000+n)%97 == check)
}

func nlBSN(c chars) bool {
	d := c.all()
	return weigh(d, 9, 8, 7, 6, 5, 4, 3, 2, -1)%11 == 0 && !same(d)
}

func frNIR(c chars) bool {
	return nir(c.all())
}

func nir(d []byte) bool {
	month := decimal(d[3:5])
	if d[0] == '0' || d[0] == '9' || month == 0 || month > 12 && month < 20 || month > 42 && month < 50 {
		return false
	}
	return len(d) == 13 || 97-decimal(d[:13])%97 == decimal(d[13:])
}

// frCorsica is a NIR whose department is 2A or 2B, which count as 19 and 18.
func frCorsica(c chars) bool {
	code := c.all()
	var d [15]byte
	for i := range d {
		d[i] = code[i]
		if aLetter(d[i]) && i != 6 {
			return false
		}
	}
	switch code[6] {
	case 'A':
		d[5], d[6] = '1', '9'
	case 'B':
		d[5], d[6] = '1', '8'
	default:
		return false
	}
	return code[5] == '2' && nir(d[:])
}

func ptNIF(c chars) bool {
	d := c.all()
	return d[0] != '0' && d[0] != '4' && d[0] != '7' && !same(d) && check11(weigh(d, 9, 8, 7, 6, 5, 4, 3, 2)) == int(d[8]-'0')
}

func grAMKA(c chars) bool {
	d := c.all()
	return ddmmyy(d[:6]) && luhn(d)
}

func grAFM(c chars) bool {
	d := c.all()
	return !same(d) && weigh(d, 256, 128, 64, 32, 16, 8, 4, 2)%11%10 == int(d[8]-'0')
}
