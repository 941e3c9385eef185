package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// A kind is what a value looks like. It tells how exact a later call needs the value, and whether the value
// explains itself.
type kind int

const (
	phrase kind = iota // prose, which no call needs word for word
	number             // 12, 3.5, $255, 06:00:00
	choice             // economy, one_way, true: one of a few words that a program knows
	name               // Mia, Sunset Drive
	date               // 2024-05-20, 2024-05-20T15:00:00Z
	code               // SEA: capitals only
	ident              // HAT069, mia_li_3668, a@b.org, https://…
)

// worth says of each kind how likely it is, from 0 to 1, that a later call needs such a value and can get it
// from nowhere else. See the package comment.
var worth = [...]float64{
	phrase: 0.05,
	number: 0.15,
	choice: 0.3,
	name:   0.5,
	date:   0.8,
	code:   0.4,
	ident:  1,
}

// exact reports whether a value of the kind means the same thing wherever it occurs: HAT069 does, 12 does
// not.
func (k kind) exact() bool { return k >= name }

// bare reports whether a value of the kind is clear without its label.
func (k kind) bare() bool {
	return k == phrase || k == name || k == date || k == ident
}

// kindOf guesses the kind of a value from its characters.
func kindOf(v string) kind {
	if len(v) > 120 || strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
		return phrase
	}
	var digits, lowers, uppers, blanks, colons, dashes, ats, controls, others int
	for i := 0; i < len(v); i++ { // bytes are enough: others counts those of characters beyond ASCII
		switch c := v[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z':
			lowers++
		case 'A' <= c && c <= 'Z':
			uppers++
		case c == ' ':
			blanks++
		case c < ' ':
			controls++
		case c == ':':
			colons++
		case c == '-' || c == '/':
			dashes++
		case c == '@' || c == '\\':
			ats++
		case strings.IndexByte(".,+%$", c) >= 0:
		default:
			others++
		}
	}
	letters := lowers + uppers
	switch {
	case blanks > 5 || controls > 0:
		return phrase
	case digits > 0 && letters == 0 && others <= 3 && blanks == 0 && ats == 0:
		// No letters. Up to three other bytes may be a currency sign: £ has two bytes, € has three.
		switch {
		case dashes == 2 && digits >= 6 && colons == 0:
			return date
		case colons > 0 && dashes == 0:
			return number
		case dashes >= 1 && v[0] != '-', digits >= 5 && digits == len(v):
			return ident // such numbers are not for calculating
		}
		return number
	case digits >= 8 && dashes == 2 && letters <= 2 && blanks <= 1 && v[0] <= '9':
		return date
	case blanks == 0 && letters > 0 && (digits > 0 || ats > 0 || dashes > 1):
		return ident
	case blanks == 0 && uppers > 1 && lowers == 0 && others == 0:
		if uppers > 4 {
			return ident
		}
		return code
	case blanks == 0 && uppers == 0 && lowers > 0:
		return choice
	}
	first, _ := utf8.DecodeRuneInString(v)
	if blanks <= 4 && (unicode.IsUpper(first) || digits > 0) {
		return name
	}
	if blanks == 0 && utf8.RuneCountInString(v) <= 20 {
		return name // perhaps in another script
	}
	return phrase
}

// loose matches numbers that say nothing without the words beside them: 4th, 1990s, 5pm, 10k, 2019-2020,
// 30-60, 24/7.
var loose = lazyregexp.New(
	`^\d{1,4}(?:\.\d+)?(?:ms|µs|ns|st|nd|rd|th|s|am|pm|k|m|x|h|d|km|kg|mg|ml|cm|mm|GB|MB)$|^(?:19|20)\d\d[-/](?:19|20)?\d\d$|^\d{1,3}-\d{1,3}$|^\d{1,2}/\d{1,2}$`,
)

// letters reports whether a text has letters only.
func letters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
}

// literals returns the exact values in a text: identifiers, codes with digits, dates, amounts.
func literals(text string) (found []string) {
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>(){}[]|;\"`", r) }) {
		if label, value, ok := strings.Cut(f, "="); ok && letters(label) {
			f = value
		}
		f = strings.Trim(f, "\"'`“”‘’()[]{}<>*_.,;:!?…")
		f = strings.TrimSuffix(strings.TrimSuffix(f, "'s"), "’s")
		if len(f) < 3 || len(f) > 120 {
			continue
		}
		switch kindOf(f) {
		case ident, date:
			if loose.MatchString(f) {
				continue
			}
			if strings.ContainsAny(f, "0123456789@") || strings.Contains(f, "://") {
				found = append(found, f)
			}
		case number: // an amount says what it is, and another number does not
			if strings.ContainsAny(f, "$€£¥") {
				found = append(found, f)
			}
		}
	}
	return found
}
