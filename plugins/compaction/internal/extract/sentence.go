package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence is what the prose is made of. It is kept as it was said, or left out.
type sentence struct {
	author string  // for a tool, its name and "()"
	day    string  // 2006-01-02, "" if the time is not known
	text   string  // one line, with its punctuation
	long   bool    // it is from a long text, which somebody has probably pasted
	source int     // the number of the text that it is from, 0 if an earlier summary has it
	weight float64 // what its information counts, 0 if it is not weighed yet
}

// byTool reports whether a sentence is from a call or a response.
func (s sentence) byTool() bool { return strings.HasSuffix(s.author, "()") }

// asks reports whether a sentence is a question.
func (s sentence) asks() bool {
	text := strings.TrimRight(s.text, "\"”»)'’! .")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// sameText reports whether two neighbours are from one text that is not long. Of an earlier summary, it is
// enough that the sentences have the same author and day.
func (s sentence) sameText(other sentence) bool {
	return s.source == other.source && s.author == other.author && s.day == other.day && !s.long &&
		!other.long
}

// sentences returns the sentences of a text in one line. Words are those of the text.
func sentences(text string, words []word) (list []string) {
	start := 0
	for i, w := range words {
		end := len(text)
		if i+1 < len(words) {
			if words[i+1].sentence == w.sentence {
				continue
			}
			end = sentenceEnd(text, w.start+len(w.text), words[i+1].start)
		}
		list = append(list, finished(strings.TrimSpace(text[start:end])))
		start = end
	}
	return list
}

// sentenceEnd returns where a sentence ends, between its last word and the first word of the next one: behind
// its punctuation, and the quotation marks and brackets that follow directly.
func sentenceEnd(text string, from, to int) int {
	between := text[from:to]
	i := strings.LastIndexAny(between, ".?!…。！？")
	if i < 0 {
		return to
	}
	_, n := utf8.DecodeRuneInString(between[i:])
	rest := between[i+n:]
	space := strings.IndexByte(rest, ' ')
	if space < 0 {
		return from + i + n
	}
	return from + i + n + space
}

// finished returns a sentence with a point at its end, if it ends with a letter or a digit.
func finished(text string) string {
	last, _ := utf8.DecodeLastRuneInString(text)
	if (unicode.IsLetter(last) || unicode.IsDigit(last)) && !Wide(last) {
		return text + "."
	}
	return text
}

// withoutRepeats returns sentences without those that the same author says again later, in the same words.
func withoutRepeats(all []sentence) []sentence {
	left := make([]sentence, 0, len(all))
	heard := map[uint64]bool{}
	for _, s := range slices.Backward(all) {
		hash := s.hash()
		if !heard[hash] {
			left = append(left, s)
		}
		heard[hash] = true
	}
	slices.Reverse(left)
	return left
}

// hash returns a number for who says a sentence, and its words. Capitals, blanks, quotation marks,
// apostrophes, and the points at the end do not count.
func (s sentence) hash() uint64 {
	hash := key(s.author)
	for _, r := range strings.TrimRight(s.text, ".!… ") {
		switch r {
		case ' ', '"', '“', '”', '\'', '’':
			continue
		}
		hash = (hash ^ uint64(unicode.ToLower(r))) * fnvPrime
	}
	return hash
}
