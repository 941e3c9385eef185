package detect

// A written is how an official number may be written at the beginning of a numeral.
type written struct {
	*numeral
	code  []byte // its letters, which are capitals, and digits
	k     int    // how many groups it has
	end   int
	lower bool // it has small letters in the text
	all   bool // it is all of the text
}

// idNumbers finds official numbers of digits at the beginning of a numeral.
func (f *finder) idNumbers(v *numeral) {
	if v.ext > 0 || v.joinedLeft() {
		return
	}
	var buf [3 * numberGroups]byte
	shape := buf[:0]
	var room [maxIDDigits]byte
	w := written{numeral: v}
	total := 0
	for k := 1; k <= v.plain; k++ {
		g := &v.groups[k-1]
		total += g.size()
		if total > maxIDDigits {
			return
		}
		shape = g.shape(shape)
		known, begins := f.numbers[string(shape)]
		if !begins {
			return
		}
		if len(known) == 0 || v.joinedRight(g.end) {
			continue
		}
		w.code = v.digits(room[:0], k)
		w.k = k
		w.end = g.end
		w.all = v.isAll(g.end)
		f.official(&w, known)
	}
}

// idCodes finds official codes of letters and digits at the beginning of a numeral.
func (f *finder) idCodes(v *numeral) {
	if isCodeSeparator(v.back(v.start, 1)) && isAlnum(v.back(v.start, 2)) || v.ext > 0 {
		return
	}
	var room [maxIDCode]byte
	w := written{numeral: v, code: room[:0]}
	letters := 0
	for k := 1; k <= v.n; k++ {
		g := &v.groups[k-1]
		if len(w.code)+g.size() > maxIDCode {
			return
		}
		for _, c := range []byte(v.text[g.start:g.end]) {
			if isLower(c) {
				c -= 'a' - 'A'
			}
			w.code = append(w.code, c)
		}
		w.lower = w.lower || g.lower
		letters += g.size() - g.digits
		if letters == 0 && len(w.code) != 18 { // China's may have digits only
			continue
		}
		if isCodeSeparator(v.peek(g.end)) && isAlnum(v.peek(g.end+1)) {
			continue
		}
		w.k = k
		w.end = g.end
		w.all = v.isAll(g.end)
		f.official(&w, f.codes[len(w.code)])
	}
}

// isCodeSeparator tells whether a byte joins what stands before and after it to one code.
func isCodeSeparator(c byte) bool { return c == '-' || c == '.' || c == '/' || c == '_' }

// official adds what an official number or code may be, of some forms of its length.
func (f *finder) official(w *written, known []idForm) {
	var lone lone
	for i := range known {
		id := &known[i]
		if !f.wanted[id.list] || id.letters && (w.k > 1 && !id.spaced || !id.fits(w.code)) {
			continue
		}
		passes := id.check.holds(w.code)
		checked := id.check.digits()
		if !passes && !(checked && id.letters) {
			continue
		}

		// A word says what it is.
		said, ok := w.labelBeside(id.list, w.end)
		if ok {
			said.values = id.values()
		}
		switch {
		case !passes:
			if ok && said.near < 4 { // mistyped, or made up: it is still what it is said to be
				f.addClaim(id.kind, "words", w.start, w.end, .5, said)
			}
			continue
		case ok && checked:
			f.addClaim(id.kind, "checked", w.start, w.end, 1, said)
			continue
		case ok:
			f.addClaim(id.kind, "words", w.start, w.end, .85, said)
			continue
		}

		// It has no label. A form that hardly anything else has needs none.
		anywhere := (id.anywhere || id.letters && w.k > 2 && checked) &&
			!(w.lower && (!checked || w.k > 1))
		switch {
		case !anywhere:
			if w.all && (f.only != nil || !id.named) {
				f.consider(&lone, w, id)
			}
		case w.link || w.hangs():
		case !id.letters && w.k > 1:
			f.add(id.kind, "written", w.start, w.end, .85)
		case w.isOther():
		case id.letters:
			f.add(id.kind, "written", w.start, w.end, .7)
		default:
			f.add(id.kind, "checked", w.start, w.end, .6)
		}
	}
	if lone.id != nil && (f.only != nil || !lone.isAmbiguous(w)) {
		if lone.rule == "checked" && !lone.id.letters && w.k > 1 && w.groups[1].sep == ' ' {
			lone.score = .75 // a telephone number's groups, but fewer numbers are right by chance
		}
		f.add(lone.id.kind, lone.rule, w.start, w.end, lone.score)
	}
}
