package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is one word of a text.
type word struct {
	text     string // as it is written
	plain    string // in lower case, without apostrophes
	start    int    // where it begins in the text, in bytes
	term     uint64 // the key of its stem, 0 for a word without information
	sentence int    // the number of its sentence in the text, from 0
	name     bool   // it begins with a capital within a sentence, or has a digit
}

const (
	// longestWord is how many runes a word may have. Longer words are cut into pieces.
	longestWord = 40
	// longestSentence is how many words a sentence may have. A longer one, such as a table, is cut.
	longestSentence = 80
)

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

// split returns the words of a text.
func split(text string) []word { return splitInto(make([]word, 0, len(text)/5+1), text) }

// splitInto is split. It overwrites the words in buffer, which the caller no longer needs.
func splitInto(buffer []word, text string) []word {
	words := buffer[:0]
	sentence := 0
	length := 0 // how many words the sentence has so far
	endSentence := func() {
		if length > 0 {
			sentence++
			length = 0
		}
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])

		// Between words, punctuation ends sentences and quotations.
		if !beginsWord(r) {
			switch r {
			case '.':
				if !abbreviated(words, text[:i], text[i+n:]) {
					endSentence()
				}
			case '!', '…':
				if !goesOn(text[i+n:]) {
					endSentence()
				}
			case '?', '？', '\n', '。', '！':
				endSentence()
			}
			i += n
			continue
		}

		// A word ends behind its last letter or digit. In scripts without spaces, it has at most four runes.
		start := i
		wide := Wide(r)
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
		if length == longestSentence {
			endSentence()
		}
		w := word{
			text:     text[start:i],
			plain:    plain(text[start:i]),
			start:    start,
			sentence: sentence,
		}
		first, _ := utf8.DecodeRuneInString(w.text)
		w.name = digit || length > 0 && unicode.IsUpper(first)
		if (utf8.RuneCountInString(w.plain) > 1 || digit || wide) && !stops[w.plain] {
			stem := stem(w.plain)
			if !pale[stem] {
				w.term = key(stem)
			}
		}
		words = append(words, w)
		length++
	}
	return words
}

// goesOn reports whether what follows a mark goes on with the sentence: it begins with a small letter, as in
// "No!" he said.
func goesOn(next string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, "!… \"”»)'’"))
	return unicode.IsLower(first)
}

// abbreviated reports whether a point that ends a text so far belongs to an abbreviation: Dr., Tel. 0221, J.
// K., U.S.
func abbreviated(words []word, text, next string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if germanDate(last.text, next) {
		return true
	}
	if last.start+len(last.text) < len(text) || last.plain == "i" {
		return false
	}

	// A capital is an initial, and a comma never begins a sentence.
	first, _ := utf8.DecodeRuneInString(last.text)
	final := last.plain[strings.LastIndexByte(last.plain, '.')+1:]
	single := utf8.RuneCountInString(final) == 1
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, " (+#"))
	if single && unicode.IsUpper(first) || abbreviations[last.plain] || strings.HasPrefix(next, ",") {
		return true
	}

	// Some words are abbreviations before a number only, and some may end a sentence too.
	if unicode.IsDigit(after) && abbreviationsBeforeNumbers[last.plain] {
		return true
	}
	dotted := single && len(final) < len(last.plain)
	return (dotted || finalAbbreviations[last.plain]) && (unicode.IsDigit(after) || unicode.IsLower(after))
}

// germanDate reports whether a number, a point, and what follows them are a date as in German: "am 8. Juli".
func germanDate(number, next string) bool {
	if len(number) > 2 || strings.Trim(number, "0123456789") != "" {
		return false
	}
	next, _, _ = strings.Cut(strings.TrimPrefix(next, " "), " ")
	return germanMonths[strings.TrimRight(strings.ToLower(next), ".,!?")]
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
	all := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	})
	var words []string
	for _, w := range all {
		w = strings.Trim(w, "'’")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if w == "" {
			continue
		}
		words = append(words, w)
		if stops[plain(w)] {
			continue
		}
		begin := stem(w)
		for !strings.HasPrefix(w, begin) {
			begin = begin[:len(begin)-1]
		}
		begin = strings.ToValidUTF8(begin, "")
		if begin == "" {
			begin = w
		}
		terms = append(terms, begin)
	}
	if len(terms) == 0 {
		terms = words
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}
