package detect

import (
	"cmp"
	"slices"
)

// settleAll appends what remains of findings that are ordered by Start and may overlap: of each cluster those that win.
func settleAll(found, all []Finding) []Finding {
	for len(all) > 0 {
		n := cluster(all)
		found = settle(found, all[:n])
		all = all[n:]
	}
	return found
}

// uncut is the place before open where no such finding is cut: where text is settled, and none reaches beyond.
func uncut(all []Finding, open int) int {
	for _, f := range slices.Backward(all) {
		if f.Start < open && open < f.End {
			open = f.Start
		}
	}
	return open
}

// cluster is how many findings at the beginning hang together by overlaps.
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

// maxCluster bounds the work of settling; a text with more overlaps than that was made for it.
const maxCluster = 64

// settle appends those of a cluster that win: the surer, then the longer, then the earlier. A cluster that is too
// large becomes one finding, so that nothing of it is left out.
func settle(found, group []Finding) []Finding {
	before := len(found)
	if len(group) > maxCluster {
		whole := slices.MinFunc(group, rank)
		whole.Start = group[0].Start
		for _, f := range group {
			whole.End = max(whole.End, f.End)
		}
		return append(found, whole)
	}
	slices.SortStableFunc(group, rank)
next:
	for _, f := range group {
		for _, won := range found[before:] {
			if f.Start < won.End && won.Start < f.End {
				continue next
			}
		}
		found = append(found, f)
	}
	slices.SortFunc(found[before:], func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	return found
}

// rank puts the winner first.
func rank(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.End-b.Start, a.End-a.Start), cmp.Compare(a.Start, b.Start))
}
