// Package words cuts texts into the words by which sessions are found. Every store has its words from here, so that
// each finds the same.
//
// A word is a run of letters, digits and the marks on them, in any script. Case counts for nothing, nor do accents
// and the vowel signs of Hebrew and Arabic: "Élan" and "elan" are one word, as are "Straße" and "STRASSE". The
// forms of one letter are one letter: "ﬁ" is "fi", and a full-width "Ａ" is "a". Of a long word the first
// [MaxLength] characters count.
//
// Scripts that do not part words by spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese and their like) have no
// words that a program could find without a dictionary, and in Korean endings stand on the word. There, each character
// is a word, and so is each pair of neighbours. A text that is looked for is cut into its pairs: "退款" finds a text
// with these two beside each other, wherever they stand. Thus "京都" is also found in "東京都".
//
// A new script without spaces: its range in the table of scripts. Stored indexes then need another version of the schema.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxLength is how many characters of a word count.
const MaxLength = 64

// Add adds the words of a text to a set.
func Add(set map[string]struct{}, text string) {
	each(text, func(word string, _ bool) { set[word] = struct{}{} })
}

// Wanted returns the words that a text must have to be found by a search for want, each once, in the order in which
// they come. It is empty if want has no letter and no digit.
func Wanted(want string) []string {
	var list []string
	seen := map[string]bool{}
	each(want, func(word string, paired bool) {
		if !paired && !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	})
	return list
}

// each calls yield with the words of a text. paired says of a character of a script without spaces that pairs which it
// is part of come as well, so that these say more.
func each(text string, yield func(word string, paired bool)) {
	if !ascii(text) {
		eachOf(norm.NFC.String(folded(strings.ToValidUTF8(text, "\ufffd"))), yield)
		return
	}
	begin := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && plain[text[i]] {
			if begin < 0 {
				begin = i
			}
			continue
		}
		if begin >= 0 {
			yield(strings.ToLower(text[begin:min(i, begin+MaxLength)]), false)
			begin = -1
		}
	}
}

// eachOf is each for a text that is folded.
func eachOf(text string, yield func(word string, paired bool)) {
	var word []byte    // of a script with spaces, as far as it is read
	length := 0        // its characters
	var chars []string // of a run in a script without spaces
	end := func() {
		if length > 0 {
			yield(string(word), false)
			word = word[:0]
			length = 0
		}
		for i, c := range chars {
			yield(c, len(chars) > 1)
			if i > 0 {
				yield(chars[i-1]+c, false)
			}
		}
		chars = chars[:0]
	}
	for _, r := range text {
		mark := unicode.IsMark(r)
		switch {
		case mark && len(chars) > 0:
			if last := &chars[len(chars)-1]; len(*last) < MaxLength {
				*last += string(r)
			}
		case mark && length == 0: // it is on nothing
		case spaceless(r):
			if length > 0 {
				end()
			}
			chars = append(chars, string(r))
		case mark || unicode.IsLetter(r) || unicode.IsNumber(r):
			if len(chars) > 0 {
				end()
			}
			if length < MaxLength {
				word = utf8.AppendRune(word, r)
			}
			length++
		default:
			end()
		}
	}
	end()
}

// folded returns a text without what does not count, decomposed.
func folded(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range norm.NFKD.String(text) {
		if ignored(r) {
			continue
		}
		if as, ok := spelled[r]; ok {
			b.WriteString(as)
			continue
		}
		b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
	}
	return b.String()
}

// spelled has letters that are spelled with others: as case folding does, or because they are not decomposed
// although people take them for a letter with an accent.
var spelled = map[rune]string{
	'ß': "ss", 'ẞ': "ss",
	'æ': "ae", 'Æ': "ae",
	'œ': "oe", 'Œ': "oe",
	'ø': "o", 'Ø': "o",
	'ł': "l", 'Ł': "l",
	'đ': "d", 'Đ': "d",
	'ħ': "h", 'Ħ': "h",
	'ŧ': "t", 'Ŧ': "t",
}

// ignored reports whether a character does not count, and does not end a word: accents, vowel signs of Hebrew and
// Arabic, the Arabic stroke that makes words longer, and characters that only say how others are shown.
func ignored(r rune) bool {
	switch {
	case r < 0x300:
		return r == 0xAD // a hyphen that is shown at the end of a line only
	case r <= 0x36F, // accents
		r >= 0x591 && r <= 0x5BD, r == 0x5BF, r == 0x5C1, r == 0x5C2, r == 0x5C4, r == 0x5C5, r == 0x5C7, // Hebrew
		r >= 0x610 && r <= 0x61A, r == 0x640, r >= 0x64B && r <= 0x65F, r == 0x670, // Arabic
		r >= 0x6D6 && r <= 0x6DC, r >= 0x6DF && r <= 0x6E4, r == 0x6E7, r == 0x6E8, r >= 0x6EA && r <= 0x6ED,
		r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF, r >= 0x20D0 && r <= 0x20FF, // more accents
		r >= 0xFE00 && r <= 0xFE0F, r >= 0xFE20 && r <= 0xFE2F, r >= 0xE0100 && r <= 0xE01EF: // variants, half accents
		return true
	}
	const zeroWidthSpace = 0x200B
	return r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}

// withoutSpaces are the scripts whose words are not found by spaces.
var withoutSpaces = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Yi,
	unicode.Javanese, unicode.Balinese,
}

// spaceless reports whether a character is a letter or digit of such a script.
func spaceless(r rune) bool {
	const longVowel = 'ー' // of Hiragana and Katakana
	if r < 0xE00 {
		return false
	}
	return r == longVowel || unicode.In(r, withoutSpaces...) && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain has the letters and digits of ASCII.
var plain = func() (is [256]bool) {
	for _, c := range "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		is[c] = true
	}
	return is
}()
