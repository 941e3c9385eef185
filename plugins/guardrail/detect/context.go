package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How far back the words before a number count: words, and bytes.
const (
	contextWords = 9
	contextBytes = 96
)

// A list is a list of words or phrases that say what a number is.
type list uint8

// The lists of vocabulary.txt that stand before a number.
const (
	phoneList list = iota
	otherList
	numberList
	cardList
	birthList
	dateList
	versionList
	networkList
	macList
	driverList
	firstIDList // from here on there is one for each row of id_numbers.txt and id_codes.txt
)

var listNames = [firstIDList]string{
	"phone", "other", "number", "card", "birth", "date", "version", "network", "mac", "driver",
}

// maxLists is how many lists there may be.
const maxLists = 192

// vocabulary knows the words of all lists.
type vocabulary struct {
	// words has the number of a word's first mention, by the last word of a phrase in small
	// letters.
	words    map[string]int32
	hints    [1 << 6]uint64 // has the bits of all words: most others have none of them
	mentions []mention      // from 1 on
	script   []scriptPhrase // phrases in scripts that put no spaces between words
}

// A mention is what a word means that stands before a number.
type mention struct {
	list    list
	nearest bool   // only if it is the nearest word
	rest    string // the words that must stand before it
	long    uint8  // how many words the phrase has
	next    int32  // the number of the same word's next mention; 0 if there is none
}

type scriptPhrase struct {
	text string
	list list
}

// newVocabulary returns an empty vocabulary with room for all words of the data files.
func newVocabulary() vocabulary {
	const room = 900
	return vocabulary{words: make(map[string]int32, room), mentions: make([]mention, 1, room)}
}

// readVocabulary reads vocabulary.txt. The words of official numbers are in their own files.
func (t *piiTables) readVocabulary() error {
	lists, err := listsOf("vocabulary.txt", append(listNames[:], "phone-label")...)
	if err != nil {
		return err
	}
	for l, name := range listNames {
		t.learn(list(l), lists[name])
	}
	t.phoneLabels = lists["phone-label"]
	return nil
}

// learn adds the words and phrases of a list. One with ^ before it counts only as the nearest word.
func (v *vocabulary) learn(l list, phrases []string) {
	for _, phrase := range phrases {
		phrase, nearest := strings.CutPrefix(phrase, "^")
		if phrase[0] >= 0xe0 {
			v.script = append(v.script, scriptPhrase{phrase, l})
			continue
		}
		cut := strings.LastIndexByte(phrase, ' ')
		rest := ""
		if cut >= 0 {
			rest = phrase[:cut]
		}
		last := phrase[cut+1:]
		v.mentions = append(v.mentions, mention{
			list:    l,
			nearest: nearest,
			rest:    rest,
			long:    uint8(1 + strings.Count(phrase, " ")),
			next:    v.words[last],
		})
		v.words[last] = int32(len(v.mentions) - 1)
		at, bit := hintOf(last)
		v.hints[at] |= bit
	}
}

// hintOf returns which bit of the vocabulary's hints a word has.
func hintOf[word string | []byte](w word) (at int, bit uint64) {
	n := len(w)
	sum := 7*int(w[0]) + 61*int(w[n-1]) + 331*int(w[n/2]) + 997*n
	return sum >> 6 & 63, 1 << (sum & 63)
}

// A context is the words before a numeral. They are read when a format asks for them.
type context struct {
	heard  bool               // near is filled
	near   [maxLists]uint8    // how many words are nearer than a list's; contextWords for none
	long   [maxLists]uint8    // how many words the list's phrase there has
	words  [contextWords]part // the words, the nearest first
	nwords int
	silent int // no word is within reach before this place

	lined int // up to here it is known where lines begin
	line  int // where the last one of them does; 0 if that is far before

	head    int // where the last table begins
	headRow int // in which a row ends here
	after   int // no word that says something is behind this place
}

// A part is where something stands in a text.
type part struct{ start, end int }

