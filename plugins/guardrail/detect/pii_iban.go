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
// groups of four, and in small letters.
func (f *finder) iban(v *numeral) {
	var buf [34]byte
	code, want, group := buf[:0], 4, 0
	i := v.start
	for len(code) < want {
		c := v.at(i)
		if !alnum(c) {
			sep, next := v.separator(i)
			if group != 4 || sep != ' ' && sep != '-' || !alnum(v.at(next)) {
				return
			}
			i, group = next, 0
			continue
		}
		if kinds[c]&lowerByte != 0 {
			c -= 'a' - 'A'
		}
		code = append(code, c)
		i++
		group++
		if len(code) == 4 {
			if !aLetter(code[0]) || !aLetter(code[1]) || !aDigit(code[2]) || !aDigit(code[3]) {
				return
			}
			want = int(ibanLengths[int(code[0]-'A')*26+int(code[1]-'A')])
		}
	}
	if c := v.at(i); want > 0 && !alnum(c) && !leadsLetter(c) && mod97(mod97(0, code[4:]), code[:4]) == 1 {
		f.add("IBAN_CODE", "mod97", v.start, i, 1)
	}
}
