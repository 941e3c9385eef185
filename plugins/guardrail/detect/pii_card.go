package detect

// cardWords are said before payment cards.
const cardWords = "card,cards,credit,debit,cc,ccn,pan,visa,mastercard,amex,maestro,discover,diners,jcb,karte,kreditkarte,kartennummer,tarjeta,crédito,carte,carta,cartão,kaart,creditcard,kort,karta,karty,карта,карты,카드,卡号,信用卡,カード"

// card finds payment card numbers (ISO/IEC 7812): Luhn's check digit, and an issuer's first digits and length. Those of 12
// and 13 digits, which few cards have, must not have a bar code's check digit too, nor be said to be something else;
// those of 17 and 18, and of other issuers, must be said to be cards.
func (f *finder) card(v *numeral) {
	var buf [24]byte
	total := 0
	for k := 1; k <= v.plain; k++ {
		g := &v.groups[k-1]
		if total += g.size(); total > 19 || k > 1 && (g.sep != ' ' && g.sep != '-' && g.sep != '.' || g.sep != v.groups[1].sep) {
			return
		}
		if total < 12 || k > 1 && !cardGroups(v, k) || v.joinedRight(g.end) {
			continue
		}
		d := v.digits(buf[:0], k)
		if !luhn(d) {
			continue
		}
		issued := issuer(d)
		if issued && (total == 14 || total == 15) && d[0] > '4' { // Maestro has few of them
			issued = !v.isOther() && !v.hangs()
		}
		switch {
		case issued && total > 13 && total != 17 && total != 18 && !v.link:
			f.add("CREDIT_CARD", "luhn", v.start, g.end, 1)
		case issued && total < 14 && k == 1 && d[0] != '0' && !barCode(d) && !v.link && !v.hangs() && !v.isOther():
			f.add("CREDIT_CARD", "luhn", v.start, g.end, .65)
		case issued && total > 14 && total != 17 && total != 18:
			f.add("CREDIT_CARD", "luhn", v.start, g.end, .9)
		default:
			if _, ok := v.said(cardList); ok {
				f.add("CREDIT_CARD", "luhn", v.start, g.end, 1)
			}
		}
	}
}

// barCode says whether digits have the check digit of article numbers (GTIN-12 and GTIN-13).
func barCode(d []byte) bool {
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		sum += n
		if i%2 == 1 {
			sum += 2 * n
		}
	}
	return sum%10 == 0
}

// cardGroups says whether the first k groups are those of a card: fours with a rest at the end, or 4-6-5 and 4-6-4.
func cardGroups(v *numeral, k int) bool {
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

// issuer says whether a number has the first digits and the length of a large network's cards, after the lists that
// the networks publish: American Express, Diners Club, Discover, JCB, Maestro, Mastercard, Mir, UnionPay, Visa.
func issuer(d []byte) bool {
	n, first := len(d), decimal(d[:4])
	two := first / 100
	switch {
	case two/10 == 4:
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, first >= 2221 && first <= 2720, first >= 2200 && first <= 2204:
		return n == 16
	case two == 34, two == 37, first == 2131, first == 1800:
		return n == 15
	case first >= 3000 && first <= 3059, first == 3095, two == 36, two == 38, two == 39:
		return n >= 14 && n <= 16
	case two == 35:
		return n >= 16
	case first == 6011, first >= 6440 && first <= 6499, two == 65:
		return n == 16 || n == 19
	case two == 62, two == 81:
		return n >= 16
	case two == 50, two >= 56 && two <= 58, two == 60, two == 61, two == 63, two == 64, two >= 66 && two <= 69, first == 604:
		return n >= 12
	}
	return false
}
