package stats

import (
	"maps"
	"math/bits"
	"slices"
)

// A Spread says how values are spread. Where there are no values, all of it is 0.
//
// P50 and P95 are percentiles by nearest rank: the least value that is not below 50 % or 95 % of the values. Values of
// 512 and more are sorted into bins, so that memory does not grow with their number; a percentile of those is off by
// 0.2 % at most. (Times are counted in microseconds.) Count and Max are exact.
type Spread[T ~int64] struct {
	Count         int64
	P50, P95, Max T
}

// histogram counts values in bins: one for each value below 512, and above that 256 for each power of two. So it has at
// most 15,000 bins, whatever it counts.
type histogram struct {
	count, max int64
	bins       map[int]int64
}

// exactBits is the number of bits of a value that tell its bin.
const exactBits = 9

// add counts a value, one below 0 as 0.
func (h *histogram) add(v int64) {
	v = max(v, 0)
	if h.bins == nil {
		h.bins = map[int]int64{}
	}
	h.bins[binOf(v)]++
	h.count++
	h.max = max(h.max, v)
}

// binOf returns the bin of a value: the value itself while it is small, else its length and its first bits.
func binOf(v int64) int {
	shift := max(0, bits.Len64(uint64(v))-exactBits)
	return shift<<(exactBits-1) + int(v>>shift)
}

// middleOf returns the value in the middle of a bin.
func middleOf(bin int) int64 {
	shift := max(0, bin>>(exactBits-1)-1)
	least := int64(bin-shift<<(exactBits-1)) << shift
	return least + int64(1)<<shift/2
}

// at returns the value at a percentile.
func (h *histogram) at(percent int64) int64 {
	rank := (h.count*percent + 99) / 100
	for _, bin := range slices.Sorted(maps.Keys(h.bins)) {
		rank -= h.bins[bin]
		if rank <= 0 {
			return min(middleOf(bin), h.max)
		}
	}
	return 0
}

// spread returns what the histogram says, its values being so many units each.
func spread[T ~int64](h *histogram, unit T) Spread[T] {
	return Spread[T]{
		Count: h.count,
		P50:   T(h.at(50)) * unit,
		P95:   T(h.at(95)) * unit,
		Max:   T(h.max) * unit,
	}
}
