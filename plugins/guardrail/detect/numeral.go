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
	sep        byte // what stands before it; 0 for the first
}

func (g *group) size() int { return g.end - g.start }

// shape appends how a group is written to the shape of those before it, such as 3-2-4.
func (g *group) shape(shape []byte) []byte {
	if g.sep != 0 {
		shape = append(shape, g.sep)
	}
	if g.size() > 9 {
		shape = append(shape, '0'+byte(g.size()/10))
	}
	return append(shape, '0'+byte(g.size()%10))
}

// A numeral is a run of groups of letters and digits with single separators between them, such as
// +49 (0)30 1234567. At least one group has a digit. Each format of numbers, such as that of cards,
// decides how many of the first groups are one.
type numeral struct {
	*reader
	tables *piiTables
	start  int  // where the first group begins
	pre    int  // the same with the + and ( before it
	plus   bool // it begins with +
	paren  bool // its first group is in parentheses
	groups [numberGroups]group
	n      int
	plain  int  // how many groups from the first on have digits only
	ext    int  // where a telephone's extension ends that is written against the last group (x123); or 0
	link   bool // it stands in a URL

	// Where its reading stopped.
	ended bool // no group follows; false if there are more than have room
	sep   byte // what stands before the next group
	next  int  // where that begins
	context
}

