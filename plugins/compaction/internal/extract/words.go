package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is one word of a text.
type word struct {
	plain string // in lower case, without apostrophes
	stem  string // "" for a word without information
	name  bool   // it begins with a capital and not the text, or has a digit
}

// longestWord is how many runes a word may have. Longer words are cut into pieces.
const longestWord = 40

// firstWide is the first rune of the scripts that are written without spaces.
const firstWide = 0x0E00

// Wide reports whether a rune belongs to a script that is written without spaces.
func Wide(r rune) bool {
	return r >= firstWide && unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// joinsWord reports whether a rune between two letters or digits belongs to the word: what's, 12:30, 3.5,
// a@b.org, my_id-7.
func joinsWord(r rune) bool { return strings.ContainsRune("'’.,:@_-/+&", r) }

// beginsWord reports whether a word can begin with a rune.
func beginsWord(r rune) bool {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
		return true
	}
	return strings.ContainsRune("$€£%#", r)
}

// wordsOf appends the words of a text to a list.
func wordsOf(words []word, text string) []word {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !beginsWord(r) {
			i += n
			continue
		}

		// A word ends behind its last letter or digit. In scripts without spaces, it has at most four runes.
		start := i
		wide := Wide(r)
		first := r
		digit := false
		for runes := 0; i < len(text) && runes < longestWord; runes++ {
			r, n = utf8.DecodeRuneInString(text[i:])
			if !beginsWord(r) {
				next, _ := utf8.DecodeRuneInString(text[i+n:])
				if !joinsWord(r) || wide || !beginsWord(next) || i+n >= len(text) {
					break
				}
			} else if Wide(r) != wide || wide && runes == 4 {
				break
			}
			digit = digit || unicode.IsDigit(r)
			i += n
		}
		w := word{plain: plain(text[start:i])}
		w.name = digit || len(words) > 0 && unicode.IsUpper(first)
		if (utf8.RuneCountInString(w.plain) > 1 || digit || wide) && !stops()[w.plain] {
			w.stem = stem(w.plain)
			if pale()[w.stem] {
				w.stem = ""
			}
		}
		words = append(words, w)
	}
	return words
}

// plain returns a word in lower case, without apostrophes.
func plain(w string) string {
	return strings.Map(func(r rune) rune {
		if r == '\'' || r == '’' {
			return -1
		}
		return unicode.ToLower(r)
	}, w)
}

// stem removes endings of English words, so that the forms of a word count as one: takes, taking, take.
func stem(w string) string {
	for _, end := range []string{"'s", "ings", "ing", "edly", "ed", "es", "s", "ly"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) {
			w = w[:len(w)-len(end)]
			break
		}
	}
	n := len(w)
	if n <= 3 {
		return w
	}
	last := w[n-1]
	doubled := last == w[n-2] && last > 'a' && last <= 'z' && last != 'l' && last != 's'
	switch {
	case last == 'i':
		return w[:n-1] + "y"
	case last == 'e' || doubled:
		return w[:n-1]
	}
	return w
}

// Terms returns what a search looks for: the words of a query in lower case, each once, without the endings
// that the forms of a word differ in. It leaves out words without information, unless the query has no
// others.
func Terms(query string) (terms []string) {
	var all []string
	for part := range strings.FieldsFuncSeq(strings.ToLower(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	}) {
		w := strings.Trim(part, "'’")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if w == "" {
			continue
		}
		all = append(all, w)
		begin := stem(w)
		if !strings.HasPrefix(w, begin) { // it has another last letter
			begin = begin[:len(begin)-1]
		}
		if !stops()[plain(w)] {
			terms = append(terms, begin)
		}
	}
	if len(terms) == 0 {
		terms = all
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}
