package view

import (
	"strings"
	"unicode/utf8"
)

// hidden says whether a text holds characters that carry others unseen.
func hidden(text string) bool {
	// the first byte of them all
	for i := strings.IndexByte(text, 0xf3); i >= 0 && i < len(text); i++ {
		if secretAt(text, i) != "" {
			return true
		}
		next := strings.IndexByte(text[i+1:], 0xf3)
		if next < 0 {
			break
		}
		i += next
	}
	return false
}

// secretAt returns the ASCII character that the one at i carries unseen, "" if none: tag characters
// stand for themselves, and the variation selectors from 17 on for bytes, from 16.
func secretAt(text string, i int) string {
	if text[i] != 0xf3 {
		return ""
	}
	switch r, _ := utf8.DecodeRuneInString(text[i:]); {
	case 0xe0020 <= r && r <= 0xe007e:
		return visible[r-0xe0020:][:1]
	case 0xe0110 <= r && r <= 0xe016e:
		return visible[r-0xe0110:][:1]
	}
	return ""
}

// visible is the characters of ASCII that are seen, from the space on.
var visible = func() string {
	var all []byte
	for c := byte(' '); c <= '~'; c++ {
		all = append(all, c)
	}
	return string(all)
}()
