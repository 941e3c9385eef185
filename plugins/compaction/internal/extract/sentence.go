package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence is what the prose is made of. It is kept as it was said, or left out.
type sentence struct {
	author  string // for a tool, its name and "()"
	day     string // 2006-01-02, "" if the time is not known
	text    string // one line, with its punctuation
	long    bool   // it is from a long text, which somebody has probably pasted
	answers bool   // another author asked something before it
}

// byTool reports whether a sentence is from a call or a response.
func (s sentence) byTool() bool { return strings.HasSuffix(s.author, "()") }

// asks reports whether a sentence is a question.
func (s sentence) asks() bool {
	text := strings.TrimRight(s.text, "\"”»)'’! .")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// longestSentence is how many words a sentence may have. A longer one, such as a table, is cut.
const longestSentence = 80

// closing are the characters that may stand behind the end of a sentence and belong to it.
const closing = ".!?…。！？\"”»)'’"

// sentences cuts a text of one line into its sentences.
func sentences(text string) (list []string) {
	start := 0
	words := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		end := i + n
		switch r {
		case ' ':
			words++
			if words < longestSentence {
				i = end
				continue
			}
		case '.', '!', '?', '…', '。', '！', '？':
			rest := strings.TrimLeft(text[end:], closing)
			end = len(text) - len(rest)
			ends := rest == "" || rest[0] == ' ' || r > 0x3000
			if !ends || goesOn(text[start:i], r, text[i+n:]) {
				i += n
				continue
			}
		default:
			i = end
			continue
		}
		list = appendSentence(list, text[start:end])
		start = end
		words = 0
		i = end
	}
	return appendSentence(list, text[start:])
}

// appendSentence appends a sentence. What has no word belongs to the sentence before.
func appendSentence(list []string, text string) []string {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return list
	case !strings.ContainsFunc(text, beginsWord):
		if len(list) > 0 {
			list[len(list)-1] += " " + text
		}
		return list
	}
	return append(list, finished(text))
}

// finished returns a text with a point at its end, if it ends with a letter or a digit.
func finished(text string) string {
	last, _ := utf8.DecodeLastRuneInString(text)
	if (unicode.IsLetter(last) || unicode.IsDigit(last)) && !Wide(last) {
		return text + "."
	}
	return text
}

// goesOn reports whether a mark behind a text does not end the sentence: it is the point of an abbreviation,
// of an initial or of a German date, or a small letter follows the mark as in "No!" he said.
func goesOn(text string, mark rune, next string) bool {
	if strings.HasPrefix(next, ",") {
		return true
	}
	next = strings.TrimLeft(next, closing+" (+#")
	after, _ := utf8.DecodeRuneInString(next)
	if mark != '.' {
		return mark != '?' && mark < 0x3000 && unicode.IsLower(after)
	}
	last := text[strings.LastIndexAny(text, " (\"“")+1:]
	final := last[strings.LastIndexByte(last, '.')+1:]
	first, _ := utf8.DecodeRuneInString(final)
	isInitial := len(final) == utf8.RuneLen(first)
	goesOnSmall := unicode.IsLower(after) || unicode.IsDigit(after)
	last = strings.ToLower(last)
	switch {
	case isInitial && unicode.IsUpper(first):
		return last != "i"
	case len(last) <= 2 && strings.Trim(last, "0123456789") == "":
		month, _, _ := strings.Cut(next, " ")
		return germanMonths()[strings.TrimRight(strings.ToLower(month), closing)]
	case isInitial && len(final) < len(last), abbreviations()[last]:
		return goesOnSmall
	}
	return titles()[last]
}

// withoutRepeats returns sentences without those that the same author says again later, in the same words.
func withoutRepeats(all []sentence) []sentence {
	type said struct{ author, text string }
	left := make([]sentence, 0, len(all))
	heard := make(map[said]bool, len(all))
	for _, s := range slices.Backward(all) {
		key := said{s.author, strings.TrimRight(s.text, ".!… ")}
		if !heard[key] {
			left = append(left, s)
		}
		heard[key] = true
	}
	slices.Reverse(left)
	return left
}
