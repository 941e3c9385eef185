package view

import "unicode/utf8"

// A reading takes bytes one by one and reports whether they are still text: UTF-8 without control
// characters but tab and line ends, or UTF-16 of ASCII, low byte first.
type reading struct {
	n      int // bytes taken
	want   int // continuation bytes to come
	narrow bool
	wide   bool
	lead   byte
}

func (r *reading) take(b byte) bool {
	r.n++
	switch {
	case r.n == 2 && b == 0 && r.narrow:
		r.wide = true
		return true
	case r.wide:
		if r.n%2 == 0 {
			return b == 0
		}
		return printable(b)
	case r.want > 0:
		first := r.lead
		r.lead = 0
		if b&0xc0 != 0x80 || first == 0xc2 && b < 0xa0 || first == 0xe0 && b < 0xa0 ||
			first == 0xed && b > 0x9f || first == 0xf0 && b < 0x90 || first == 0xf4 && b > 0x8f {
			return false
		}
		r.want--
		return true
	case b < utf8.RuneSelf:
		r.narrow = r.n == 1
		return printable(b)
	case b < 0xc2 || b > 0xf4:
		return false
	}
	r.lead = b
	r.want = 1
	if b >= 0xe0 {
		r.want++
	}
	if b >= 0xf0 {
		r.want++
	}
	return true
}

// hex takes the byte that two hex digits stand for, at the beginning of a text.
func (r *reading) hex(text string) bool {
	high := nibbles[text[0]]
	low := nibbles[text[1]]
	return high|low <= 15 && r.take(high<<4|low)
}

// done reports whether the bytes that were read end at the end of a character.
func (r *reading) done() bool {
	return r.want == 0 && !(r.wide && r.n%2 == 1)
}

func printable(b byte) bool {
	return ' ' <= b && b <= '~' || b == '\t' || b == '\n' || b == '\r'
}

func printableRune(r rune) bool {
	return r < utf8.RuneSelf && printable(byte(r)) || r >= 0xa0 && utf8.ValidRune(r)
}
