package extract

// fit returns those of the items, best first, that can be drawn within a budget: as many of the best as fit, and
// of the next few what fits besides. count(draw(result)) ≤ budget, if anything fits at all.
func fit[T any](items []T, budget int, count func(string) int, draw func([]T) string) []T {
	size := func(n int) int { return count(draw(items[:n])) }
	lo, hi, low, high := 0, len(items), 0, size(len(items)) // lo fits and hi does not, of these sizes
	if high <= budget {
		return items
	}
	if low = size(0); low > budget {
		return nil
	}
	for step := 0; hi-lo > 1; step++ {
		mid := (lo + hi) / 2
		if step < 4 && high > low { // as if all were as long, and a little to the side that is less known
			mid = lo + int(float64(hi-lo)*float64(budget-low)/float64(high-low))
			if hi == len(items) || hi-mid > mid-lo {
				mid += 2
			} else {
				mid -= 2
			}
			mid = min(max(mid, lo+1), hi-1)
		}
		if n := size(mid); n <= budget {
			lo, low = mid, n
		} else {
			hi, high = mid, n
		}
	}
	kept := items[:lo:lo]
	const few = 3
	for i := lo + 1; i < min(lo+1+few, len(items)); i++ {
		if more := append(kept[:len(kept):len(kept)], items[i]); count(draw(more)) <= budget {
			kept = more
		}
	}
	return kept
}
