package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How far back context counts: words, and bytes.
const (
	contextWords = 9
	contextBytes = 96
)

// A part is where something stands in a text.
type part struct{ start, end int }

// before collects the words before the numeral, the nearest first. Words end at digits, at _ and where small letters
// turn to capitals, so that phone_number and phoneNumber are two words; a blank line ends the context.
func (v *numeral) before() []part {
	v.nwords = 0
	first := max(0, v.pre-contextBytes, v.silent)
	lines := 0
	for i := v.pre; i > first && v.nwords < contextWords; {
		c := v.text[i-1]
		if !aLetter(c) && c < 0x80 {
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
		lines = 0
		end := i
		for i > first && (aLetter(v.text[i-1]) || v.text[i-1] >= 0x80) {
			i--
			if i > first && kinds[v.text[i]]&upperByte != 0 && kinds[v.text[i-1]]&lowerByte != 0 {
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

// said says whether a list's word or phrase stands before the numeral, and how many words are nearer to it.
func (v *numeral) said(l list) (distance int, ok bool) {
	if !v.heard {
		v.heard = true
		v.listen()
	}
	return int(v.near[l]), v.near[l] < contextWords
}

// listen notes which lists' words stand before the numeral.
func (v *numeral) listen() {
	for i := range v.near {
		v.near[i] = contextWords
	}
	words := v.before()
	var buf [3 * contextBytes]byte
	for i := range words {
		word := buf[:0]
		for _, c := range v.text[words[i].start:words[i].end] { // runes: capitals of other alphabets count too
			if c < 0x80 {
				if kinds[c]&upperByte != 0 {
					c += 'a' - 'A'
				}
				word = append(word, byte(c))
			} else {
				word = utf8.AppendRune(word, unicode.ToLower(c))
			}
		}
		for _, m := range v.vocabulary.words[string(word)] {
			if int(v.near[m.list]) > i && (!m.nearest || i == 0) && (m.rest == "" || v.reads(words, i+1, m.rest)) {
				v.near[m.list] = uint8(i)
			}
		}
	}
	before := v.text[max(0, v.pre-contextBytes/2):v.pre]
	for i := range len(before) {
		if before[i] < 0xe0 {
			continue
		}
		for _, p := range v.vocabulary.script {
			if strings.HasPrefix(before[i:], p.text) {
				v.near[p.list] = 0
			}
		}
	}
}

// reads says whether a phrase's last word is words[i], and those before it are the words before.
func (v *numeral) reads(words []part, i int, phrase string) bool {
	for {
		cut := strings.LastIndexByte(phrase, ' ')
		if i == len(words) || !strings.EqualFold(v.text[words[i].start:words[i].end], phrase[cut+1:]) {
			return false
		}
		if cut < 0 {
			return true
		}
		phrase, i = phrase[:cut], i+1
	}
}

// followed says whether one of the words, separated by commas, stands after i, with at most two bytes between; or after
// "is my" and the like.
func (v *numeral) followed(i int, words string) bool {
	for range 4 {
		for n := 0; n < 2; n++ {
			switch v.at(i) {
			case ' ', '-', '(', ',', ':', '/', '\t':
				i++
			}
		}
		end := i
		for aLetter(v.at(end)) {
			if end++; end-i > 12 {
				return false
			}
		}
		if end == i {
			return false
		}
		word := v.text[i:end]
		if listed(words, word) {
			return true
		}
		if i = end; !listed("is,are,my,our,his,her,their,the,new", word) {
			return false
		}
	}
	return false
}

// listed says whether a word is among words that are separated by commas.
func listed(words, word string) bool {
	for words != "" {
		var w string
		if w, words, _ = strings.Cut(words, ","); strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
