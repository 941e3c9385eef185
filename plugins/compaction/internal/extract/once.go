package extract

import (
	"strings"
	"unicode"
)

// repeats reports of each line whether a later one says the same again: the same author, in the same words. Lines that mean
// nothing without each other repeat only together.
func repeats(lines []line) []bool {
	gone := make([]bool, len(lines))
	said := map[uint64]bool{}
	for end := len(lines); end > 0; {
		from := end - 1
		for from > 0 && lines[from-1].linked(lines[from]) {
			from--
		}
		var b strings.Builder
		for _, l := range lines[from:end] {
			b.WriteString(l.author)
			b.WriteByte(0)
			b.WriteString(spoken(l.text))
			b.WriteByte(0)
		}
		k := key(b.String())
		for i := from; i < end; i++ {
			gone[i] = said[k]
		}
		said[k] = true
		end = from
	}
	return gone
}

// linked reports whether one of two neighbours means little without the other: a question and its answer, or a clause about
// "him" or "her" and the one before it.
func (l line) linked(next line) bool {
	if l.open(next) {
		return true
	}
	first, _, _ := strings.Cut(next.text, " ")
	return next.with(l) && persons[plain(first)]
}

// open reports whether a line asks what the next one answers.
func (l line) open(next line) bool {
	return strings.HasSuffix(l.text, "?") && l.day == next.day && l.asks(next) && !next.byTool()
}

// spoken returns what of a text can be heard: it has no capitals, quotation marks or apostrophes, and no points at its end.
func spoken(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"“”'’ ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, strings.TrimRight(text, ".!… "))
}
