package store

import (
	"slices"

	"github.com/plughook/plughook/session"
)

// Spans are the positions of a live view. Stores keep them so that reading the live view reads nothing
// else. The zero Spans are those of an empty log; appends of ordinary events do not change them.
//
// A store keeps the spans after each compaction and each rewind. A rewind to position n starts from the last
// spans at or before n (see Rewind); nothing else of the log is read for it.
type Spans struct {
	// Head is the position of the compaction that heads the view, 0 if there is none.
	Head int64 `json:"head,omitzero"`
	// Keep are the positions that Head keeps, ascending.
	Keep []int64 `json:"keep,omitzero"`
	// Tail are the ranges of positions after what Head covers, first and last of each, ascending.
	Tail [][2]int64 `json:"tail,omitzero"`
	// Open says that every position from it on is part of the view too. 0 means 1.
	Open int64 `json:"open,omitzero"`
}

// Compact returns the spans after the compaction c at position seq.
func (s Spans) Compact(seq int64, c *session.Compaction) Spans {
	next := Spans{Head: seq, Keep: slices.Clone(c.Keep), Open: seq + 1}
	for _, r := range s.close(seq - 1).Tail {
		if r[1] > c.Through {
			next.Tail = append(next.Tail, [2]int64{max(r[0], c.Through+1), r[1]})
		}
	}
	return next
}

// Rewind returns the spans after a rewind at position seq to position to. s must be the spans at the
// last compaction or rewind at or before to, zero if there is none.
func (s Spans) Rewind(seq, to int64) Spans {
	next := s.close(to)
	next.Open = seq + 1
	return next
}

// Ranges returns the view's ranges of positions, first and last of each, in the order of the view,
// given the position of the last event. Neighbours are merged.
func (s Spans) Ranges(last int64) [][2]int64 {
	var list [][2]int64
	add := func(from, to int64) {
		if n := len(list); n > 0 && list[n-1][1]+1 == from {
			list[n-1][1] = to
			return
		}
		list = append(list, [2]int64{from, to})
	}
	if s.Head != 0 {
		add(s.Head, s.Head)
	}
	for _, k := range s.Keep {
		add(k, k)
	}
	for _, r := range s.close(last).Tail {
		add(r[0], r[1])
	}
	return list
}

// Select returns the ranges that a selection can be of, given the position of the last event: its Live, After
// and, without Since, Last are looked at. What is left to the store is Since, and Last after it.
func (s Spans) Select(last int64, sel session.Selection) [][2]int64 {
	ranges := [][2]int64{{1, last}}
	if sel.Live {
		ranges = s.Ranges(last)
	}
	for i := range ranges {
		ranges[i][0] = max(ranges[i][0], sel.After+1, 1)
	}
	ranges = slices.DeleteFunc(ranges, func(r [2]int64) bool { return r[0] > r[1] })
	if sel.Last > 0 && sel.Since.IsZero() {
		ranges = Last(ranges, int64(sel.Last))
	}
	return ranges
}

// Last returns the last n positions of ranges.
func Last(ranges [][2]int64, n int64) [][2]int64 {
	for i, r := range slices.Backward(ranges) {
		size := r[1] - r[0] + 1
		if size >= n {
			rest := slices.Clone(ranges[i:])
			rest[0][0] = r[1] - n + 1
			return rest
		}
		n -= size
	}
	return ranges
}

// Has reports whether the live view has the event at position seq, given the position of the last event.
func (s Spans) Has(seq, last int64) bool {
	return slices.ContainsFunc(s.Ranges(last), func(r [2]int64) bool { return r[0] <= seq && seq <= r[1] })
}

// close returns the spans with the open range ended at position last.
func (s Spans) close(last int64) Spans {
	s.Tail = slices.Clone(s.Tail)
	open := max(s.Open, 1)
	if open <= last {
		if n := len(s.Tail); n > 0 && s.Tail[n-1][1]+1 == open {
			s.Tail[n-1][1] = last
		} else {
			s.Tail = append(s.Tail, [2]int64{open, last})
		}
	}
	s.Open = last + 1
	return s
}
