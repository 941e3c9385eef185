package guardrail

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// spaced returns a text with a space at each of its gaps.
func spaced(text string, gaps []int) string {
	if len(gaps) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, gap := range gaps {
		b.WriteString(text[at:gap])
		b.WriteByte(' ')
		at = gap
	}
	b.WriteString(text[at:])
	return b.String()
}

// closed returns where a place in a spaced text is in the text, 0 if it is before it.
func closed(place int, gaps []int) int {
	return max(0, place-sort.Search(len(gaps), func(i int) bool { return gaps[i]+i >= place }))
}

// uncovered returns those of the hits, in order, that are no part of one that is known, nor of one before them, of the
// same type and by the same detector. The work is that of sorting.
func uncovered(known, hits []hit) []hit {
	if len(hits) == 0 {
		return hits
	}
	byStart := func(a, b hit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) }
	known = slices.SortedStableFunc(slices.Values(known), byStart)
	slices.SortStableFunc(hits, byStart)
	type kind struct {
		detector int
		name     string
	}
	reach := map[kind]int{} // how far those go that begin before
	left := hits[:0]
	for _, h := range hits {
		for len(known) > 0 && known[0].Start <= h.Start {
			k := kind{known[0].detector, known[0].Type}
			reach[k], known = max(reach[k], known[0].End), known[1:]
		}
		if k := (kind{h.detector, h.Type}); reach[k] < h.End {
			reach[k] = h.End
			left = append(left, h)
		}
	}
	return left
}
