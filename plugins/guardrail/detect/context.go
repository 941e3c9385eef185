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
	versionList
	networkList
	macList
	driverList
	firstIDList // from here on there is one for each row of id_numbers.txt and id_codes.txt
)

var listNames = [firstIDList]string{
	"phone", "other", "number", "card", "birth", "version", "network", "mac", "driver",
}

// maxLists is how many lists there may be.
const maxLists = 128

// vocabulary knows the words of all lists.
type vocabulary struct {
	// words has the number of a word's first mention, by the last word of a phrase in small
	// letters.
	words    map[string]int32
	mentions []mention      // from 1 on
	script   []scriptPhrase // phrases in scripts that put no spaces between words
}

// A mention is what a word means that stands before a number.
type mention struct {
	list    list
	nearest bool   // only if it is the nearest word
	rest    string // the words that must stand before it
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
			list: l, nearest: nearest, rest: rest, next: v.words[last],
		})
		v.words[last] = int32(len(v.mentions) - 1)
	}
}

// A context is the words before a numeral. They are read when a format asks for them.
type context struct {
	heard  bool               // near is filled
	near   [maxLists]uint8    // how many words are nearer than a list's; contextWords for none
	words  [contextWords]part // the words, the nearest first
	nwords int
	silent int // no word is within reach before this place
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

// isOther tells whether a word near before the numeral says that it is an order's, a ticket's and
// so on.
func (v *numeral) isOther() bool {
	near, ok := v.said(otherList)
	return ok && near < 5
}

// listen finds out which lists have a word before the numeral.
func (v *numeral) listen() {
	for i := range v.near {
		v.near[i] = contextWords
	}
	words := v.before()
	var buf [3 * contextBytes]byte
	for i := range words {
		// The word in small letters, those of other alphabets too.
		word := buf[:0]
		for _, c := range v.text[words[i].start:words[i].end] {
			if c < utf8.RuneSelf {
				word = append(word, lower(byte(c)))
			} else {
				word = utf8.AppendRune(word, unicode.ToLower(c))
			}
		}
		for n := v.tables.words[string(word)]; n != 0; {
			m := &v.tables.mentions[n]
			n = m.next
			if int(v.near[m.list]) <= i || m.nearest && i > 0 {
				continue
			}
			if m.rest == "" || v.reads(words, i+1, m.rest) {
				v.near[m.list] = uint8(i)
			}
		}
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
			}
		}
	}
}

// before collects the words before the numeral, the nearest first. Words end at digits, at _ and
// where a small letter comes before a capital, so that phone_number and phoneNumber are two words.
// An empty line ends the context.
func (v *numeral) before() []part {
	v.nwords = 0
	first := max(0, v.pre-contextBytes, v.silent)
	lines := 0
	for i := v.pre; i > first && v.nwords < contextWords; {
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
		v.words[v.nwords] = part{i, end}
		v.nwords++
	}
	if v.nwords == 0 {
		v.silent = v.pre // so that each number of a long row does not look for the words before the first
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

// linkingWords may stand between a number and what it is: 555 0100 is my office.
var linkingWords = []string{"is", "are", "my", "our", "his", "her", "their", "the", "new"}

// isListed tells whether a word is in a list, in any case.
func isListed(list []string, word string) bool {
	for _, w := range list {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
