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
		k := key("")
		for _, l := range lines[from:end] {
			k = l.saying(k)
		}
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
	if !next.with(l) {
		return false
	}
	first, _, _ := strings.Cut(next.text, " ")
	return persons[plain(first)]
}

// open reports whether a line asks what the next one answers.
func (l line) open(next line) bool {
	return strings.HasSuffix(l.text, "?") && l.day == next.day && l.asks(next) && !next.byTool()
}

// saying adds to a hash who says a line, and what can be heard of it: not its capitals, blanks, quotation marks and apostrophes,
// nor the points at its end.
func (l line) saying(h uint64) uint64 {
	h ^= key(l.author)
	for _, r := range strings.TrimRight(l.text, ".!… ") {
		switch r {
		case ' ', '"', '“', '”', '\'', '’':
			continue
		}
		h = (h ^ uint64(unicode.ToLower(r))) * fnvPrime
	}
	return h
}
