package detect

// The longest number that is looked at, in bytes and in groups; and the longest word.
const (
	numberBytes  = 48
	numberGroups = 12
	wordBytes    = 64
)

// A group is a run of letters and digits in a number as it is written.
type group struct {
	start, end int
	digits     int  // how many of its bytes are digits
	lower      bool // it has small letters
	sep        byte // what stands before it: 0 for the first
}

func (g *group) size() int { return g.end - g.start }

// A numeral is what is written like one number from a place on: groups of letters and digits, one of which at least
// has a digit, with single separators between. How much of it is a number is for the formats to say.
type numeral struct {
	*reader
	start  int  // the first group's
	pre    int  // with the + and ( before it
	plus   bool // it begins with +
	paren  bool // its first group is in parentheses
	groups [numberGroups]group
	n      int
	plain  int  // how many groups from the first on have digits only
	ext    int  // where a telephone's extension, written against the last group (x123), ends; or 0
	link   bool // it stands in a URL

	*vocabulary
	heard  bool               // near is filled
	near   [maxLists]uint8    // how many words are nearer than a list's, contextWords if it is not said
	words  [contextWords]part // what stands before it, the nearest first
	nwords int
	silent int // nothing is said before this place, nor heard from further on
}

// read reads the numeral whose first group begins at i.
func (v *numeral) read(i int) {
	r := v.reader
	v.start, v.pre, v.n, v.plain, v.ext = i, i, 0, 0, 0
	v.plus, v.paren, v.heard = false, false, false
	for b := r.back(v.pre, 1); (b == '+' && !v.plus || b == '(' && !v.paren) && v.pre > i-2; b = r.back(v.pre, 1) {
		v.plus, v.paren = v.plus || b == '+', v.paren || b == '('
		v.pre--
	}
	var sep byte
	for v.n < numberGroups && i-v.start < numberBytes {
		g := group{start: i, sep: sep}
		for {
			c := r.at(i)
			if !alnum(c) {
				if leadsLetter(c) {
					return
				}
				break
			}
			if (c == 'x' || c == 'X') && i-g.start == g.digits && g.digits > 2 && aDigit(r.at(i+1)) {
				if v.ext = r.extension(i + 1); v.ext > 0 {
					break
				}
			}
			if aDigit(c) {
				g.digits++
			}
			g.lower = g.lower || kinds[c]&lowerByte != 0
			if i++; i-g.start > wordBytes {
				return
			}
		}
		g.end = i
		v.groups[v.n] = g
		if v.plain == v.n && g.digits == g.size() {
			v.plain++
		}
		v.n++
		if v.ext > 0 {
			return
		}
		if sep, i = r.separator(i); sep == 0 || !v.goesOn(sep, i) {
			return
		}
	}
}

// goesOn says whether what begins at i can be a further group after a separator: after a space one that begins with a
// digit, or is short and in capitals; else also one with small letters, if it is short.
func (v *numeral) goesOn(sep byte, i int) bool {
	c := v.at(i)
	if aDigit(c) {
		return true
	}
	if !aLetter(c) || sep == '(' || sep == ')' {
		return false
	}
	for n := 1; n <= 5; n++ {
		if kinds[c]&lowerByte != 0 && (sep == ' ' || n > 3) {
			return false
		}
		if c = v.at(i + n); !alnum(c) {
			return !leadsLetter(c)
		}
		if aDigit(c) {
			return true
		}
	}
	return false
}

// extension returns where the digits of an extension that begin at i end: one to six; 0 if it is none.
func (r *reader) extension(i int) int {
	n := i
	for aDigit(r.at(n)) {
		if n++; n-i > 6 {
			return 0
		}
	}
	if n == i || alnum(r.at(n)) {
		return 0
	}
	return n
}

// digits appends the digits of the first k groups to buf.
func (v *numeral) digits(buf []byte, k int) []byte {
	for i := range k {
		buf = append(buf, v.text[v.groups[i].start:v.groups[i].end]...)
	}
	return buf
}

// shape appends how a group is written to a shape such as 3-2-4, which has how those before it are.
func (g *group) shape(shape []byte) []byte {
	if g.sep != 0 {
		shape = append(shape, g.sep)
	}
	if g.size() > 9 {
		shape = append(shape, '0'+byte(g.size()/10))
	}
	return append(shape, '0'+byte(g.size()%10))
}
