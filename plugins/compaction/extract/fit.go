package extract

// fit returns those of the items, best first, that can be drawn within a budget: as many of the best as fit, and
// of the next few what fits besides. count(draw(result)) ≤ budget, if anything fits at all.
func fit[T any](items []T, budget int, count func(string) int, draw func([]T) string) []T {
	fits := func(t []T) bool { return count(draw(t)) <= budget }
	lo, hi := 0, len(items)
	for lo < hi {
		if mid := (lo + hi + 1) / 2; fits(items[:mid]) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for lo > 0 && !fits(items[:lo]) { // a count that is not monotone
		lo /= 2
	}
	kept := items[:lo:lo]
	const few = 4
	for i := lo + 1; i < min(lo+1+few, len(items)); i++ {
		if more := append(kept[:len(kept):len(kept)], items[i]); fits(more) {
			kept = more
		}
	}
	return kept
}
