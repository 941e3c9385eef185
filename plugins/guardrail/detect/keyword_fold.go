package detect

import (
	"unicode"
	"unicode/utf8"
)

// back is where the last n runes of a text begin, white space counting as one.
func back(text string, n int) int {
	for ; n > 0; n-- {
		r, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		for blank := size; unicode.IsSpace(r) && blank <= maxBlank; {
			if r, size = utf8.DecodeLastRuneInString(text); unicode.IsSpace(r) {
				text = text[:len(text)-size]
				blank += size
			}
		}
	}
	return len(text)
}

// cutRune is how many bytes at the end of a text are the beginning of a rune.
func cutRune(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// isWhole tells whether text[start:end] is not a part of a longer word.
func isWhole(text string, start, end int) bool {
	first, _ := utf8.DecodeRuneInString(text[start:end])
	last, _ := utf8.DecodeLastRuneInString(text[start:end])
	next, _ := utf8.DecodeRuneInString(text[end:])
	return !(isWordRune(first) && wordBefore(text, start)) && !(isWordRune(last) && isWordRune(next) || unicode.IsMark(next))
}

func wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return isWordRune(r)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord(byte(r))
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// fold is the same for all runes that differ in case only.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}
