package detect

import (
	"cmp"
	"slices"
)

// settleAll appends findings that may overlap, but for those that overlap a better one. They are
// ordered by Start.
func settleAll(found, all []Finding) []Finding {
	for len(all) > 0 {
		n := cluster(all)
		found = settle(found, all[:n])
		all = all[n:]
	}
	return found
}

// uncut returns the last place up to open that no finding reaches over.
func uncut(all []Finding, open int) int {
	for _, f := range slices.Backward(all) {
		if f.Start < open && open < f.End {
			open = f.Start
		}
	}
	return open
}

// cluster returns how many of the first findings hang together by overlaps.
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

// settle appends the findings of a cluster, but for those that overlap a better one. A cluster that
// is too large becomes one finding, so that nothing of it is left out.
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

// rank orders findings: the surer before the less sure, then the longer before the shorter, then
// the earlier.
func rank(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(b.Score, a.Score),
		cmp.Compare(b.End-b.Start, a.End-a.Start),
		cmp.Compare(a.Start, b.Start),
	)
}
