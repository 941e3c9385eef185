package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"

// nationalPhone adds a telephone number as one of a country: with + and the country's code, with the 0 that
// is dialled within it, or with neither, though it may be one of another country then.
func (f *finder) nationalPhone(digits []byte, plus bool, start, end int, score float64) {
	if f.only == nil {
		return
	}
	abroad := plus
	switch {
	case !plus && digits[0] == '0' && digits[1] == '0':
		abroad = true
		digits = digits[2:]
	case !plus && digits[0] == '0':
		digits = digits[1:]
	}
	for i := range f.national {
		p := &f.national[i]
		rest := digits
		if abroad {
			if len(rest) < 3 || checkdigit.Decimal(rest[:2]) != p.country {
				continue
			}
			rest = rest[2:]
			if rest[0] == '0' { // +27 (0)82
				rest = rest[1:]
			}
		}
		if len(rest) == p.digits && contains(p.areas, checkdigit.Decimal(rest[:2])) {
			f.addClaim(p.kind, "national", start, end, score, claim{}) // before PHONE_NUMBER
		}
	}
}

// contains tells whether a number is in one of some ranges.
func contains(ranges [][2]int, n int) bool {
	for _, r := range ranges {
		if r[0] <= n && n <= r[1] {
			return true
		}
	}
	return false
}
