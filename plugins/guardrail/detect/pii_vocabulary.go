package detect

import "strings"

// A list of words or phrases that say what a number is.
type list uint8

const (
	phoneList list = iota
	otherList
	numberList
	cardList
	birthList
	versionList
	netList
	macList
	driverList
	idLists // from here on, one for each kind of idNumbers and idCodes
)

// maxLists is how many lists there may be.
const maxLists = 128

// A mention is what a word means that stands before a number.
type mention struct {
	list    list
	nearest bool   // only if it is the nearest word
	rest    string // what else must stand before it, from the left
}

// vocabulary knows the words of all lists by their last word in small letters. Phrases in scripts that put no spaces
// between words are in script.
type vocabulary struct {
	words  map[string][]mention
	script []scriptPhrase
}

type scriptPhrase struct {
	text string
	list list
}

// learn adds phrases that are separated by commas. One with ^ before it counts only as the nearest word.
func (v *vocabulary) learn(l list, phrases string) {
	for phrase := range strings.SplitSeq(strings.ToLower(phrases), ",") {
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
		v.words[phrase[cut+1:]] = append(v.words[phrase[cut+1:]], mention{l, nearest, rest})
	}
}
