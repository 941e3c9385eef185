package extract

import (
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

// answeredBy reports whether a sentence is a question that the next one answers.
func (s sentence) answeredBy(next sentence) bool {
	return s.asks() && s.author != next.author && s.day == next.day && !s.byTool() && !next.byTool()
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

// withoutRepeats returns sentences without those that the same author says again later, in the same words. A
// question and its answer repeat only together, and so do the sentences about a person.
func withoutRepeats(all []sentence) []sentence {
	repeated := make([]bool, len(all))
	heard := map[uint64]bool{}
	for end := len(all); end > 0; {
		from := end - 1
		for from > 0 && together(all[from-1], all[from]) {
			from--
		}
		hash := key("")
		for _, s := range all[from:end] {
			hash = s.addTo(hash)
		}
		for i := from; i < end; i++ {
			repeated[i] = heard[hash]
		}
		heard[hash] = true
		end = from
	}
	left := make([]sentence, 0, len(all))
	for i, s := range all {
		if !repeated[i] {
			left = append(left, s)
		}
	}
	return left
}

// addTo adds to a hash who says a sentence, and its words. Capitals, blanks, quotation marks, apostrophes,
// and the points at the end do not count.
func (s sentence) addTo(hash uint64) uint64 {
	hash ^= key(s.author)
	for _, r := range strings.TrimRight(s.text, ".!… ") {
		switch r {
		case ' ', '"', '“', '”', '\'', '’':
			continue
		}
		hash = (hash ^ uint64(unicode.ToLower(r))) * fnvPrime
	}
	return hash
}

// firstWord returns the first word of a sentence in lower case.
func (s sentence) firstWord() string {
	first, _, _ := strings.Cut(s.text, " ")
	return plain(strings.Trim(first, "\"“«(,.!?"))
}

const shortAnswer = 6

// together reports whether a sentence means little without the one before it: it answers that one, or begins
// with a word for a person, such as "she", whom that one names.
func together(before, s sentence) bool {
	if before.answeredBy(s) {
		first := s.firstWord()
		return strings.Count(s.text, " ") < shortAnswer || pronouns[first] || shortAnswers[first]
	}
	return s.sameText(before) && !s.byTool() && persons[s.firstWord()]
}
