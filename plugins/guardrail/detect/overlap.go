package detect

import (
	"cmp"
	"slices"
)

// settleAll appends all findings of a list except those that overlap a better one. The list is ordered by
// Start.
func settleAll(found, all []Finding) []Finding {
	for len(all) > 0 {
		n := cluster(all)
		found = settle(found, all[:n])
		all = all[n:]
	}
	return found
}

// uncut returns open or, if that is within a finding, the beginning of the finding. A text that is cut
// there cuts no finding in two.
func uncut(all []Finding, open int) int {
	for _, f := range slices.Backward(all) {
		if f.Start < open && open < f.End {
			open = f.Start
		}
	}
	return open
}

// cluster returns how many of the first findings form a chain in which each overlaps another.
func cluster(found []Finding) int {
	end := 0
	for i, f := range found {
		if i > 0 && f.Start >= end {
			return i
		}
		end = max(end, f.End)
	}
	return len(found)
}

// maxCluster bounds the work of settle, which grows with the square of the cluster. Only a text
// that was made for it has more overlaps.
const maxCluster = 64

// settle appends the findings of one cluster except those that overlap a better one. A cluster of more than
// maxCluster findings becomes a single finding, which covers all of them.
func settle(found, group []Finding) []Finding {
	if len(group) > maxCluster {
		whole := slices.MinFunc(group, rank)
		whole.Start = group[0].Start
		for _, f := range group {
			whole.End = max(whole.End, f.End)
		}
		return append(found, whole)
	}

	// The best come first, and take their place.
	before := len(found)
	slices.SortStableFunc(group, rank)
	for _, f := range group {
		overlaps := slices.ContainsFunc(found[before:], func(won Finding) bool {
			return f.Start < won.End && won.Start < f.End
		})
		if !overlaps {
			found = append(found, f)
		}
	}
	slices.SortFunc(found[before:], func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	return found
}

// rank compares two findings of which only one can stay, the better one first: the one with the higher
// score, then the longer one, then the one that begins earlier.
func rank(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(b.Score, a.Score),
		cmp.Compare(b.End-b.Start, a.End-a.Start),
		cmp.Compare(a.Start, b.Start),
	)
}
