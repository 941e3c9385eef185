package view

import (
	"html"
	"unicode/utf16"
	"unicode/utf8"
)

// longestEntity is how long an HTML entity may be, in bytes.
const longestEntity = 32

// percent judges one character in percent encoding.
func percent(text string, i int) verdict {
	return escaped(text, i, "%")
}

// escaped judges one character of which each byte is a prefix and two hex digits.
func escaped(text string, i int, prefix string) verdict {
	var r reading
	for at := i; ; at += len(prefix) + 2 {
		for n := range len(prefix) + 2 {
			switch {
			case at+n == len(text):
				return verdict{end: i + 1}
			case n < len(prefix) && text[at+n] != prefix[n], n >= len(prefix) && nibbles[text[at+n]] > 15:
				return verdict{end: i + 1, firm: true}
			}
		}
		d := at + len(prefix)
		if !r.hex(text[d:]) {
			return verdict{end: i + 1, firm: true}
		}
		if r.done() {
			return verdict{kind: percentKind, end: d + 2, firm: true}
		}
	}
}

// entity judges a character of HTML: &amp; &#38; &#x26; and, only if in numbers, without the
// semicolon.
func entity(text string, i int) verdict {
	at := i + 1
	for at < len(text) && at < i+longestEntity && (isWord(text[at]) || at == i+1 && text[at] == '#') {
		at++
	}
	number := at > i+2 && text[i+1] == '#'
	unended := at == len(text) && at < i+longestEntity
	switch {
	case at < len(text) && at > i+1 && at < i+longestEntity && text[at] == ';':
		at++
	case !number:
		return verdict{end: i + 1, firm: !unended}
	}
	if s := html.UnescapeString(text[i:at]); s != text[i:at] && isText(s) {
		return verdict{kind: entityKind, end: at, firm: !unended}
	}
	return verdict{end: i + 1, firm: !unended}
}

func isText(s string) bool {
	for _, r := range s {
		if !printableRune(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// backslash judges \x41, \u0041 (in pairs above U+FFFF), \u{41}, \U00000041, \101, and \n and its
// like: a word that stands behind a line's end in JSON begins there.
func backslash(text string, i int) verdict {
	if i+1 == len(text) {
		return verdict{end: i + 1}
	}
	switch c := text[i+1]; {
	case c == 'x':
		return escaped(text, i, `\x`)
	case c == 'U':
		return coded(text, i, i+2, 8, 16)
	case c == 'u' && i+2 < len(text) && text[i+2] == '{':
		v := coded(text, i, i+3, 0, 16)
		if v.kind != none {
			v.end++ // the brace
		}
		return v
	case c == 'u':
		v := coded(text, i, i+2, 4, 16)
		if i+6 <= len(text) && v.kind == none {
			return surrogates(text, i)
		}
		return v
	case '0' <= c && c <= '3':
		return coded(text, i, i+1, 3, 8)
	case simple[c] != 0:
		return verdict{kind: backslashKind, end: i + 2, firm: true, char: rune(simple[c])}
	}
	return verdict{end: i + 1, firm: true}
}

// simple has the characters that JSON, and most languages, write as a backslash and a letter or a
// mark.
var simple = [256]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': ' ', 'f': ' ', '"': '"', '/': '/',
	'\\': '\\'}

// coded judges a code point in digits from at on: so many, or up to six and a brace.
func coded(text string, i, at, digits int, base rune) verdict {
	most := digits
	if digits == 0 {
		most = 6
	}
	var r rune
	n := 0
	for ; n < most && at+n < len(text) && rune(nibbles[text[at+n]]) < base; n++ {
		r = r*base + rune(nibbles[text[at+n]])
	}
	if at+n == len(text) && (n < most || digits == 0) {
		return verdict{end: i + 1}
	}
	if n < digits || digits == 0 && (n == 0 || text[at+n] != '}') || !printableRune(r) {
		return verdict{end: i + 1, firm: true}
	}
	return verdict{kind: backslashKind, end: at + n, firm: true, char: r}
}

// surrogates judges \ud83d\ude00.
func surrogates(text string, i int) verdict {
	high := unit(text[i:])
	if !utf16.IsSurrogate(high) || high >= 0xdc00 {
		return verdict{end: i + 1, firm: true}
	}
	for n := range 6 {
		switch {
		case i+6+n == len(text):
			return verdict{end: i + 1}
		case n < 2 && text[i+6+n] != `\u`[n], n >= 2 && nibbles[text[i+6+n]] > 15:
			return verdict{end: i + 1, firm: true}
		}
	}
	r := utf16.DecodeRune(high, unit(text[i+6:]))
	if r == utf8.RuneError {
		return verdict{end: i + 1, firm: true}
	}
	return verdict{kind: backslashKind, end: i + 12, firm: true, char: r}
}

// unit reads \uXXXX, or returns -1.
func unit(text string) rune {
	var r rune
	for _, c := range []byte(text[2:6]) {
		if nibbles[c] > 15 {
			return -1
		}
		r = r<<4 | rune(nibbles[c])
	}
	return r
}
