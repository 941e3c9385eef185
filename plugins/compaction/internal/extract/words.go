package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is one word of a text, as it stands there.
type word struct {
	text     string
	at       int    // where it begins, in bytes
	term     uint64 // key of its stem, 0 for a word that tells nothing
	sentence int    // the sentence it stands in, from 0
	clause   int    // the part of it, up to a comma or a turn: counted from 0, through all sentences
	name     bool   // begins with a capital within a sentence, or has a digit
	quoted   bool   // stands between quotation marks
	glued    bool   // follows the word before it without a blank, as words of Chinese do
	plain    string // lower case without apostrophes
}

// longest is the most runes a word may have; what is longer is cut into pieces, so that a text without blanks
// can be selected from like any other.
const longest = 40

// wide reports whether a rune belongs to a script that is written without blanks.
func wide(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// inner reports whether a rune holds two letters or digits together: what's, 12:30, 3.5, a@b.org, my_id-7.
func inner(r rune) bool { return strings.ContainsRune("'’.,:@_-/+&", r) }

func letter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '$' || r == '€' || r == '£' || r == '%' || r == '#'
}

// split returns the words of a text, and of each sentence whether it is a question.
func split(text string) (words []word, asks []bool) {
	sentence, clause, quoted, fresh, glued := 0, 0, false, true, false
	asks = []bool{false}
	words = make([]word, 0, len(text)/5+1)
	end := func(question bool) {
		if fresh {
			asks[sentence] = asks[sentence] || question
			return
		}
		asks[sentence] = question
		sentence, clause, fresh = sentence+1, clause+1, true
		asks = append(asks, false)
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !letter(r) {
			switch r {
			case '?', '？':
				end(true)
			case '.', '!', '\n', '。', '！', '…':
				end(false)
			case '"', '“', '”', '«', '»':
				quoted = !quoted
			case ',', ';', ':', '(', ')', '–', '—', '，', '、':
				clause++
			}
			i, glued = i+n, false
			continue
		}
		start, runes, cjk, digit := i, 0, wide(r), false
		for i < len(text) && runes < longest {
			r, n = utf8.DecodeRuneInString(text[i:])
			if !letter(r) {
				next, _ := utf8.DecodeRuneInString(text[i+n:])
				if !inner(r) || cjk || !letter(next) || i+n >= len(text) {
					break
				}
			} else if wide(r) != cjk || cjk && runes == 4 {
				break
			}
			digit = digit || unicode.IsDigit(r)
			i, runes = i+n, runes+1
		}
		if i == start { // cannot be: the first rune is a letter
			i += n
			continue
		}
		w := word{text: text[start:i], at: start, sentence: sentence, clause: clause, quoted: quoted, glued: glued}
		first, _ := utf8.DecodeRuneInString(w.text)
		w.name = digit || !fresh && unicode.IsUpper(first)
		w.plain = strings.Map(func(r rune) rune {
			if r == '\'' || r == '’' {
				return -1
			}
			return unicode.ToLower(r)
		}, w.text)
		if (utf8.RuneCountInString(w.plain) > 1 || digit || cjk) && !stops[w.plain] {
			w.term = key(stem(w.plain))
		}
		if turns[w.plain] {
			clause++
			w.clause++
		}
		words = append(words, w)
		fresh, glued = false, true
	}
	return words, asks
}

// stem cuts the endings of English words, so that their forms count as one: takes, taking, take.
func stem(w string) string {
	for _, end := range []string{"'s", "ings", "ing", "edly", "ed", "es", "s", "ly"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) {
			w = w[:len(w)-len(end)]
			break
		}
	}
	if n := len(w); n > 3 {
		switch c := w[n-1]; {
		case c == 'e':
			return w[:n-1]
		case c == 'i':
			return w[:n-1] + "y"
		case c == w[n-2] && c > 'a' && c <= 'z' && c != 'l' && c != 's':
			return w[:n-1]
		}
	}
	return w
}
