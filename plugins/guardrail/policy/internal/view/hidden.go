package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// rightToLeft is the character after which a text is shown backwards, up to the end of the line or
// the next such mark.
const rightToLeft = "\u202e"

// longestBackwards is how long a text may be that is read backwards, in bytes.
const longestBackwards = 128

// unseen returns what stands unseen at a place: a character that another one carries, apart from
// the word around it, or what is shown backwards. It has size bytes there; 0 if nothing does. Cut
// says that what follows the text could change that.
func unseen(text string, i int) (size int, becomes string, cut bool) {
	c := secretAt(text, i)
	if c != "" {
		_, size = utf8.DecodeRuneInString(text[i:])
		before := i > 0 && isWord(text[i-1])
		if before {
			c = " " + c
		}
		return size, c, false
	}
	if !strings.HasPrefix(text[i:], rightToLeft) {
		return 0, "", text[i] == rightToLeft[0] && strings.HasPrefix(rightToLeft, text[i:])
	}
	end := i + len(rightToLeft)
	var runes []rune
	for {
		if end == len(text) || !utf8.FullRuneInString(text[end:]) {
			cut = true
			break
		}
		r, n := utf8.DecodeRuneInString(text[end:])
		if r == '\n' || r == utf8.RuneError || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 ||
			r == 0x200e || r == 0x200f || end-i > longestBackwards {
			break
		}
		runes = append(runes, r)
		end += n
	}
	slices.Reverse(runes)
	return end - i, folded(string(runes)), cut
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

// visible has the printable characters of ASCII, from the space on.
var visible = func() string {
	var all []byte
	for c := byte(' '); c <= '~'; c++ {
		all = append(all, c)
	}
	return string(all)
}()
