package detect

// ibanLengths is how many characters a country's account numbers have, from the IBAN registry of SWIFT (release 99), and
// those in use without being in it.
var ibanLengths = func() (n [26 * 26]uint8) {
	const registry = "AD24AE23AL28AO25AT20AZ28BA20BE16BF28BG22BH22BI27BJ28BR29BY28CF27CG27CH21CI28CM27CR22CV25CY28CZ24DE22DJ27DK18DO28DZ26" +
		"EE20EG29ES24FI18FK18FO18FR27GA27GB22GE22GI23GL18GQ27GR27GT28GW25HN28HR21HU28IE22IL23IQ23IR26IS26IT27JO30KM27KW30KZ20" +
		"LB28LC32LI21LT20LU20LV21LY25MA28MC27MD24ME22MG27MK19ML28MN20MR27MT31MU30MZ25NE28NI28NL18NO15OM23PK24PL28PS29PT25" +
		"QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SN28SO23ST25SV28TD27TG28TL23TN24TR26UA29VA22VG24XK20YE30"
	for i := 0; i < len(registry); i += 4 {
		n[int(registry[i]-'A')*26+int(registry[i+1]-'A')] = (registry[i+2]-'0')*10 + registry[i+3] - '0'
	}
	return n
}()

// iban finds international bank account numbers (ISO 13616): a country's length, and mod 97. They may be written in
// groups, and in small letters.
func (f *finder) iban(v *numeral) {
	if g := &v.groups[0]; g.size() < 4 || !aLetter(v.text[v.start]) || !aLetter(v.text[v.start+1]) ||
		!aDigit(v.text[v.start+2]) || !aDigit(v.text[v.start+3]) {
		return
	}
	var buf [numberBytes + wordBytes + 8]byte
	code := buf[:0]
	want := 0
	for k := range v.n {
		g := &v.groups[k]
		if k > 0 && (g.sep != ' ' && g.sep != '-' || v.groups[k-1].size() != 4) {
			return
		}
		for i := g.start; i < g.end; i++ {
			c := v.text[i]
			if kinds[c]&lowerByte != 0 {
				c -= 'a' - 'A'
			}
			code = append(code, c)
		}
		if want == 0 {
			want = int(ibanLengths[int(code[0]-'A')*26+int(code[1]-'A')])
		}
		if len(code) > want {
			return
		}
		if len(code) == want {
			if mod97(mod97(0, code[4:]), code[:4]) == 1 {
				f.add("IBAN_CODE", "mod97", v.start, g.end, 1)
			}
			return
		}
	}
}
