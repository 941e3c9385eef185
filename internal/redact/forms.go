package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// mostPerByte is how many bytes of a text a byte of a secret takes at most: \\u0026.
	mostPerByte = 7
	// shortestBase64 is how many characters of base64 must be a secret's alone. Fewer may be a
	// part of any text.
	shortestBase64 = 6
	// maxEscapes is how many backslashes before a character are its escape. More than three times
	// escaped is not looked for.
	maxEscapes = 8
)

// symbol is a part of a secret: a character, or a row of backslashes.
type symbol struct {
	chars []string // its bytes, and those of a character that may be in its place; one rune, or a byte that is none
	row   int      // of backslashes: how many there are; else 0
}

// text returns the symbols of a text.
func text(s string) (all []symbol) {
	for len(s) > 0 {
		row := len(s) - len(strings.TrimLeft(s, `\`))
		if row > 0 { // each may be escaped, or none of them
			all = append(all, symbol{chars: []string{`\`}, row: row})
			s = s[row:]
			continue
		}
		_, n := utf8.DecodeRuneInString(s)
		c := symbol{chars: []string{s[:n]}}
		if s[0] == ' ' { // in the query of a URL
			c.chars = append(c.chars, "+")
		}
		all = append(all, c)
		s = s[n:]
	}
	return all
}

// inHex returns the symbols of a text in hex, of upper or lower case.
func inHex(s string) []symbol {
	all := text(hex.EncodeToString([]byte(s)))
	for i, c := range all {
		if upper := strings.ToUpper(c.chars[0]); upper != c.chars[0] {
			all[i].chars = append(c.chars, upper)
		}
	}
	return all
}

// inBase64 returns the symbols of a text in base64, of the standard and of the URL alphabet, after
// so many bytes of something else: those that depend on the text alone.
func inBase64(s string, offset int) []symbol {
	encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", offset) + s))
	whole := 8 * (offset + len(s)) / 6
	all := text(encoded[(8*offset+5)/6 : whole])
	for i, c := range all {
		switch c.chars[0] {
		case "+":
			all[i].chars = append(c.chars, "-")
		case "/":
			all[i].chars = append(c.chars, "_")
		}
	}
	return all
}

func isBase64(c byte) bool {
	return isAlphanumeric(c) || c == '+' || c == '/' || c == '-' || c == '_'
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// begins returns the bytes with which a symbol can begin in a text.
func (c symbol) begins() string {
	all := `\%`
	for _, char := range c.chars {
		all += char[:1]
	}
	return all
}

// match reports whether the symbols are in a text at i, and where they end. A text writes all percent signs alike:
// as they are, or escaped as often as the URL is that the text is in.
func match(pattern []symbol, text string, i int) (end int, ok bool) {
	end, ok = matchWith(pattern, text, i, "%")
	if !ok && slices.ContainsFunc(pattern, symbol.isPercent) {
		for _, percent := range []string{"%25", "%2525", "%252525"} {
			if end, ok = matchWith(pattern, text, i, percent); ok {
				break
			}
		}
	}
	return end, ok
}

func (c symbol) isPercent() bool { return len(c.chars) == 1 && c.chars[0] == "%" }

// matchWith is match for texts that write percent signs so.
func matchWith(pattern []symbol, text string, i int, percent string) (end int, ok bool) {
	escaped := false // the backslashes before i may be those of a character's escape
	for _, c := range pattern {
		switch {
		case c.row > 0:
			i, ok = backslashes(c.row, text, i)
		case c.isPercent() && strings.HasPrefix(text[i:], percent):
			i, ok = i+len(percent), true
		default:
			i, ok = c.match(text, i, escaped)
		}
		if !ok {
			return 0, false
		}
		escaped = c.row > 0
	}
	return i, true
}

// backslashes matches at least n backslashes, each of which may be written by its number.
func backslashes(n int, text string, i int) (end int, ok bool) {
	found := 0
	for ; found < n*maxEscapes && i < len(text) && (text[i] == '\\' || text[i] == '%'); found++ {
		next, ok := numbered(text, i, skip(text, i), `\`)
		switch {
		case ok:
			i = next
		case text[i] == '\\':
			i++
		default:
			return i, found >= n
		}
	}
	return i, found >= n
}

// match matches a character. If it follows backslashes, the first ones of its own may be among
// those.
func (c symbol) match(text string, i int, escaped bool) (end int, ok bool) {
	if escaped {
		for _, char := range c.chars {
			if end, ok := escape(text, i, i, char); ok {
				return end, true
			}
		}
	}
	for _, char := range c.chars {
		if strings.HasPrefix(text[i:], char) {
			return i + len(char), true
		}
	}
	if i == len(text) || text[i] != '\\' && text[i] != '%' {
		return 0, false
	}
	after := skip(text, i)
	for _, char := range c.chars {
		if end, ok := escape(text, i, after, char); ok {
			return end, true
		}
	}
	return 0, false
}

// skip returns where a row of backslashes ends that may escape a character.
func skip(text string, i int) (end int) {
	end = i
	for end < len(text) && end-i < maxEscapes && text[end] == '\\' {
		end++
	}
	return end
}

// escape matches a character whose escape begins at i, with backslashes up to after.
func escape(text string, i, after int, char string) (end int, ok bool) {
	if end, ok := numbered(text, i, after, char); ok || after == len(text) {
		return end, ok
	}
	if letter := letters[char]; letter != 0 && text[after] == letter {
		return after + 1, true
	}
	punctuation := char[0] < utf8.RuneSelf && !isAlphanumeric(char[0])
	return after + 1, punctuation && text[after] == char[0]
}

// letters are those that stand for characters after a backslash.
var letters = map[string]byte{
	"\a":   'a',
	"\b":   'b',
	"\f":   'f',
	"\n":   'n',
	"\r":   'r',
	"\t":   't',
	"\v":   'v',
	"\x00": '0',
	"\x1b": 'e',
}

// numbered matches a character that is written by its number (see unicode) or by those of its bytes: \x26,
// \046 or %26, or %2526 in a URL that is in another one. Backslashes before the first number end at after.
func numbered(text string, i, after int, char string) (end int, ok bool) {
	if end, ok := unicode(text, after, char); ok {
		return end, true
	}
	for k := range len(char) {
		if k > 0 {
			after = skip(text, i)
		}
		n := rune(-1)
		switch {
		case i == len(text), k > 0 && after == i && text[i] != '%' && text[i] != char[k]:
			return 0, false
		case k > 0 && text[i] == char[k]: // in a URL
			i++
			continue
		case text[i] == '%':
			n, i = number(text, i+1, 2, 2, 16)
			for again := 0; again < maxEscapes && n == '%' && char[k] != '%'; again++ {
				n, i = number(text, i, 2, 2, 16)
			}
		case strings.HasPrefix(text[after:], "x"):
			n, i = number(text, after+1, 2, 2, 16)
		default:
			n, i = number(text, after, 3, 3, 8)
		}
		if n != rune(char[k]) {
			return 0, false
		}
	}
	return i, true
}

// unicode matches the number of a character after a backslash: u0026, U00000026, u{26}, x26, or
// two halves of UTF-16.
func unicode(text string, i int, char string) (end int, ok bool) {
	value, size := utf8.DecodeRuneInString(char)
	if i >= len(text) || value == utf8.RuneError && size == 1 {
		return 0, false
	}
	n := rune(-1)
	switch {
	case strings.HasPrefix(text[i:], "u{"):
		n, end = number(text, i+2, 1, 6, 16)
		return end + 1, n == value && strings.HasPrefix(text[end:], "}")
	case text[i] == 'u':
		n, end = number(text, i+1, 4, 4, 16)
		if low := skip(text, end); utf16.IsSurrogate(n) && low > end && strings.HasPrefix(text[low:], "u") {
			n2, end := number(text, low+1, 4, 4, 16)
			return end, utf16.DecodeRune(n, n2) == value
		}
	case text[i] == 'U':
		n, end = number(text, i+1, 8, 8, 16)
	case text[i] == 'x':
		n, end = number(text, i+1, 2, 2, 16)
	}
	return end, n == value
}

// number reads a number of at least and at most so many digits. It returns -1 if there is none.
func number(text string, i, least, most int, base rune) (n rune, end int) {
	const digits = "0123456789abcdef"
	for end = i; end < len(text) && end-i < most; end++ {
		d := strings.IndexByte(digits[:base], text[end]|0x20)
		if d < 0 || text[end] < '0' {
			break
		}
		n = n*base + rune(d)
	}
	if end-i < least {
		return -1, end
	}
	return n, end
}
