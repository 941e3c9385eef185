package compaction

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// terms returns the words of a query, each once and at most 64 of them, in lower case.
func terms(query string) []string {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), 64)]
}

// search finds the events that have most of some words, and the rarest.
type search struct {
	words []string
	in    []int // of how many events each word is
	all   int
	hits  []hit
}

type hit struct {
	seq  int64
	mask uint64 // which words
}

// add takes in an event. Without words, each is a hit.
func (s *search) add(seq int64, text string) {
	h := hit{seq: seq}
	text = strings.ToLower(text)
	for i, w := range s.words {
		if strings.Contains(text, w) {
			h.mask |= 1 << i
			s.in[i]++
		}
	}
	s.all++
	if h.mask != 0 || len(s.words) == 0 {
		s.hits = append(s.hits, h)
	}
}

// best returns the positions of the best so many hits, and of those left out that have as many of the words, ascending.
func (s *search) best(most int) (chosen, left []int64) {
	score := func(h hit) (sum float64) {
		for i := range s.words {
			if h.mask&(1<<i) != 0 {
				sum += math.Log(1 + float64(s.all)/float64(s.in[i]))
			}
		}
		return sum
	}
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Compare(score(b), score(a)) })
	for i, h := range s.hits {
		if i < most {
			chosen = append(chosen, h.seq)
		} else if score(h) == score(s.hits[most-1]) {
			left = append(left, h.seq)
		}
	}
	slices.Sort(chosen)
	slices.Sort(left)
	return chosen, left
}
