package detect

// A finder is one pass over a text. A finding waits in it until no later finding can overlap it;
// then the better of those that overlap are given out.
type finder struct {
	*pii
	out     []Finding
	waiting [16]waiting
	progress
	// Where it goes on.
	next   int
	inWord bool // it is inside a word that cannot hold a finding, such as one with an accent
}

// A progress is how far a finder has come.
type progress struct {
	n      int // how many findings are waiting
	until  int // where the last of those waiting ends
	closed int // where the last finding ends that was decided, of whatever type

	linkEnd  int // where the last URL ends
	linkPath int // and where its path begins
}

// A mark keeps the state of a finder, so that findings which the next bytes may change can be taken back.
type mark struct {
	progress
	waiting [16]waiting
	out     int
}

// set keeps the finder's present state in the mark.
func (m *mark) set(f *finder) {
	m.progress = f.progress
	m.out = len(f.out)
	copy(m.waiting[:f.n], f.waiting[:f.n])
}

// takeBack forgets what was found since the mark was made.
func (f *finder) takeBack(m *mark) {
	f.progress = m.progress
	f.out = f.out[:m.out]
	copy(f.waiting[:m.n], m.waiting[:m.n])
}

// scan reads a text word by word, from f.next on, and adds what it finds. If stop is true, it stops
// at the first place whose findings may change when more text follows, where the next call goes on,
// and returns from where on the text is open. Otherwise it returns the length of the text.
func (f *finder) scan(text string, stop bool) int {
	r := reader{text: text}
	v := numeral{reader: &r, tables: f.piiTables}
	var m mark
	undecided := len(text)
	if stop {
		undecided = mayBegin(text)
	}
	i := f.next
	if f.inWord {
		i = f.skipWord(text, i)
	}
	for {
		s, found := f.nextSpot(text, i)
		if !found {
			break
		}
		i = s.end
		open := f.opens(min(s.low, undecided))
		if stop {
			m.set(f)
		}
		r.past = i == len(text) && s.sign == 0
		switch s.sign {
		case ':':
			f.ipv6(&r, s.start)
		case '@':
			f.written(&r, s.low, s.start)
		default:
			f.word(&r, &v, &s)
		}
		if r.past && stop {
			f.takeBack(&m)
			return open
		}
	}
	if stop {
		f.goOn(text)
		return f.opens(min(lowest(text, len(text)), undecided))
	}
	f.decide()
	return len(text)
}

// A spot is where something may be found: a word, or a sign that findings have within, which are two
// colons and an @.
type spot struct {
	start, end int
	sign       byte  // ':' or '@'; 0 for a word
	low        int   // where the earliest finding may begin
	has        uint8 // which kinds of bytes a word has
}

// nextSpot returns the first spot at a place or behind it. f.next is where it is, or where the last word
// or sign is that is none.
func (f *finder) nextSpot(text string, i int) (s spot, found bool) {
	for i < len(text) {
		f.next = i
		c := text[i]
		if kinds[c]&alnumByte == 0 {
			switch {
			case c == ':' && text[i:min(i+2, len(text))] == "::":
				return spot{start: i, end: i + 2, sign: c, low: i}, true
			case c == '@' && localStart(text[:i]) >= 0:
				return spot{start: i, end: i + 1, sign: c, low: localStart(text[:i])}, true
			case leadsLetter(c):
				i = f.skipWord(text, i)
			default:
				i++
			}
			continue
		}

		// A word, and what is in it.
		start := i
		has := uint8(0)
		for i < len(text) && kinds[text[i]]&alnumByte != 0 {
			has |= kinds[text[i]]
			i++
		}
		if i < len(text) {
			next := text[i]
			if leadsLetter(next) {
				i = f.skipWord(text, i)
				continue
			}
			// Most words end here: with small letters only, before a space or a comma.
			if has&digitByte == 0 && kinds[next]&localByte == 0 && next != '@' && next != ':' &&
				(next != ' ' || !mayBeMonth(text[start]) && (has&lowerByte != 0 || i-start > 5)) {
				continue
			}
		}
		if i-start > wordBytes {
			f.inWord = i == len(text)
			continue
		}
		return spot{start: start, end: i, low: lowest(text, start), has: has}, true
	}
	return s, false
}