// read reads the numeral whose first group begins at i.
func (v *numeral) read(i int) {
	r := v.reader
	known := v.groupsFrom(i)
	v.start = i
	v.pre = i
	v.ext = 0
	v.plus = false
	v.paren = false
	v.labelsRead = false

	// A + and a ( before it.
	for b := r.back(v.pre, 1); (b == '+' && !v.plus || b == '(' && !v.paren) &&
		v.pre > i-2; b = r.back(v.pre, 1) {
		v.plus = v.plus || b == '+'
		v.paren = v.paren || b == '('
		v.pre--
	}

	// The groups. Those that the last numeral has had, too, are not read again.
	var sep byte
	if known {
		if v.ended {
			return
		}
		sep = v.sep
		i = v.next
	}
	v.ended = true
	for v.n < numberGroups && i-v.start < numberBytes {
		g := group{start: i, sep: sep}
		for {
			c := r.peek(i)
			if !isAlnum(c) {
				if leadsLetter(c) {
					return
				}
				break
			}
			if (c == 'x' || c == 'X' && (v.n > 0 || g.digits > 9)) && i-g.start == g.digits && g.digits > 2 &&
				isDigit(r.peek(i+1)) {
				v.ext = r.extension(i + 1)
				if v.ext > 0 {
					break
				}
			}
			if isDigit(c) {
				g.digits++
			}
			g.lower = g.lower || isLower(c)
			i++
			if i-g.start > wordBytes {
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
		sep, i = r.separator(i)
		if sep == 0 || !v.goesOn(sep, i) {
			return
		}
	}
	v.ended = false
	v.sep = sep
	v.next = i
}

// groupsFrom keeps those groups of the numeral that was read last that begin at i or behind it, if
// the next numeral begins at one of them. Otherwise it keeps none.
func (v *numeral) groupsFrom(i int) bool {
	first := 1
	for first < v.n && v.groups[first].start < i {
		first++
	}
	known := first < v.n && v.groups[first].start == i && v.ext == 0
	if !known {
		v.n = 0
		v.plain = 0
		return false
	}
	v.n = copy(v.groups[:], v.groups[first:v.n])
	v.groups[0].sep = 0
	v.plain = 0
	for v.plain < v.n && v.groups[v.plain].digits == v.groups[v.plain].size() {
		v.plain++
	}
	return true
}

// goesOn tells whether a group may begin at i after a separator. It may begin with a digit, or be
// short and have letters; after a space these must be capitals.
func (v *numeral) goesOn(sep byte, i int) bool {
	c := v.peek(i)
	if isDigit(c) {
		return true
	}
	if !isLetter(c) || sep == '(' || sep == ')' {
		return false
	}
	for n := 1; n <= 5; n++ {
		if isLower(c) && (sep == ' ' || n > 3) {
			return false
		}
		c = v.peek(i + n)
		if !isAlnum(c) {
			return !leadsLetter(c)
		}
		if isDigit(c) {
			return true
		}
	}
	return false
}

// separator returns what stands between two groups of a number at i, as one ASCII byte, and where
// the next group begins; 0 if nothing is there that joins groups. Spaces and hyphens of Unicode
// count as ' ' and '-'.
func (r *reader) separator(i int) (sep byte, next int) {
	switch c := r.peek(i); c {
	case ' ':
		if r.peek(i+1) == '(' {
			return '(', i + 2
		}
		if r.peek(i+1) == '-' && r.peek(i+2) == ' ' && isDigit(r.peek(i+3)) && isDigit(r.back(i, 1)) {
			return '-', i + 3
		}
		return ' ', i + 1
	case '+': // a space, as forms are sent
		if isDigit(r.peek(i+1)) && isDigit(r.back(i, 1)) {
			return ' ', i + 1
		}
	case '-', '.', '/':
		return c, i + 1
	case '(':
		return '(', i + 1
	case ')':
		switch r.peek(i + 1) {
		case ' ', '-', '.', '/':
			return ')', i + 2
		}
		return ')', i + 1
	case 0xc2: // U+00A0 no-break space
		if r.peek(i+1) == 0xa0 {
			return ' ', i + 2
		}
	case 0xe2: // U+2007, 2009, 202F are spaces, U+2010 to 2013 hyphens
		if r.peek(i+1) == 0x80 {
			switch d := r.peek(i + 2); {
			case d == 0x87, d == 0x89, d == 0xaf:
				return ' ', i + 3
			case d >= 0x90 && d <= 0x93:
				return '-', i + 3
			}
		}
	}
	return 0, i
}

// extension returns where the one to six digits of an extension end that begin at i; 0 if there
// are none.
func (r *reader) extension(i int) int {
	n := i
	for isDigit(r.peek(n)) {
		n++
		if n-i > 6 {
			return 0
		}
	}
	if n == i || isAlnum(r.peek(n)) {
		return 0
	}
	return n
}

// digits appends the characters of the first k groups to buf.
func (v *numeral) digits(buf []byte, k int) []byte {
	for i := range k {
		buf = append(buf, v.text[v.groups[i].start:v.groups[i].end]...)
	}
	return buf
}

// value is the number that a short group begins with: its first digits, at most four; 0 for a
// longer group of digits.
func (v *numeral) value(i int) int {
	g := &v.groups[i]
	if g.size() > 4 && g.digits == g.size() {
		return 0
	}
	n := 0
	for j := g.start; j < g.end && j < g.start+4 && isDigit(v.text[j]); j++ {
		n = 10*n + int(v.text[j]-'0')
	}
	return n
}

// joinedLeft tells whether the numeral is the rest of a longer number: a digit and a separator
// other than a space stand before it. After a comma it is, in 1,234.5, if it can be the rest of a
// quantity; in 7,415-555-0132 the comma separates the columns of a table.
func (v *numeral) joinedLeft() bool {
	switch v.back(v.pre, 1) {
	case '-', '.', '/', ':', '_', '\'', '+':
		return isDigit(v.back(v.pre, 2))
	case ',':
		return isDigit(v.back(v.pre, 2)) && v.pre == v.start && v.groups[0].size() <= 3 &&
			(v.n == 1 || v.n == 2 && v.groups[1].sep == '.')
	}
	return false
}

// joinedRight tells whether a number that ends at i goes on: with a separator and a digit, as a
// decimal fraction, or with a percent sign.
func (v *numeral) joinedRight(i int) bool {
	switch v.peek(i) {
	case '.':
		if v.groups[0].end == i && v.groups[0].size() > 8 && v.peek(i+1) == '0' {
			n := i + 2 // a whole number that a table has as one with a fraction
			for n < i+4 && v.peek(n) == '0' {
				n++
			}
			return isAlnum(v.peek(n))
		}
		return isDigit(v.peek(i + 1))
	case '-', '/', ':', '_', '\'', '+':
		return isDigit(v.peek(i + 1))
	case '%':
		return true
	case ',':
		n := i + 1
		for n < i+5 && isDigit(v.peek(n)) {
			n++
		}
		return n > i+1 && n < i+5 && v.isQuantity(i)
	}
	return false
}

// isQuantity tells whether the groups up to i can be a number that something is counted with: up
// to eight digits, or groups of three.
func (v *numeral) isQuantity(i int) bool {
	if v.groups[0].end == i {
		return v.groups[0].size() <= 8
	}
	for k := 1; k < v.n; k++ {
		g := &v.groups[k]
		if g.size() != 3 || g.sep == '-' || v.groups[0].size() > 3 {
			return false
		}
		if g.end == i {
			break
		}
	}
	return !v.plus && !v.paren
}

// hangs tells whether something stands right before the number with no space between, such as a
// word, a path or a sign: abc-123, a/123, x_123, $5, #7.
func (v *numeral) hangs() bool {
	switch v.back(v.pre, 1) {
	case '-', '/', '_', '.':
		return isLetter(v.back(v.pre, 2))
	case '$', '#', '@', '%', '=', '&', '~', '\\':
		return true
	case 0xa3, 0xa5, 0xac: // £ ¥ €
		return v.back(v.pre, 2) == 0xc2 || v.back(v.pre, 3) == 0xe2
	}
	return false
}

// isDated tells whether the first n groups are written like a date.
func (v *numeral) isDated(n int) bool {
	if n < 3 {
		return false
	}
	a := &v.groups[0]
	b := &v.groups[1]
	c := &v.groups[2]
	return b.size() <= 2 && (v.isYear(a) && c.size() <= 2 || n == 3 && v.isYear(c) && a.size() <= 2)
}

// isYear tells whether a group is a year of the last or of this century.
func (v *numeral) isYear(g *group) bool {
	if g.size() != 4 {
		return false
	}
	century := v.text[g.start : g.start+2]
	return century == "19" || century == "20"
}
