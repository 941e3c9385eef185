package detect

// How far the form of a number within a country speaks for a telephone's.
const (
	noForm   = iota
	openForm // it could be one, if something else says so
	ownForm  // nothing else looks so
)

// ownForms are groups, by their sizes, in which numbers without a leading 0 are written, in Turkey, Spain, Portugal, Poland,
// Mexico, and that little else is written in.
const ownForms = " 3322 2322 3222 244 2334 "

// nationalForm says how much the first n groups, whose digits are d, look like a number within a country.
func (v *numeral) nationalForm(d []byte, n int) int {
	if len(d) > 12 {
		return noForm
	}
	var buf [numberGroups + 2]byte
	sizes := append(buf[:0], ' ')
	sep, mixed := byte(0), false
	for i := range n {
		g := &v.groups[i]
		switch {
		case i == 0 || i == 1 && (g.sep == ')' || g.sep == '/'):
		case i == 2 && v.groups[0].size() == 1 && g.sep == ')' && trunk(d[0]): // 1 (555) 555-0100
		case i == 1 && g.sep == '(' && trunk(d[0]):
		case i == 1 && g.sep == ' ' && n > 2 && v.groups[2].sep == '-', i == 1 && g.sep == '-' && n > 2 && v.groups[2].sep == ' ': // 495 123-45-67, 08-123 456 78
			mixed = true
		case sep == 0:
			sep = g.sep
		case sep != g.sep:
			return noForm
		}
		if g.size() > 12 || g.size() == 1 && i > 0 && (i > 1 || d[0] != '0' || v.groups[0].size() != 2 && v.groups[0].size() != 5) {
			return noForm
		}
		sizes = append(sizes, '0'+byte(g.size()))
	}
	if sep == '(' || sep == ')' || sep == '/' && n > 2 {
		return noForm
	}
	sizes = append(sizes, ' ')
	shape := string(sizes[1 : len(sizes)-1]) // compared only: it does not leave the stack
	switch {
	case shape == "334" && d[0] > '1' && d[3] > '0', shape == "1334" && d[0] == '1' && d[1] > '1', shape == "344" && d[0] == '1' && d[1] > '2':
		return ownForm
	case shape == "13322" && d[0] == '8' && d[1] > '2', shape == "254" && mixed, shape == "433" && d[0] == '1' && (d[1] == '3' || d[1] == '8') && d[2] == '0' && d[3] == '0':
		return ownForm
	case v.paren && len(d) <= 11 && v.groups[0].size() > 1 && v.groups[0].size() < 6 && n > 1:
		return ownForm
	case d[0] == '0' && d[1] != '0':
		return v.zeroForm(shape, len(d))
	case d[0] > '1' && ((sep == ' ' || sep == '-') && contains(ownForms, sizes) || sep == '-' && shape == "2222"):
		return ownForm
	case v.groups[0].size() == 1 && shape != "1334" && shape != "144" && n > 1 && d[0] != '0':
		return noForm
	}
	return openForm
}

// zeroForm is nationalForm for numbers that begin with the 0 that is dialled within a country, as in Europe, Asia, Africa
// and Australia, and that no quantity begins with: their area's code, of 2 to 6 digits with it, and the rest in groups
// of any size; only that of a social security number is as usual elsewhere.
func (v *numeral) zeroForm(shape string, digits int) int {
	first := v.groups[0].size()
	switch {
	case shape == "13222": // 0 800 12 34 56
		return ownForm
	case digits < 9 || first < 2 || first > 6 || len(shape) < 2 || len(shape) > 5, shape == "324", shape == "3333":
		return openForm
	case len(shape) == 2 && (shape[1] < '5' || v.groups[1].sep == '.'): // a decimal fraction
		return openForm
	}
	return ownForm
}

// thousands says whether the first n groups may be one large number, or years.
func (v *numeral) thousands(n int) bool {
	years := true
	rest := v.groups[0].size() <= 3
	for i := range n {
		g := &v.groups[i]
		rest = rest && (i == 0 || g.size() == 3)
		years = years && v.isYear(g)
	}
	return rest || years
}

func (v *numeral) isYear(g *group) bool {
	return g.size() == 4 && (v.text[g.start:g.start+2] == "19" || v.text[g.start:g.start+2] == "20")
}

// trunk says whether a digit is dialled before an area's code: in North America, in Russia.
func trunk(d byte) bool { return d == '1' || d == '8' }

// contains is strings.Contains without making a string.
func contains(s string, part []byte) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == string(part) {
			return true
		}
	}
	return false
}

// dated says whether the first n groups are written like a date.
func (v *numeral) dated(n int) bool {
	if n < 3 {
		return false
	}
	a, b, c := &v.groups[0], &v.groups[1], &v.groups[2]
	return b.size() <= 2 && (v.isYear(a) && c.size() <= 2 || n == 3 && v.isYear(c) && a.size() <= 2)
}

// crowded says whether other digits stand beside the first n groups with nothing but a space between, so that it is
// not clear where a number begins and ends.
func (v *numeral) crowded(n int) bool {
	if n < 2 || v.groups[n-1].sep != ' ' {
		return false
	}
	return v.back(v.pre, 1) == ' ' && aDigit(v.back(v.pre, 2)) || n < v.n && v.groups[n].sep == ' ' && v.groups[n].digits > 0
}

// dialLengths returns how many digits a number of E.164 has at least and at most, with the country's code that it
// begins with; 0 if no country has such a code.
func dialLengths(d []byte) (lo, hi int) {
	if len(d) < 7 {
		return 0, 0
	}
	switch two := decimal(d[:2]); two {
	case 45:
		return 10, 10
	case 33, 34, 41, 48, 51:
		return 11, 11
	case 57:
		return 12, 12
	case 44:
		return 11, 12
	case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79:
		return 11, 11
	case 20, 27, 30, 31, 32, 36, 39, 40, 43, 46, 47, 49, 52, 53, 54, 55, 56, 58, 60, 61, 62, 63, 64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98:
		return 9, 14
	case 21, 22, 23, 24, 25, 26, 29, 35, 37, 38, 42, 50, 59, 67, 68, 80, 85, 87, 88, 96, 97, 99:
		return 8, 14
	}
	return 0, 0
}