// said tells whether a list's word or phrase stands before the numeral, and how many words are
// nearer to it.
func (v *numeral) said(l list) (distance int, ok bool) {
	if !v.heard {
		v.heard = true
		v.listen()
	}
	return int(v.near[l]), v.near[l] < contextWords
}

// A saying is what the words beside a number say of it.
type saying struct {
	near int  // how many words are nearer to it
	long int  // how many words the phrase has
	list list // whose phrase it is
	ok   bool // there is one
}

// saidBeside tells whether a list's word or phrase stands before the numeral, or after it, where it
// ends at end: AB1234567 is my passport.
func (v *numeral) saidBeside(l list, end int) saying {
	near, ok := v.said(l)
	if ok {
		return saying{near: near, long: int(v.long[l]), list: l, ok: true}
	}
	if v.after == end {
		return saying{}
	}
	near, ok = v.saidAfter(l, end)
	return saying{near: near, long: 1, list: l, ok: ok}
}

// saidAfter tells whether a list's word follows a place: after a comma or a parenthesis, or after a
// word that links it.
func (v *numeral) saidAfter(l list, i int) (distance int, ok bool) {
	var buf [2 * wordBytes]byte
	end := i
	links := false
	for distance = range 4 {
		// What stands before the word.
		for n := 0; n < 3; n++ {
			switch v.at(i) {
			case '(', ',', '[', '-':
				links = true
				i++
			case ' ':
				i++
			}
		}

		// The word in small letters.
		start := i
		for isLetter(v.at(i)) || v.at(i) >= utf8.RuneSelf {
			i++
			if i-start > 40 {
				return 0, false
			}
		}
		if i == start || !links && !isListed(linkingWords, v.text[start:i]) {
			if distance == 0 && !v.past {
				v.after = end
			}
			return 0, false
		}
		word := buf[:0]
		for _, c := range v.text[start:i] {
			word = utf8.AppendRune(word, unicode.ToLower(c))
		}
		for n := v.tables.words[string(word)]; n != 0; n = v.tables.mentions[n].next {
			m := &v.tables.mentions[n]
			if links && m.list == l && !m.nearest && m.rest == "" {
				return distance, true
			}
		}
		if !isListed(linkingWords, v.text[start:i]) {
			return 0, false
		}
		links = true
	}
	return 0, false
}

// isOther tells whether a word near before the numeral says that it is an order's, a ticket's and
// so on.
func (v *numeral) isOther() bool {
	near, ok := v.said(otherList)
	return ok && near < 5
}

// unheard is near where no list has a word.
var unheard = func() (near [maxLists]uint8) {
	for i := range near {
		near[i] = contextWords
	}
	return near
}()

// listen finds out which lists have a word before the numeral.
func (v *numeral) listen() {
	v.near = unheard
	v.hear(v.before())
	start, end := v.header()
	if start < end {
		v.hear(v.wordsOf(start, end))
	}

	// Phrases without spaces.
	before := v.text[max(0, v.pre-contextBytes/2):v.pre]
	for i := range len(before) {
		if before[i] < 0xe0 {
			continue
		}
		for _, p := range v.tables.script {
			if strings.HasPrefix(before[i:], p.text) {
				v.near[p.list] = 0
				v.long[p.list] = max(v.long[p.list], 1)
			}
		}
	}
}

// hear finds the lists of words, of which the nearest comes first.
func (v *numeral) hear(words []part) {
	linked := true // all words so far say nothing, such as "number is"
	var buf [3 * contextBytes]byte
	for i, w := range words {
		word := v.small(buf[:0], w)
		known := v.mean(words, i, linked, word)
		links := linked && isLinking[string(word)]
		first := i // the first part of a word such as eNaTIS, which was parted
		for first+1 < len(words) && words[first+1].end == words[first].start {
			first++
		}
		if first > i && (i == 0 || words[i-1].start != w.end) {
			v.mean(words[first-i:], i, linked, v.small(buf[:0], part{words[first].start, w.end}))
		}
		if !known && w.end-w.start > 5 {
			word = withoutEnding(v.small(buf[:0], w))
			if len(word) > 0 {
				v.mean(words, i, linked, word)
			}
		}
		linked = links
	}
}

