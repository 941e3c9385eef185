package view

import (
	"html"
	"unicode/utf8"
)

// decodeRun appends what scan found to b, which has nothing in it, decoded.
func decodeRun(b []byte, s string, v verdict) []byte {
	switch v.kind {
	case entityKind:
		return append(b, html.UnescapeString(s)...)
	case percentKind, hexKind, pairsKind:
		return hexBytes(b, s)
	case backslashKind:
		return utf8.AppendRune(b, v.char)
	case spacedKind, spacedWordKind:
		if v.kind == spacedWordKind {
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
