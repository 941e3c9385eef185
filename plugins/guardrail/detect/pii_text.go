package detect

// Kinds of bytes. Bytes of UTF-8 sequences have none: they are told apart by their lead byte alone, so that a text cut
// within a character is understood as far as it goes.
const (
	digitByte = 1 << iota
	upperByte
	lowerByte
	hexByte
	localByte // stands in the part of an email address before the @
	linkByte  // stands in a URL

	letterByte = upperByte | lowerByte
	wordByte   = digitByte | letterByte
)

var kinds = func() (k [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		k[c] |= digitByte | hexByte
	}
	for c := 'A'; c <= 'Z'; c++ {
		k[c] |= upperByte
		k[c+'a'-'A'] |= lowerByte
	}
	for c := 'A'; c <= 'F'; c++ {
		k[c] |= hexByte
		k[c+'a'-'A'] |= hexByte
	}
	for c := range k {
		if k[c]&wordByte != 0 {
			k[c] |= localByte | linkByte
		}
	}
	for _, c := range []byte("._%+-'&~") {
		k[c] |= localByte
	}
	for _, c := range []byte("-._~:/?#[]@!$&'()*+,;=%") {
		k[c] |= linkByte
	}
	return k
}()

func aDigit(c byte) bool  { return kinds[c]&digitByte != 0 }
func aLetter(c byte) bool { return kinds[c]&letterByte != 0 }
func alnum(c byte) bool   { return kinds[c]&wordByte != 0 }
func aHex(c byte) bool    { return kinds[c]&hexByte != 0 }

// leadsLetter says whether a byte begins a letter of two bytes: Latin with accents, Greek, Cyrillic, Hebrew, Arabic.
// The scripts of three bytes do not put spaces around numbers, so their letters end a word here.
func leadsLetter(c byte) bool { return c >= 0xc3 && c <= 0xdf }

// A reader is a text that notes when somebody wanted to know what comes after its end. What was found without
// that is so however the text goes on; looking back costs nothing.
type reader struct {
	text string
	past bool // somebody looked past the end
}

func (r *reader) at(i int) byte {
	if i < len(r.text) {
		return r.text[i]
	}
	r.past = true
	return 0
}

// back returns the byte n places before i, 0 before the beginning.
func (r *reader) back(i, n int) byte {
	if i -= n; i >= 0 {
		return r.text[i]
	}
	return 0
}

// separator returns what stands between two groups of a number at i, as one ASCII byte, and where the next group
// begins; 0 if nothing does that joins them. Spaces and hyphens of Unicode count as ' ' and '-'.
func (r *reader) separator(i int) (sep byte, next int) {
	switch c := r.at(i); c {
	case ' ':
		if r.at(i+1) == '(' {
			return '(', i + 2
		}
		return ' ', i + 1
	case '-', '.', '/':
		return c, i + 1
	case '(':
		return '(', i + 1
	case ')':
		switch r.at(i + 1) {
		case ' ', '-', '.', '/':
			return ')', i + 2
		}
		return ')', i + 1
	case 0xc2: // U+00A0 no-break space
		if r.at(i+1) == 0xa0 {
			return ' ', i + 2
		}
	case 0xe2: // U+2007, 2009, 202F are spaces, U+2010 to 2013 hyphens
		if r.at(i+1) == 0x80 {
			switch d := r.at(i + 2); {
			case d == 0x87, d == 0x89, d == 0xaf:
				return ' ', i + 3
			case d >= 0x90 && d <= 0x93:
				return '-', i + 3
			}
		}
	}
	return 0, i
}
