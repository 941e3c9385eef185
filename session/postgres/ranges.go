package postgres

import (
	"slices"
	"sort"
)

// positions returns every position in the ranges.
func positions(ranges [][2]int64) []int64 {
	p, _ := take(ranges, size(ranges))
	return p
}

// runs returns a list of positions as ranges: where each begins and where it ends.
func runs(p []int64) (from, to []int64) {
	for _, seq := range p {
		if n := len(to); n > 0 && to[n-1]+1 == seq {
			to[n-1] = seq
		} else {
			from = append(from, seq)
			to = append(to, seq)
		}
	}
	return from, to
}

// size returns how many positions the ranges hold.
func size(ranges [][2]int64) (n int64) {
	for _, r := range ranges {
		n += r[1] - r[0] + 1
	}
	return n
}

// take returns the first n positions of the ranges, and the rest.
func take(ranges [][2]int64, n int64) (p []int64, rest [][2]int64) {
	p = make([]int64, 0, min(n, size(ranges)))
	for i, r := range ranges {
		for seq := r[0]; seq <= r[1]; seq++ {
			if int64(len(p)) == n {
				return p, append([][2]int64{{seq, r[1]}}, ranges[i+1:]...)
			}
			p = append(p, seq)
		}
	}
	return p, nil
}

// last returns the ranges' last n positions.
func last(ranges [][2]int64, n int64) [][2]int64 {
	for skip := size(ranges) - n; skip > 0; {
		if k := ranges[0][1] - ranges[0][0] + 1; k <= skip {
			ranges = ranges[1:]
			skip = skip - k
			continue
		}
		ranges = slices.Clone(ranges)
		ranges[0][0] += skip
		break
	}
	return ranges
}

// within returns the part of the ranges that is in a list of positions, which is ascending.
func within(ranges [][2]int64, list []int64) [][2]int64 {
	var out [][2]int64
	for _, r := range ranges {
		i := sort.Search(len(list), func(i int) bool { return list[i] >= r[0] })
		for ; i < len(list) && list[i] <= r[1]; i++ {
			if n := len(out); n > 0 && out[n-1][1]+1 == list[i] {
				out[n-1][1]++
			} else {
				out = append(out, [2]int64{list[i], list[i]})
			}
		}
	}
	return out
}
