package view

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeRun appends what scan found to b, which has nothing in it, decoded.
func decodeRun(b []byte, s string, k kind) []byte {
	switch k {
	case entityKind:
		return append(b, html.UnescapeString(s)...)
	case percentKind, hexKind, pairsKind:
		return hexBytes(b, s)
	case backslashKind:
		return unescape(b, s)
	case spacedKind, spacedWordKind:
		if k == spacedWordKind {
			b = append(b, ' ')
		}
		for i := range len(s) {
			if isWord(s[i]) {
				b = append(b, s[i])
			}
		}
		return b
	}
	return base64Bytes(b, s)
}

// base64Bytes decodes the base64 characters among others.
func base64Bytes(b []byte, s string) []byte {
	var bits uint32
	n := 0
	for i := range len(s) {
		six := sixes[s[i]]
		if six == 0xff {
			continue
		}
		bits = bits<<6 | uint32(six)
		n++
		if rest := n % 4; rest != 1 {
			b = append(b, byte(bits>>((4-rest)%4*2)))
		}
	}
	if len(b) > 1 && b[1] == 0 {
		b = narrow(b)
	}
	return b
}

// hexBytes decodes the hex digits among others, two by two, without 0x.
func hexBytes(b []byte, s string) []byte {
	for i := 0; i+1 < len(s); {
		hi := nibbles[s[i]]
		lo := nibbles[s[i+1]]
		if hi|lo > 15 {
			if hi == 0 && s[i+1]|0x20 == 'x' {
				i++
			}
			i++
			continue
		}
		b = append(b, hi<<4|lo)
		i += 2
	}
	if len(b) > 1 && b[1] == 0 {
		b = narrow(b)
	}
	return b
}

// narrow keeps every second byte: of UTF-16 with ASCII letters, these are the letters.
func narrow(b []byte) []byte {
	low := b[:0]
	for i := 0; i < len(b); i += 2 {
		low = append(low, b[i])
	}
	return low
}

func unescape(b []byte, s string) []byte {
	switch {
	case simple[s[1]] != 0:
		return utf8.AppendRune(b, rune(simple[s[1]]))
	case s[1] == 'x':
		for ; s != ""; s = s[4:] {
			b = append(b, nibbles[s[2]]<<4|nibbles[s[3]])
		}
		return b
	case s[1] == 'u' && len(s) == 12 && s[2] != '{':
		return utf8.AppendRune(b, utf16.DecodeRune(unit(s), unit(s[6:])))
	}
	base := rune(16)
	digits := strings.Trim(s[2:], "{}")
	if s[1] <= '3' {
		base = 8
		digits = s[1:]
	}
	var r rune
	for _, c := range []byte(digits) {
		r = r*base + rune(nibbles[c])
	}
	return utf8.AppendRune(b, r)
}
