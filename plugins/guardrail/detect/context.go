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

// A context is the words before a numeral. They are read when a format asks for them.
type context struct {
	labelsRead bool               // near is filled
	near       [maxLists]uint8    // how many words are nearer than a list's; contextWords for none
	long       [maxLists]uint8    // how many words the list's phrase there has
	words      [contextWords]part // the words, the nearest first
	nwords     int
	silent     int // no word is within reach before this place

	lined int // up to here it is known where lines begin
	line  int // where the last one of them does; 0 if that is far before

	head    int // where the last table begins
	headRow int // in which a row ends here
	after   int // no word that says something is behind this place
}

// A part is where something stands in a text.
type part struct{ start, end int }

// labelBefore tells whether a word or phrase of a list stands before the number, and how many words stand
// between the two.
func (v *numeral) labelBefore(l list) (distance int, ok bool) {
	if !v.labelsRead {
		v.labelsRead = true
		v.readLabels()
	}
	return int(v.near[l]), v.near[l] < contextWords
}

// labelBeside returns the claim of a word or phrase of a list that stands before the number, or
// behind its end: AB1234567 is my passport.
func (v *numeral) labelBeside(l list, end int) (said claim, ok bool) {
	near, ok := v.labelBefore(l)
	if ok {
		return claim{near: near, long: int(v.long[l]), list: l}, true
	}
	if v.after == end {
		return claim{}, false
	}
	return v.labelAfter(l, end)
}

// labelAfter returns the label of a list that follows a number that ends at i: after a comma or a
// parenthesis, or after linking words such as "is my". A label that is marked with ^ must follow a
// linking word, or be all that a parenthesis has.
func (v *numeral) labelAfter(l list, i int) (said claim, ok bool) {
	end := i
	links := false  // something links the number to the next word
	linked := false // a word does
	opened := false // a parenthesis is open
	passed := false // one word was passed over that says nothing: is my old passport
	for distance := range 5 {
		// What stands before the word.
		for range 3 {
			switch v.peek(i) {
			case '(', ',', '[', '-':
				links = true
				opened = opened || v.peek(i) == '(' || v.peek(i) == '['
				i++
			case ' ', '\'':
				i++
			}
		}

		// A word or phrase that begins here.
		start := i
		i = v.wordEnd(start)
		link := i > start && isListed(linkingWords, v.text[start:i])
		if i == start || !links && !link {
			if distance == 0 && !v.past {
				v.after = end
			}
			return claim{}, false
		}
		if links {
			long := v.phraseFrom(l, start, linked, opened)
			if long > 0 {
				return claim{near: distance, long: long, list: l}, true
			}
		}
		if !link && (passed || !linked) {
			return claim{}, false
		}
		passed = passed || !link
		links = true
		linked = !passed
		opened = false
	}
	return claim{}, false
}

// wordEnd returns where the word ends that begins at i; i if there is none, or a very long one.
func (v *numeral) wordEnd(i int) int {
	end := i
	for isLetter(v.peek(end)) || v.peek(end) >= utf8.RuneSelf {
		end++
		if end-i > wordBytes {
			return i
		}
	}
	return end
}

// phraseFrom returns how many words the phrase of a list has that begins at i; 0 if none does. One that is marked with ^
// counts only if a linking word is before it, or if it is all that a parenthesis has.
func (v *numeral) phraseFrom(l list, i int, linked, opened bool) (long int) {
	const longest = 5 // words that a phrase has
	var words [longest]part
	var buf [3 * wordBytes]byte
	for n := range words {
		end := v.wordEnd(i)
		if end == i {
			return 0
		}
		words[longest-1-n] = part{i, end}
		before := words[longest-n:] // the words of the phrase so far, the last one first
		word := v.small(buf[:0], part{i, end})
		for next := v.tables.words[string(word)]; next != 0; next = v.tables.mentions[next].next {
			m := &v.tables.mentions[next]
			if m.list != l || int(m.long) != n+1 || n > 0 && !v.reads(before, 0, m.rest) {
				continue
			}
			if !m.nearest || linked || opened && (v.peek(end) == ')' || v.peek(end) == ']') {
				return int(m.long)
			}
		}

		for _, p := range v.tables.script { // scripts that put no spaces between words
			if p.list == l && strings.Contains(v.text[i:end], p.text) {
				return 1
			}
		}

		// The next word.
		i = end
		switch v.peek(i) {
		case ' ', '-', '\'':
			i++
		default:
			return 0
		}
	}
	return 0
}

// isOther tells whether a word near before the numeral says that it is an order's, a ticket's and
// so on.
func (v *numeral) isOther() bool {
	near, ok := v.labelBefore(otherList)
	return ok && near < 5
}

// noLabels is context.near for a number that has no label of any list.
var noLabels = func() (near [maxLists]uint8) {
	for i := range near {
		near[i] = contextWords
	}
	return near
}()

// readLabels reads the words before the number and notes which lists have a label among them.
func (v *numeral) readLabels() {
	v.near = noLabels
	v.noteWords(v.wordsBefore())
	start, end := v.header()
	if start < end {
		v.noteWords(v.wordsOf(start, end))
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

// noteWords notes which lists have some of these words. The word that is nearest to the number comes first.
func (v *numeral) noteWords(words []part) {
	linked := true // all words so far are linking words, such as "number is"
	var buf [3 * contextBytes]byte
	for i, w := range words {
		word := v.small(buf[:0], w)
		known := v.noteMeaning(words, i, linked, word)
		links := linked && isLinking[string(word)]
		first := i // the first part of a word such as eNaTIS, which was parted
		for first+1 < len(words) && words[first+1].end == words[first].start {
			first++
		}
		if first > i && (i == 0 || words[i-1].start != w.end) {
			v.noteMeaning(words[first-i:], i, linked, v.small(buf[:0], part{words[first].start, w.end}))
		}
		if !known && w.end-w.start > 5 {
			word = withoutEnding(v.small(buf[:0], w))
			if len(word) > 0 {
				v.noteMeaning(words, i, linked, word)
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

// noteMeaning notes the lists that have words[i], and tells whether any list has it. Linked is true
// if all words between it and the number are linking words.
func (v *numeral) noteMeaning(words []part, i int, linked bool, word []byte) (known bool) {
	pos, bit := hintOf(word)
	if v.tables.hints[pos]&bit == 0 {
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

// wordsBefore collects the words before the number, the nearest first. Words end at digits, at _ and
// where a small letter comes before a capital, so that phone_number and phoneNumber are two words.
// Words before an empty line do not count.
func (v *numeral) wordsBefore() []part {
	v.wordsOf(max(0, v.pre-contextBytes, v.silent), v.pre)
	if v.nwords == 0 {
		v.silent = v.pre // so that each number of a long row does not look for the words before the first
	}
	return v.words[:v.nwords]
}

// wordsOf collects the words of text[first:end] in the same way.
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
			switch v.peek(i) {
			case ' ', '-', '(', ',', ':', '/', '\t':
				i++
			}
		}
		end := i
		for isLetter(v.peek(end)) {
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
