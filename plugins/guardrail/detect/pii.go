package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// PII returns a detector of personal data that have a form: numbers with check digits, email, URL,
// IP and hardware addresses, telephone numbers, dates. It finds the types that are named, or all
// of [PIITypes] if none is. Types have the names of Microsoft Presidio, or are named in its
// manner. The error names a type that is not known. Names of people, places and organizations
// (PERSON, LOCATION, NRP, ORGANIZATION) have no form and need a model, so they are not known here.
//
// What fits a type that is asked for is found, whatever else it could be: types that are not asked
// for play no part. Where two findings overlap, the surer wins, then the longer, then the earlier.
//
// A number whose form has no check digit, or one that many numbers pass by chance, counts only if
// a word says what it is. The word is one of some twenty languages, a whole word, among the last
// nine before the number and not before an empty line, or behind it (is my passport), or the name
// of its column in a table. If the number is all of the text, it needs no word if it fits the check
// digits of one type only, or if its type is named and some others are not.
//
// UUID, and types of one country's telephone numbers such as TR_PHONE_NUMBER, are found only where
// they are named and some others are not.
func PII(types ...string) (Detector, error) {
	p := &pii{piiTables: allPIITables()}
	for _, t := range types {
		if !slices.Contains(p.types, t) {
			return nil, fmt.Errorf("no detector finds the type %s; those there are: %s",
				t, strings.Join(p.types, ", "))
		}
		if p.only == nil {
			p.only = map[string]bool{}
		}
		p.only[t] = true
	}
	p.named = len(p.only) > 0 && len(p.only) < len(p.types)
	for l, kind := range p.kinds {
		p.wanted[l] = p.only == nil || p.only[kind]
	}
	return p, nil
}

// PIITypes returns the types that PII finds, in alphabetical order.
func PIITypes() []string {
	return slices.Clone(allPIITables().types)
}

// piiTables is what the detector knows from its data files.
type piiTables struct {
	ids
	vocabulary
	types       []string // in alphabetical order
	phoneLabels []string // words after a telephone number
	cards       []cardRange
	ibans       [26 * 26]uint8 // the length of an account number by the two letters of its country
	phones      [100]phonePlan // by the first two digits of an international number
	domains     map[string]bool
	months      [26][]string // the first three letters of months' names, by the first one
}

var allPIITables = sync.OnceValue(func() *piiTables { return must(newPIITables()) })

func newPIITables() (*piiTables, error) {
	t := &piiTables{vocabulary: newVocabulary()}
	for _, read := range []func() error{
		t.readVocabulary, t.readIDs, t.readCards, t.readIBANs, t.readPhones, t.readDomains, t.readMonths,
	} {
		err := read()
		if err != nil {
			return nil, err
		}
	}
	t.types = append(t.types,
		"CREDIT_CARD", "CRYPTO", "DATE_OF_BIRTH", "DATE_TIME", "EMAIL_ADDRESS", "IBAN_CODE",
		"IP_ADDRESS", "MAC_ADDRESS", "PHONE_NUMBER", "URL", "US_DRIVER_LICENSE", "UUID")
	for _, national := range nationalPhones {
		t.types = append(t.types, national.kind)
	}
	slices.Sort(t.types)
	t.types = slices.Compact(t.types)
	return t, nil
}

type pii struct {
	only   map[string]bool // the types that are asked for; nil for all
	wanted [maxLists]bool  // the same by the rows of official numbers and codes
	named  bool            // some types are asked for, and others are not
	*piiTables
}

func (p *pii) Find(found []Finding, text string) []Finding {
	f := finder{pii: p, out: found}
	f.scan(text, false)
	return f.out
}

func (p *pii) Reader() Reader { return &piiReader{pii: p} }

// piiLookBack is how many bytes before a finding of PII may decide about it, behind a blank: those of its row in a
// table, and those up to the header.
const piiLookBack = rowBytes + headerBytes + 96

