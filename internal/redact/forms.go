package redact

import (
	"encoding/base64"
	"encoding/hex"
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
	char  string // its bytes; those of one rune, or a byte that is none
	value rune   // of the character, -1 if it is no rune
	other string // a character that may be in its place, "" if there is none
	row   int    // of backslashes: how many there are; else 0
}

// text returns the symbols of a text.
func text(s string) (all []symbol) {
	for len(s) > 0 {
		row := len(s) - len(strings.TrimLeft(s, `\`))
		if row > 0 { // each may be escaped, or none of them
			all = append(all, symbol{char: `\`, value: '\\', row: row})
			s = s[row:]
			continue
		}
		value, n := utf8.DecodeRuneInString(s)
		if value == utf8.RuneError && n == 1 {
			value = -1
		}
		c := symbol{char: s[:n], value: value}
		if value == ' ' { // in the query of a URL
			c.other = "+"
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
		if upper := strings.ToUpper(c.char); upper != c.char {
			all[i].other = upper
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
		switch c.char {
		case "+":
			all[i].other = "-"
		case "/":
			all[i].other = "_"
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
	return `\%` + c.char[:1] + c.other
}

// match reports whether the symbols are in a text at i, and where they end.
func match(pattern []symbol, text string, i int) (end int, ok bool) {
	escaped := false // the backslashes before i may be those of a character's escape
	for _, c := range pattern {
		if c.row > 0 {
			i, ok = backslashes(c.row, text, i)
			escaped = true
		} else {
			i, ok = c.match(text, i, escaped)
			escaped = false
		}
		if !ok {
			return 0, false
		}
	}
	return i, true
}

// backslashes matches at least n backslashes, each of which may be written by its number.
func backslashes(n int, text string, i int) (end int, ok bool) {
	found := 0
	for found < n*maxEscapes && i < len(text) {
		if next, ok := numbered(text, i, '\\', `\`); ok {
			i = next
		} else if text[i] == '\\' {
			i++
		} else {
			break
		}
		found++
	}
	return i, found >= n
}

// match matches a character. If it follows backslashes, the first ones of its own may be among
// those.
func (c symbol) match(text string, i int, escaped bool) (end int, ok bool) {
	if escaped {
		if end, ok := c.escape(text, i); ok {
			return end, true
		}
	}
	rest := text[i:]
	switch {
	case strings.HasPrefix(rest, c.char):
		return i + len(c.char), true
	case c.other != "" && strings.HasPrefix(rest, c.other):
		return i + len(c.other), true
	}
	if strings.HasPrefix(rest, "%") {
		end, ok := percent(text, i, c.char)
		if !ok && c.other != "" {
			end, ok = percent(text, i, c.other)
		}
		return end, ok
	}
	after := skip(text, i)
	if after == i {
		return 0, false
	}
	return c.escape(text, after)
}

// skip returns where a row of backslashes ends that may escape a character.
func skip(text string, i int) (end int) {
	end = i
	for end < len(text) && end-i < maxEscapes && text[end] == '\\' {
		end++
	}
	return end
}

// escape matches what follows the backslashes of an escaped character.
func (c symbol) escape(text string, i int) (end int, ok bool) {
	if i == len(text) {
		return 0, false
	}
	if end, ok := unicode(text, i, c.value); ok {
		return end, true
	}
	if end, ok := bytewise(text, i, c.char); ok {
		return end, true
	}
	if c.other != "" {
		if end, ok := unicode(text, i, rune(c.other[0])); ok {
			return end, true
		}
		if end, ok := bytewise(text, i, c.other); ok {
			return end, true
		}
	}
	if letter := letters[c.value]; letter != 0 && text[i] == letter {
		return i + 1, true
	}
	if c.value >= 0 && c.value < utf8.RuneSelf && !isAlphanumeric(byte(c.value)) &&
		text[i] == byte(c.value) {
		return i + 1, true
	}
	return 0, false
}

// letters are those that stand for characters after a backslash.
var letters = map[rune]byte{
	'\a': 'a',
	'\b': 'b',
	'\f': 'f',
	'\n': 'n',
	'\r': 'r',
	'\t': 't',
	'\v': 'v',
	0:    '0',
	27:   'e',
}

// numbered matches a character that is written by its number, with what begins its escape:
// \u0026, \x26, \046 or %26.
func numbered(text string, i int, value rune, char string) (end int, ok bool) {
	if i < len(text) && text[i] == '%' {
		return percent(text, i, char)
	}
	after := skip(text, i)
	if after == i {
		return 0, false
	}
	if end, ok := unicode(text, after, value); ok {
		return end, true
	}
	return bytewise(text, after, char)
}

// unicode matches the number of a character after a backslash: u0026, U00000026, u{26}, x26, or
// two halves of UTF-16.
func unicode(text string, i int, value rune) (end int, ok bool) {
	if value < 0 || i >= len(text) {
		return 0, false
	}
	switch text[i] {
	case 'u':
		if i+1 < len(text) && text[i+1] == '{' {
			n, end := number(text, i+2, 6, 16)
			return end + 1, n == value && end < len(text) && text[end] == '}'
		}
		n, end := number(text, i+1, 4, 16)
		if n == value && end == i+5 {
			return end, true
		}
		if !utf16.IsSurrogate(n) {
			return 0, false
		}
		low := skip(text, end)
		if low == end || low == len(text) || text[low] != 'u' {
			return 0, false
		}
		m, end := number(text, low+1, 4, 16)
		return end, end == low+5 && utf16.DecodeRune(n, m) == value
	case 'U':
		n, end := number(text, i+1, 8, 16)
		return end, n == value && end == i+9
	case 'x':
		n, end := number(text, i+1, 2, 16)
		return end, n == value && end == i+3
	}
	return 0, false
}

// bytewise matches the numbers of all bytes of a character, the first one after its backslash:
// xC3\xA9 or 303\251.
func bytewise(text string, i int, char string) (end int, ok bool) {
	for k := range len(char) {
		if k > 0 {
			after := skip(text, i)
			if after == i {
				return 0, false
			}
			i = after
		}
		var n rune
		if i < len(text) && text[i] == 'x' {
			n, end = number(text, i+1, 2, 16)
			ok = end == i+3
		} else {
			n, end = number(text, i, 3, 8)
			ok = end == i+3
		}
		if !ok || n != rune(char[k]) {
			return 0, false
		}
		i = end
	}
	return i, true
}

// percent matches a character in a URL: %26, or %2526 if the URL is in another one.
func percent(text string, i int, char string) (end int, ok bool) {
	for k := range len(char) {
		if i >= len(text) {
			return 0, false
		}
		if k > 0 && text[i] == char[k] {
			i++
			continue
		}
		if text[i] != '%' {
			return 0, false
		}
		i++
		n, end := number(text, i, 2, 16)
		for again := 0; again < maxEscapes && n == '%' && char[k] != '%' && end == i+2; again++ {
			i = end
			n, end = number(text, i, 2, 16)
		}
		if end != i+2 || n != rune(char[k]) {
			return 0, false
		}
		i = end
	}
	return i, true
}

// number reads a number of at most so many digits. It returns -1 if there are none.
func number(text string, i, digits int, base rune) (n rune, end int) {
	end = i
	for end < len(text) && end-i < digits {
		d := rune(-1)
		switch c := text[end]; {
		case '0' <= c && c <= '9':
			d = rune(c - '0')
		case 'a' <= c && c <= 'f':
			d = rune(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = rune(c-'A') + 10
		}
		if d < 0 || d >= base {
			break
		}
		n = n*base + d
		end++
	}
	if end == i {
		return -1, i
	}
	return n, end
}