// small appends a word in small letters, those of other alphabets too.
func (v *numeral) small(word []byte, w part) []byte {
	for _, c := range v.text[w.start:w.end] {
		if c < utf8.RuneSelf {
			word = append(word, lower(byte(c)))
		} else {
			word = utf8.AppendRune(word, unicode.ToLower(c))
		}
	}
	return word
}

// withoutEnding returns a word without what a plural, an article, or a word for number adds to it:
// passports, personnummeret, Ausweisnummer. It is empty if the word has none of these endings.
func withoutEnding(word []byte) []byte {
	switch word[len(word)-1] {
	case 'r', 'n', 't', 's':
	default:
		return nil
	}
	for _, ending := range []string{"nummer", "number", "nr", "en", "et", "es", "s", "n"} {
		if n := len(word) - len(ending); n > 3 && string(word[n:]) == ending {
			return word[:n]
		}
	}
	return nil
}

// mean notes what a word means, which is words[i], and tells whether it means something. Linked says
// that all words that are nearer say nothing.
func (v *numeral) mean(words []part, i int, linked bool, word []byte) (known bool) {
	at, bit := hintOf(word)
	if v.tables.hints[at]&bit == 0 {
		return false
	}
	for n := v.tables.words[string(word)]; n != 0; {
		m := &v.tables.mentions[n]
		n = m.next
		known = true
		distance := uint8(i)
		old := v.near[m.list]
		if old < distance || old == distance && v.long[m.list] >= m.long || m.nearest && !linked {
			continue
		}
		if m.rest == "" || v.reads(words, i+1, m.rest) {
			v.near[m.list] = distance
			v.long[m.list] = m.long
		}
	}
	return known
}

// before collects the words before the numeral, the nearest first. Words end at digits, at _ and
// where a small letter comes before a capital, so that phone_number and phoneNumber are two words.
// An empty line ends the context.
func (v *numeral) before() []part {
	v.wordsOf(max(0, v.pre-contextBytes, v.silent), v.pre)
	if v.nwords == 0 {
		v.silent = v.pre // so that each number of a long row does not look for the words before the first
	}
	return v.words[:v.nwords]
}

// wordsOf collects the words of a part of the text as before does.
func (v *numeral) wordsOf(first, end int) []part {
	v.nwords = 0
	lines := 0
	for i := end; i > first && v.nwords < contextWords; {
		// What stands between words.
		c := v.text[i-1]
		if !isLetter(c) && c < utf8.RuneSelf {
			switch c {
			case '\n':
				lines++
			case ' ', '\t', '\r':
			default:
				lines = 0
			}
			if lines > 1 {
				break
			}
			i--
			continue
		}

		// A word.
		lines = 0
		end := i
		for i > first && (isLetter(v.text[i-1]) || v.text[i-1] >= utf8.RuneSelf) {
			i--
			if i > first && isUpper(v.text[i]) && isLower(v.text[i-1]) {
				break
			}
		}
		if i == first && i > 0 && (isLetter(v.text[i-1]) || v.text[i-1] >= utf8.RuneSelf) {
			break // the end of a word that is too far
		}
		if i > 0 && isDigit(v.text[i-1]) || end+1 < v.pre && v.text[end] == '-' && isDigit(v.text[end+1]) {
			continue // a piece of a code, such as 4TFN6 or LIC-5193
		}
		v.words[v.nwords] = part{i, end}
		v.nwords++
	}
	return v.words[:v.nwords]
}

// How far above a row of a table its header may be, and how long a row may be before the numeral,
// in bytes.
const (
	headerBytes = 600
	rowBytes    = 200
)

