package detect

import "github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"

// Kinds of bytes. The bytes of a character that is not ASCII have none: such characters are told
// apart by their first byte alone, so that a text that is cut within a character is understood as
// far as it goes.
const (
	digitByte = 1 << iota
	upperByte
	lowerByte
	hexByte
	localByte // may be in the part of an email address before the @
	linkByte  // may be in a URL
	monthByte // may begin an English month's name

	letterByte = upperByte | lowerByte
	alnumByte  = digitByte | letterByte
)

var kinds = func() (k [256]uint8) {
	for kind, set := range map[uint8]string{
		digitByte: "0-9",
		upperByte: "A-Z",
		lowerByte: "a-z",
		hexByte:   "0-9A-Fa-f",
		localByte: "0-9A-Za-z._%+'&~-",
		linkByte:  "0-9A-Za-z._~:/?#[]@!$&'()*+,;=%-",
		monthByte: "JFMASOND",
	} {
		for c, in := range pattern.MustSet(set) {
			if in {
				k[c] |= kind
			}
		}
	}
	return k
}()

// Sets of bytes.
var (
	upperSet  = pattern.MustSet("A-Z")
	lowerSet  = pattern.MustSet("a-z")
	digitSet  = pattern.MustSet("0-9")
	letterSet = pattern.MustSet("A-Za-z")
	hexSet    = pattern.MustSet("A-Fa-f0-9")
)

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isAlnum(c byte) bool  { return kinds[c]&alnumByte != 0 }
func isHex(c byte) bool    { return kinds[c]&hexByte != 0 }

// isWord tells whether a byte is of a word in code: a letter, a digit or an underscore.
func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// leadsLetter tells whether a byte begins a letter of two bytes: Latin with accents, Greek,
// Cyrillic, Hebrew, Arabic. Where letters have three bytes, numbers have no spaces around them, so
// such a letter ends a word here.
func leadsLetter(c byte) bool { return c >= 0xc3 && c <= 0xdf }

// continues tells whether a byte goes on with a character that is not ASCII.
func continues(c byte) bool { return c >= 0x80 && c < 0xc0 }

// lower makes an ASCII letter small.
func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// lowered appends a text to buf with its ASCII letters small.
func lowered(buf []byte, text string) []byte {
	for i := range len(text) {
		buf = append(buf, lower(text[i]))
	}
	return buf
}

// foldPrefix tells whether a text begins with a word of small ASCII letters, in either case.
func foldPrefix(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

// hasFoldPrefix tells whether a text begins with one of some words of small ASCII letters, in either case.
func hasFoldPrefix(text string, words []string) bool {
	for _, word := range words {
		if foldPrefix(text, word) {
			return true
		}
	}
	return false
}

// mentions tells whether one of some words of small ASCII letters is in a text, in either case.
func mentions(text string, words []string) bool {
	for i := range len(text) {
		if hasFoldPrefix(text[i:], words) {
			return true
		}
	}
	return false
}

// A reader reads a text and notes whether it was asked for a byte past the end. A finding for which
// it was not asked stays the same whatever text follows.
type reader struct {
	text string
	past bool // a byte past the end was asked for
}

// peek returns the byte at i, or 0 past the end.
func (r *reader) peek(i int) byte {
	if i < len(r.text) {
		return r.text[i]
	}
	r.past = true
	return 0
}

// back returns the byte n places before i, or 0 before the beginning.
func (r *reader) back(i, n int) byte {
	i -= n
	if i >= 0 {
		return r.text[i]
	}
	return 0
}

// skip returns where the first of the parts ends that stands at i, or i if none does.
func (r *reader) skip(i int, parts ...string) int {
	for _, part := range parts {
		n := 0
		for n < len(part) && r.peek(i+n) == part[n] {
			n++
		}
		if n == len(part) {
			return i + n
		}
	}
	return i
}
