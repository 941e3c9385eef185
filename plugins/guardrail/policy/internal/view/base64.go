package view

// mimeLine is how long a line must be for base64 to go on in the next.
const mimeLine = 60

// base64Run judges base64 or base64url, padded or not, from i on. Paths are of the same characters:
// what stops being text may have been encoded up to a slash, a dash or the like. If nothing is, the
// next run begins at the verdict's end or later.
func base64Run(text string, i int, goesOn bool) verdict {
	s := sextets{least: leastBytes}
	// characters in this line, and where the last four begin
	line := 0
	quad := i
	if goesOn {
		s.least = 1
		line = mimeLine
	}
	for at := i; ; {
		if at == len(text) {
			return s.ended(at, i, false)
		}
		six := sixes[text[at]]
		if six == 0xff {
			next := newline(text, at)
			switch {
			case line < mimeLine || s.n%4 != 0 || next == at:
				return s.padded(text, at)
			case next == len(text):
				return s.ended(at, i, false)
			case class[text[next]] != 'w':
				return s.padded(text, at)
			}
			s.keep(at)
			at = next
			line = 0
			continue
		}
		if class[text[at]] != 'w' {
			s.keep(at)
		}
		if s.n%4 == 0 {
			quad = at
		}
		at++
		line++
		if !s.take(six) {
			s.n = 1 // no end of a run
			return s.ended(at, quad, true)
		}
		if s.n >= longest && s.n%4 == 0 && s.whole() {
			return verdict{kind: base64Kind, end: at, firm: true, cut: true}
		}
	}
}

// sextets are the characters of a base64 run.
type sextets struct {
	reading
	least int
	n     int
	bits  uint32
	kept  verdict // up to the last place where it could have ended
}

func (s *sextets) take(six byte) bool {
	s.bits = s.bits<<6 | uint32(six)
	s.n++
	rest := s.n % 4
	return rest == 1 || s.reading.take(byte(s.bits>>((4-rest)%4*2)))
}

func (s *sextets) whole() bool {
	return s.n%4 != 1 && s.reading.n >= s.least && s.done()
}

// keep remembers the end of what was read so far as a possible end of the encoded run.
func (s *sextets) keep(at int) {
	if s.whole() {
		s.kept = verdict{kind: base64Kind, end: at, firm: true}
	}
}

// ended is the verdict on a run that ends here; if it cannot, on what was kept; if nothing was, the
// next begins at next.
func (s *sextets) ended(at, next int, firm bool) verdict {
	switch {
	case s.whole():
		return verdict{kind: base64Kind, end: at, firm: firm}
	case s.kept.kind != none:
		return verdict{kind: s.kept.kind, end: s.kept.end, firm: firm}
	}
	return verdict{end: next, firm: firm}
}

// padded decides about a run of which only the padding (=) is left.
func (s *sextets) padded(text string, at int) verdict {
	if !s.whole() {
		return s.ended(at, at, true)
	}
	pad := (4 - s.n%4) % 4
	for ; pad > 0 && at < len(text) && text[at] == '='; pad-- {
		at++
	}
	return s.ended(at, at, pad == 0 || at < len(text))
}

// newline returns where the line after at begins, at if no line ends here; what may yet be a line
// end is one.
func newline(text string, at int) int {
	switch {
	case text[at] == '\n', text[at] == '\r' && at+1 == len(text):
		return at + 1
	case text[at] == '\r' && text[at+1] == '\n':
		return at + 2
	}
	return at
}