// header returns where the name of the numeral's column stands, if it is in a table with commas,
// semicolons, tabs or | between the columns. The first line after an empty one has their names.
func (v *numeral) header() (start, end int) {
	// Where the row begins. The text's first line is no row.
	first := max(0, v.pre-rowBytes-2)
	row := v.lineBegin(first)
	if row <= first {
		return 0, 0
	}

	// Which column it is.
	separator := byte(0)
	column := 0
	for i := v.pre; i > row; i-- {
		c := v.text[i-1]
		if separator == 0 && isColumnEnd(c) {
			separator = c
		}
		if c == separator && separator != 0 {
			column++
		}
	}
	if separator == 0 {
		return 0, 0
	}

	// The line with the names, behind an empty line. That of a row before is known.
	head := row - 1
	for head > 0 && head != v.headRow && (v.text[head-1] != '\n' || head > 1 && v.text[head-2] != '\n') {
		head--
		if row-head > headerBytes+1 { // too far above
			break
		}
	}
	if head == v.headRow && head > 0 {
		head = v.head
	}
	v.headRow = row - 1
	v.head = head
	if row-head > headerBytes {
		return 0, 0
	}
	for ; column > 0; column-- {
		next := strings.IndexByte(v.text[head:row], separator)
		if next < 0 {
			return 0, 0
		}
		head += next + 1
	}
	end = head
	for end < row && v.text[end] != separator && v.text[end] != '\n' {
		if isDigit(v.text[end]) {
			return 0, 0
		}
		end++
	}
	return head, end
}

// lineBegin returns where the numeral's line begins, or a place up to first if that is before it.
// It looks only at what is new since the numeral before.
func (v *numeral) lineBegin(first int) int {
	from := v.lined
	if from < first || from > v.pre {
		from = first
		v.line = 0
	}
	last := strings.LastIndexByte(v.text[from:v.pre], '\n')
	if last >= 0 {
		v.line = from + last + 1
	}
	v.lined = v.pre
	return v.line
}

// isColumnEnd tells whether a byte parts the columns of a table.
func isColumnEnd(c byte) bool { return c == ',' || c == ';' || c == '\t' || c == '|' }

// reads tells whether a phrase's last word is words[i], and those before it are the words before.
func (v *numeral) reads(words []part, i int, phrase string) bool {
	for {
		cut := strings.LastIndexByte(phrase, ' ')
		if i == len(words) || !strings.EqualFold(v.text[words[i].start:words[i].end], phrase[cut+1:]) {
			return false
		}
		if cut < 0 {
			return true
		}
		phrase = phrase[:cut]
		i++
	}
}

// isAbove tells whether one of the words before the numeral is the end of an earlier line, such as
// that of a street.
func (v *numeral) isAbove(word int) bool {
	if word >= v.nwords {
		return false
	}
	between := v.text[v.context.words[word].end:v.pre]
	return strings.IndexByte(between, '\n') >= 0 && strings.IndexByte(between, ':') < 0
}

// isFollowed tells whether one of the words stands after i, with at most two bytes between; or
// after "is my" and the like.
func (v *numeral) isFollowed(i int, words []string) bool {
	for range 4 {
		for n := 0; n < 2; n++ {
			switch v.at(i) {
			case ' ', '-', '(', ',', ':', '/', '\t':
				i++
			}
		}
		end := i
		for isLetter(v.at(end)) {
			end++
			if end-i > 12 {
				return false
			}
		}
		if end == i {
			return false
		}
		word := v.text[i:end]
		if isListed(words, word) {
			return true
		}
		if !isListed(linkingWords, word) {
			return false
		}
		i = end
	}
	return false
}

// linkingWords may stand between a number and what it is, and say nothing: 555 0100 is my office.
var linkingWords = []string{
	"is", "are", "was", "which", "my", "our", "his", "her", "their", "the", "new", "a", "no", "nr", "number", "num", "id",
	"code", "nummer", "lautet", "ist", "es", "est", "è", "é", "número", "numéro", "numero", "value",
}

// isLinking has linkingWords.
var isLinking = func() map[string]bool {
	all := map[string]bool{}
	for _, word := range linkingWords {
		all[word] = true
	}
	return all
}()

// isListed tells whether a word is in a list, in any case.
func isListed(list []string, word string) bool {
	for _, w := range list {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
