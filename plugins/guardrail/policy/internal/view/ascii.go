package view

import (
	"unicode"
	"unicode/utf8"
)

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ascii returns the ASCII character that a character is read as, or nothing if it is not seen.
func ascii(r rune) (string, bool) {
	switch {
	case r < utf8.RuneSelf:
		return string(r), true
	case removed(r):
		return "", true
	case 0x1f150 <= r && r <= 0x1f169: // in black circles
		return string('A' + r - 0x1f150), true
	case 0x1f170 <= r && r <= 0x1f189: // in black squares
		return string('A' + r - 0x1f170), true
	case 0x1f1e6 <= r && r <= 0x1f1ff: // in flags
		return string('A' + r - 0x1f1e6), true
	case 0x2776 <= r && r <= 0x277e, 0x2780 <= r && r <= 0x2788, 0x278a <= r && r <= 0x2792: // in circles, black and without serifs
		return string('1' + (r-0x2776)%10), true
	}
	if c, ok := lookalikes()[r]; ok {
		return c, true
	}
	if unicode.Is(unicode.Zs, r) {
		return " ", true
	}
	return digit(r)
}

// digit folds a decimal digit: Unicode has them in tens, each beginning at zero.
func digit(r rune) (string, bool) {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return string('0' + (r-rune(t.Lo))%10), true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return string('0' + (r-rune(t.Lo))%10), true
		}
	}
	return "", false
}

// removed says whether nothing is seen of a character, or it is a mark on another of no script of
// its own.
func removed(r rune) bool {
	switch {
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r), r == '\u0085':
		return false
	case unicode.Is(unicode.Mn, r):
		return unicode.Is(unicode.Inherited, r) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
			unicode.Is(unicode.Variation_Selector, r)
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Me,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