// A piiReader is a finder in a text that grows.
type piiReader struct {
	*pii
	at   finder // where it stopped
	read int    // how long the text was
}

func (r *piiReader) Read(found []Finding, text string) ([]Finding, int) {
	r.read = len(text)
	r.at.pii = r.pii
	r.at.out = found
	open := r.at.scan(text, true)
	found = r.at.out
	r.at.out = nil
	return found, open
}

// Wait implements Reader. What the finder did not decide about is read again: mostly one number, but
// in rows of numbers more.
func (r *piiReader) Wait() int { return max(0, 2*(r.read-r.at.next-oneNumber)) }

// oneNumber is how many bytes most numbers have, with what stands between their groups.
const oneNumber = 32

func (r *piiReader) Clone() Reader {
	clone := *r
	return &clone
}

// A finder is one pass over a text. A finding waits in it until no later finding can overlap it;
// then the better of those that overlap are given out.
type finder struct {
	*pii
	out     []Finding
	quiet   bool // nothing goes out: all that is wanted is where the text is open
	waiting [16]waiting
	n       int // how many are waiting
	until   int // where the last of those waiting ends
	closed  int // where the last finding ends that was decided, of whatever type

	// Where it goes on.
	next     int
	inWord   bool // it is in a word in which nothing is found
	linkEnd  int  // where the last URL ends
	linkPath int  // and where its path begins
}

// A mark is what a finder had found when it was at a place.
type mark struct {
	waiting                                  [16]waiting
	n, until, closed, linkEnd, linkPath, out int
}

// set makes the mark.
func (m *mark) set(f *finder) {
	m.n = f.n
	m.until = f.until
	m.closed = f.closed
	m.linkEnd = f.linkEnd
	m.linkPath = f.linkPath
	m.out = len(f.out)
	copy(m.waiting[:f.n], f.waiting[:f.n])
}

// takeBack forgets what was found since the mark was made.
func (f *finder) takeBack(m *mark) {
	f.n = m.n
	f.until = m.until
	f.closed = m.closed
	f.linkEnd = m.linkEnd
	f.linkPath = m.linkPath
	f.out = f.out[:m.out]
	copy(f.waiting[:m.n], m.waiting[:m.n])
}

// A waiting is a finding that waits. Of two that are else equal, the one with the lower rank wins.
type waiting struct {
	Finding
	rank int
}

// add puts a finding among those that wait. If there is no room for it, those there are decided
// first.
func (f *finder) add(kind, rule string, start, end int, score float64) {
	f.addRanked(kind, rule, start, end, score, 1<<16)
}

// addSaid is add for a finding that words say to be one: the more and the nearer they are, the
// better.
func (f *finder) addSaid(kind, rule string, start, end int, score float64, by saying) {
	f.addRanked(kind, rule, start, end, score, (4*by.near-2*by.long+32)*maxLists+int(by.list))
}

func (f *finder) addRanked(kind, rule string, start, end int, score float64, rank int) {
	if !f.wants(kind) {
		return
	}
	if f.n == len(f.waiting) {
		f.decide()
	}
	if start >= f.closed {
		f.waiting[f.n] = waiting{
			Finding: Finding{Type: kind, Rule: rule, Start: start, End: end, Score: score},
			rank:    rank,
		}
		f.n++
		f.until = max(f.until, end)
	}
}

// decide gives out the waiting findings, but for those that a better one overlaps.
func (f *finder) decide() {
	if f.n == 0 {
		return
	}
	all := f.waiting[:f.n]
	f.n = 0

	// The best first.
	slices.SortFunc(all, func(a, b waiting) int {
		switch {
		case a.Score != b.Score && a.Score > b.Score:
			return -1
		case a.Score != b.Score:
			return 1
		case a.End-a.Start != b.End-b.Start:
			return b.End - b.Start - a.End + a.Start
		case a.Start != b.Start:
			return a.Start - b.Start
		case a.rank != b.rank:
			return a.rank - b.rank
		}
		return strings.Compare(a.Type, b.Type)
	})

	// Keep each that overlaps none of the better ones.
	kept := 0
	for _, a := range all {
		free := true
		for _, b := range all[:kept] {
			if a.Start < b.End && b.Start < a.End {
				free = false
			}
		}
		if free {
			all[kept] = a
			kept++
		}
	}

	all = all[:kept]
	slices.SortFunc(all, func(a, b waiting) int { return cmp.Compare(a.Start, b.Start) })
	for _, a := range all {
		f.closed = max(f.closed, a.End)
		if !f.quiet {
			f.out = append(f.out, a.Finding)
		}
	}
}

