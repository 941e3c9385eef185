package detect

import "strings"

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
	firstIDList // from here on there is one for each type of ids.txt
)

var listNames = [firstIDList]string{
	"phone", "other", "number", "card", "birth", "date", "version", "network",
}

// maxLists is how many lists there may be.
const maxLists = 144

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
func (t *piiTables) readVocabulary() {
	lists := listsOf("vocabulary.txt", append(listNames[:], "phone-label")...)
	for l, name := range listNames {
		t.learn(list(l), lists[name])
	}
	t.phoneLabels = lists["phone-label"]
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
		pos, bit := hintOf(last)
		v.hints[pos] |= bit
	}
}

// hintOf returns which bit of the vocabulary's hints a word has.
func hintOf[word string | []byte](w word) (pos int, bit uint64) {
	n := len(w)
	sum := 7*int(w[0]) + 61*int(w[n-1]) + 331*int(w[n/2]) + 997*n
	return sum >> 6 & 63, 1 << (sum & 63)
}

// linkingWords may stand between a number and what it is, and say nothing: 555 0100 is my office.
var linkingWords = []string{
	"is", "are", "was", "which", "my", "our", "his", "her", "their", "the", "new", "a", "no", "nr",
	"number", "num", "id",
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
