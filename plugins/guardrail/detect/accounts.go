package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"

// Payment cards and bank accounts.

// A cardRange is some first digits of a network's cards, and the lengths that their numbers have.
type cardRange struct {
	from, to int    // the first four digits
	lengths  uint32 // bit n is set if a number may have n digits
}

// readCards reads which first digits and lengths payment cards have.
func (t *piiTables) readCards() {
	for _, row := range rowsOf("cards.txt", "network", "first", "lengths") {
		lengths := uint32(0)
		for _, length := range row.Ranges(2) {
			lengths |= 1 << length[0]
		}
		for _, first := range row.Ranges(1) {
			t.cards = append(t.cards, cardRange{from: first[0], to: first[1], lengths: lengths})
		}
	}
}

// isIssued tells whether a number has the first digits and the length of a large network's cards.
func (t *piiTables) isIssued(digits []byte) bool {
	first := checkdigit.Decimal(digits[:4])
	for _, r := range t.cards {
		if r.from <= first && first <= r.to {
			return r.lengths>>len(digits)&1 == 1
		}
	}
	return false
}

// card finds payment card numbers (ISO/IEC 7812): Luhn's check digit, and an issuer's first digits
// and length. Those of 12, 13, 17 and 18 digits, which few cards have, and those of other issuers
// must be said to be cards: bar codes, too, have 12 and 13 digits.
func (f *finder) card(v *numeral) {
	var buf [24]byte
	total := 0
	for k := 1; k <= v.plain; k++ {
		g := &v.groups[k-1]
		total += g.size()
		if total > 19 {
			return
		}
		if k > 1 && (g.sep != ' ' && g.sep != '-' && g.sep != '.' || g.sep != v.groups[1].sep) {
			return
		}
		if total < 12 || k > 1 && !isCardGrouped(v, k) || v.joinedRight(g.end) {
			continue
		}
		digits := v.digits(buf[:0], k)
		if !checkdigit.Luhn(digits) {
			continue
		}
		issued := f.isIssued(digits)
		if issued && (total == 14 || total == 15) && digits[0] > '4' { // Maestro has few of them
			issued = !v.isOther() && !v.hangs()
		}
		long := total == 17 || total == 18
		switch {
		case issued && total > 13 && !long && !v.link:
			f.add("CREDIT_CARD", "luhn", v.start, g.end, 1)
		case issued && total > 14 && !long:
			f.add("CREDIT_CARD", "luhn", v.start, g.end, .9)
		default:
			_, labelled := v.labelBefore(cardList)
			switch {
			case labelled:
				f.add("CREDIT_CARD", "luhn", v.start, g.end, 1)
			case f.isAsked(v, g.end):
				f.add("CREDIT_CARD", "whole", v.start, g.end, .3)
			}
		}
	}
}

// isCardGrouped tells whether the first k groups are those of a card: fours with a rest at the
// end, or 4-6-5 and 4-6-4.
func isCardGrouped(v *numeral, k int) bool {
	if k == 3 && v.groups[0].size() == 4 && v.groups[1].size() == 6 {
		return v.groups[2].size() == 4 || v.groups[2].size() == 5
	}
	for i := range k - 1 {
		if v.groups[i].size() != 4 {
			return false
		}
	}
	return k > 2 && v.groups[k-1].size() <= 7
}

// readIBANs reads how long the account numbers of countries are.
func (t *piiTables) readIBANs() {
	for _, row := range rowsOf("ibans.txt", "country", "length") {
		country := row.Cells[0]
		t.ibans[countryIndex(country[0], country[1])] = uint8(row.Int(1))
	}
}

func countryIndex(a, b byte) int { return int(a-'A')*26 + int(b-'A') }

// iban finds international bank account numbers (ISO 13616): a country's length, and mod 97. They
// may be written in groups of four, and in small letters.
func (f *finder) iban(v *numeral) {
	var buf [34]byte
	code := buf[:0]
	want := 4  // how many characters there must be, as far as is known
	group := 0 // how many of this group have been read
	i := v.start
	for len(code) < want {
		c := v.peek(i)
		if !isAlnum(c) {
			sep, next := v.separator(i)
			if group != 4 || sep != ' ' && sep != '-' || !isAlnum(v.peek(next)) {
				return
			}
			i = next
			group = 0
			continue
		}
		if isLower(c) {
			c -= 'a' - 'A'
		}
		code = append(code, c)
		i++
		group++
		if len(code) == 4 {
			if !isLetter(code[0]) || !isLetter(code[1]) || !isDigit(code[2]) || !isDigit(code[3]) {
				return
			}
			want = int(f.ibans[countryIndex(code[0], code[1])])
		}
	}
	c := v.peek(i)
	if want == 0 || isAlnum(c) || leadsLetter(c) {
		return
	}
	remainder := checkdigit.Mod97(0, code[4:])
	if checkdigit.Mod97(remainder, code[:4]) == 1 {
		f.add("IBAN_CODE", "mod97", v.start, i, 1)
	}
}