// wants tells whether a type is asked for.
func (f *finder) wants(kind string) bool { return f.only == nil || f.only[kind] }

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
		i = skipWord(text, i)
	}
	f.inWord = f.inWord && i == len(text)
	for i < len(text) {
		// Signs that something may be found around. All other findings begin with a letter or a
		// digit.
		f.next = i
		c := text[i]
		if kinds[c]&alnumByte == 0 {
			switch {
			case c == ':' && text[i:min(i+2, len(text))] == "::":
				open := f.opens(min(i, undecided))
				m.set(f)
				r.past = false
				f.ipv6(&r, i)
				if r.past && stop {
					f.takeBack(&m)
					return open
				}
				i += 2
			case c == '@' && localStart(text[:i]) >= 0:
				low := localStart(text[:i])
				open := f.opens(min(low, undecided))
				m.set(f)
				r.past = false
				f.written(&r, low, i)
				if r.past && stop {
					f.takeBack(&m)
					return open
				}
				i++
			case leadsLetter(c):
				i = skipWord(text, i)
				f.inWord = i == len(text)
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
		var next byte
		if i < len(text) {
			next = text[i]
			if leadsLetter(next) {
				i = skipWord(text, i)
				f.inWord = i == len(text)
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

		// What may begin with this word.
		low := lowest(text, start)
		open := f.opens(min(low, undecided))
		if stop {
			m.set(f)
		}
		r.past = i == len(text)
		inLink := start < f.linkEnd
		if beginsRun(text, start) && (!inLink || start >= f.linkPath) {
			end, path := f.address(&r, start, inLink)
			if end > 0 {
				f.linkEnd = end
				f.linkPath = path
			}
		}
		if next == ':' && i-start <= 4 {
			f.ipv6(&r, start)
		}
		if has&digitByte == 0 && !inLink && mayBeMonth(text[start]) {
			f.monthFirst(&v, start, i)
		}
		if has&digitByte != 0 || i-start <= 5 && has&lowerByte == 0 && f.introduces(&r, i) {
			v.read(start)
			v.link = inLink
			f.number(&r, &v)
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
	case f.inWord:
		f.next = len(text)
	case text[last] == ':' && f.next == last:
	default:
		f.next = len(text)
	}
}

// opens decides the findings that end before low, and returns the first place that may still
// change: low, or the beginning of the first finding that waits.
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

// skipWord returns where a word ends that goes on at i with a letter of two bytes.
func skipWord(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case kinds[c]&alnumByte != 0:
			i++
		case leadsLetter(c):
			i++
			if i < len(text) && text[i]&0xc0 == 0x80 {
				i++
			}
		default:
			return i
		}
	}
	return i
}

// introduces tells whether a number follows letters that end at i, as in AB 12 34 56 C, or in
// B-AB 123.
func (f *finder) introduces(r *reader, i int) bool {
	sep, next := r.separator(i)
	if (sep == '-' || sep == ' ') && isUpper(r.at(next)) {
		n := next + 1
		for n < next+3 && isUpper(r.at(n)) {
			n++
		}
		sep, next = r.separator(n)
	}
	return (sep == ' ' || sep == '-' || sep == '.') && isDigit(r.at(next))
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
		if v.n == 1 {
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
	f.crypto(v)
	f.uuid(v)
	f.mac(r, v)
	f.idCodes(v)
	f.driverLicense(v)
}
