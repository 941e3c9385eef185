package detect

// joinedLeft says whether the numeral goes on from another: a digit and a separator other than a space stand before it.
// A comma joins what can be the rest of one number, 1,234.5, and parts the columns of a table: 7,415-555-0132.
func (v *numeral) joinedLeft() bool {
	switch v.back(v.pre, 1) {
	case '-', '.', '/', ':', '_', '\'', '+':
		return aDigit(v.back(v.pre, 2))
	case ',':
		return aDigit(v.back(v.pre, 2)) && v.pre == v.start && v.groups[0].size() <= 3 && (v.n == 1 || v.n == 2 && v.groups[1].sep == '.')
	}
	return false
}

// hangs says whether the numeral hangs on a word or a path: abc-123, a/123, x_123, $5, #7.
func (v *numeral) hangs() bool {
	switch c := v.back(v.pre, 1); c {
	case '-', '/', '_', '.':
		return aLetter(v.back(v.pre, 2))
	case '$', '#', '@', '%', '=', '&', '~', '\\':
		return true
	case 0xa3, 0xa5, 0xac: // £ ¥ €
		return v.back(v.pre, 2) == 0xc2 || v.back(v.pre, 3) == 0xe2
	}
	return false
}

// joinedRight says whether a number that ends at i goes on: with a separator and a digit, as a decimal fraction, or
// with a percent sign.
func (v *numeral) joinedRight(i int) bool {
	switch v.at(i) {
	case '-', '.', '/', ':', '_', '\'', '+':
		return aDigit(v.at(i + 1))
	case '%':
		return true
	case ',':
		n := i + 1
		for n < i+5 && aDigit(v.at(n)) {
			n++
		}
		return n > i+1 && n < i+5 && v.quantity(i)
	}
	return false
}

// quantity says whether the groups up to i can be a number that something is counted with: up to eight digits, or threes.
func (v *numeral) quantity(i int) bool {
	if v.groups[0].end == i {
		return v.groups[0].size() <= 8
	}
	for k := 1; k < v.n; k++ {
		if g := &v.groups[k]; g.size() != 3 || g.sep == '-' || v.groups[0].size() > 3 {
			return false
		} else if g.end == i {
			break
		}
	}
	return !v.plus && !v.paren
}
