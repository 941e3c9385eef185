package detect

import "strings"

// An idNumber is a number of digits that an office gives.
type idNumber struct {
	kind string
	// forms are the ways it is written, separated by |: sizes of groups and what is between. One with ! after it
	// speaks for itself; others need a word before them, and so does every number without check digits but those.
	forms string
	check func(c chars) bool
	words string
}

// An idCode is the same with letters: in shape, A is a letter, 9 a digit, * either.
type idCode struct {
	kind   string
	shapes string
	alone  bool // needs no words, if written in capitals; one with a check needs none either in three groups or more
	spaced bool // may be written in groups
	check  func(c chars) bool
	words  string
}

// maxDigits is how many digits the longest of idNumbers has.
const maxDigits = 17

// idNumbers finds the numbers of offices among the first groups.
func (f *finder) idNumbers(v *numeral) {
	if v.ext > 0 || v.joinedLeft() {
		return
	}
	var buf [3 * numberGroups]byte
	shape, total := buf[:0], 0
	for k := 1; k <= v.plain; k++ {
		g := &v.groups[k-1]
		if total += g.size(); total > maxDigits {
			return
		}
		shape = g.shape(shape)
		known, begins := f.tables.numbers[string(shape)]
		if !begins {
			return
		}
		end := g.end
		if len(known) == 0 || v.joinedRight(end) {
			continue
		}
		var d chars
		d.n = len(v.digits(d.bytes[:0], k))
		for _, id := range known {
			if id.check != nil && !id.check(d) {
				continue
			}
			_, said := v.said(id.list)
			switch {
			case said && id.check != nil:
				f.add(id.kind, "checked", v.start, end, 1)
			case said:
				f.add(id.kind, "words", v.start, end, .85)
			case !id.alone || v.link || v.hangs():
			case k > 1:
				f.add(id.kind, "written", v.start, end, .85)
			case !v.isOther():
				f.add(id.kind, "checked", v.start, end, .6)
			}
		}
	}
}

// idCodes finds the codes of offices among the first groups.
func (f *finder) idCodes(v *numeral) {
	if b := v.back(v.start, 1); (b == '-' || b == '.' || b == '/' || b == '_') && alnum(v.back(v.start, 2)) || v.ext > 0 {
		return
	}
	var code chars
	lower := false
	letters := 0
	for k := 1; k <= v.n; k++ {
		g := &v.groups[k-1]
		if code.n+g.size() >= len(f.tables.codes) {
			return
		}
		for _, c := range []byte(v.text[g.start:g.end]) {
			if kinds[c]&lowerByte != 0 {
				c -= 'a' - 'A'
			}
			code.bytes[code.n] = c
			code.n++
		}
		lower = lower || g.lower
		if letters += g.size() - g.digits; letters == 0 && code.n != 18 {
			continue
		}
		if c := v.at(g.end); (c == '-' || c == '.' || c == '/' || c == '_') && alnum(v.at(g.end+1)) {
			continue
		}
		for _, id := range f.tables.codes[code.n] {
			if k > 1 && !id.spaced || !shaped(code.all(), id.shapes) {
				continue
			}
			near, said := v.said(id.list)
			switch {
			case id.check != nil && !id.check(code):
				if said && near < 4 { // mistyped, or made up: it is still what it is said to be
					f.add(id.kind, "words", v.start, g.end, .5)
				}
			case said && id.check != nil:
				f.add(id.kind, "checked", v.start, g.end, 1)
			case said:
				f.add(id.kind, "words", v.start, g.end, .85)
			case (id.alone || k > 2 && id.check != nil) && !v.link && (!lower || id.check != nil && k == 1) && !v.hangs() && !v.isOther():
				f.add(id.kind, "written", v.start, g.end, .7)
			}
		}
	}
}

// shaped says whether a code has one of the shapes.
func shaped(code []byte, shapes string) bool {
	for shapes != "" {
		var shape string
		if shape, shapes, _ = strings.Cut(shapes, "|"); len(shape) != len(code) {
			continue
		}
		ok := true
		for i := range code {
			ok = ok && (shape[i] == '*' || shape[i] == '9' && aDigit(code[i]) || shape[i] == 'A' && aLetter(code[i]))
		}
		if ok {
			return true
		}
	}
	return false
}
