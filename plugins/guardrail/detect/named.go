package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"

// Types that are found only where some types are asked for, and they are among them. Beside all
// others, a telephone number of a country is a PHONE_NUMBER, and a UUID is nobody's: programs give
// one to everything.

// A nationalPhone is the telephone numbers of a country.
type nationalPhone struct {
	kind    string
	country int // the country's code
	digits  int // how many digits follow it
	from    int // the first two of them are from here
	to      int // to here
}

var nationalPhones = []nationalPhone{
	{kind: "PH_MOBILE_NUMBER", country: 63, digits: 10, from: 90, to: 99},
	{kind: "TR_PHONE_NUMBER", country: 90, digits: 10, from: 20, to: 59},
	{kind: "ZA_MOBILE_NUMBER", country: 27, digits: 9, from: 60, to: 79},
	{kind: "ZA_MOBILE_NUMBER", country: 27, digits: 9, from: 81, to: 85},
	{kind: "ZA_TELEPHONE_NUMBER", country: 27, digits: 9, from: 10, to: 59},
	{kind: "ZA_TELEPHONE_NUMBER", country: 27, digits: 9, from: 80, to: 80},
	{kind: "ZA_TELEPHONE_NUMBER", country: 27, digits: 9, from: 86, to: 87},
}

// nationalPhone adds a telephone number as one of a country: with + and the country's code, with the 0 that
// is dialled within it, or with neither, though it may be one of another country then.
func (f *finder) nationalPhone(digits []byte, plus bool, start, end int, score float64) {
	for _, p := range nationalPhones {
		rest := digits
		switch {
		case f.only == nil || len(digits) < p.digits:
			continue
		case !plus && digits[0] == '0' && digits[1] == '0':
			rest = digits[2:]
			fallthrough
		case plus:
			if len(rest) < 3 || checkdigit.Decimal(rest[:2]) != p.country {
				continue
			}
			rest = rest[2:]
			if rest[0] == '0' { // +27 (0)82
				rest = rest[1:]
			}
		case digits[0] == '0':
			rest = digits[1:]
		}
		if len(rest) != p.digits {
			continue
		}
		area := checkdigit.Decimal(rest[:2])
		if p.from <= area && area <= p.to {
			f.addClaim(p.kind, "national", start, end, score, claim{}) // before PHONE_NUMBER
		}
	}
}

// uuid finds universally unique identifiers (RFC 9562), but for the one that has zeros only.
func (f *finder) uuid(v *numeral) {
	if f.only == nil || v.groups[0].size() != 8 || v.link || v.hangs() {
		return
	}
	i := v.start
	for n, size := range [5]int{8, 4, 4, 4, 12} {
		if n > 0 {
			if v.at(i) != '-' {
				return
			}
			i++
		}
		first := lower(v.at(i))
		if n == 2 && (first < '1' || first > '8') || n == 3 && first != '8' && first != '9' && first != 'a' && first != 'b' {
			return
		}
		for range size {
			if !isHex(v.at(i)) {
				return
			}
			i++
		}
	}
	if isAlnum(v.at(i)) || v.at(i) == '-' && isAlnum(v.at(i+1)) {
		return
	}
	f.add("UUID", "written", v.start, i, .9)
}