// word looks for all that may begin with a word.
func (f *finder) word(r *reader, v *numeral, s *spot) {
	size := s.end - s.start
	inLink := s.start < f.linkEnd
	if beginsRun(r.text, s.start) && (!inLink || s.start >= f.linkPath) {
		end, path := f.address(r, s.start, inLink)
		if end > 0 {
			f.linkEnd = end
			f.linkPath = path
		}
	}
	if size <= 4 && s.end < len(r.text) && r.text[s.end] == ':' {
		f.ipv6(r, s.start)
	}
	if s.has&digitByte == 0 && !inLink && mayBeMonth(r.text[s.start]) {
		f.monthFirst(v, s.start, s.end)
	}
	if s.has&digitByte != 0 || size <= 5 && s.has&lowerByte == 0 && numberFollows(r, s.end) {
		v.read(s.start)
		v.link = inLink
		f.number(r, v)
	}
}

// goOn sets where the next call goes on after the end of a text: in a word in which nothing is
// found, or at the last byte, which may belong to what follows.
func (f *finder) goOn(text string) {
	if f.next >= len(text) {
		return
	}
	last := len(text) - 1
	switch {
	case f.inWord && leadsLetter(text[last]): // the character is not whole
		f.next = last
	case f.inWord || text[last] != ':' || f.next != last:
		f.next = len(text)
	}
}

// opens gives out the waiting findings that end before low. It returns from where on the text is
// open: low, or where the first finding begins that still waits.
func (f *finder) opens(low int) int {
	if f.n > 0 && f.until <= low {
		f.decide()
	}
	if f.n > 0 {
		return f.waiting[0].Start
	}
	return max(low, f.closed)
}

// lowest returns the earliest place where a finding may begin whose first word begins at i: one or
// two of + ( : before the word may belong to it.
func lowest(text string, i int) int {
	low := i
	for low > 0 && i-low < 2 && (text[low-1] == '+' || text[low-1] == '(' || text[low-1] == ':') {
		low--
	}
	return low
}

// skipWord returns where a word ends that goes on at i with a letter of two bytes, and in which nothing is
// found.
func (f *finder) skipWord(text string, i int) int {
	for i < len(text) && (isAlnum(text[i]) || leadsLetter(text[i])) {
		if leadsLetter(text[i]) && i+1 < len(text) && continues(text[i+1]) {
			i++
		}
		i++
	}
	f.inWord = i == len(text)
	return i
}

// numberFollows tells whether a number follows letters that end at i, as in AB 12 34 56 C, or in
// B-AB 123.
func numberFollows(r *reader, i int) bool {
	sep, next := r.separator(i)
	if (sep == '-' || sep == ' ') && isUpper(r.peek(next)) {
		n := next + 1
		for n < next+3 && isUpper(r.peek(n)) {
			n++
		}
		sep, next = r.separator(n)
	}
	return (sep == ' ' || sep == '-' || sep == '.') && isDigit(r.peek(next))
}

// number tries all formats of numbers at the beginning of a numeral.
func (f *finder) number(r *reader, v *numeral) {
	if v.n == 0 {
		return
	}
	if v.plain == 0 {
		f.iban(v)
	}
	if v.groups[0].size() <= 4 {
		f.dayFirst(v)
		if v.n == 1 && (v.plain == 1 || v.groups[0].size() < 3) {
			return
		}
	}
	if v.plain > 0 {
		f.card(v)
		f.phone(v)
		f.ipv4(v)
		f.idNumbers(v)
		f.date(v)
	}
	f.shaped(v)
	f.idCodes(v)
}
