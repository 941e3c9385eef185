package extract

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// maxRanked is how many sentences are ranked at most: more than a summary has room for. The time grows with
// its square.
const maxRanked = 4096

// A candidate is a sentence that may be kept.
type candidate struct {
	sentence
	terms    []term
	length   float64 // in runes, with what is written around it
	adjacent bool    // a neighbour from the same text is chosen
	round    int     // how many sentences were chosen when its gain was computed
}

// A term is a word of a sentence, by its number, with its information.
type term struct {
	number int
	info   float64
}

// never is the gain of a candidate that is chosen already, or not ranked.
const never = -1

// ranking chooses sentences. It always takes the one next that adds most information for its length,
// considering those that it has taken already.
type ranking struct {
	candidates []candidate
	gains      []float64 // information for each rune, by candidate
	known      []bool    // by the number of a term: a chosen sentence has it
}

// newRanking returns a ranking of the sentences of a State, before the first choice.
func (s *State) newRanking() *ranking {
	r := &ranking{
		candidates: make([]candidate, len(s.sentences)),
		gains:      make([]float64, len(s.sentences)),
	}
	terms := map[uint64]term{} // with the information that they have as they are
	var words []word
	for i, sen := range s.sentences {
		words = splitInto(words, sen.text)
		c := candidate{
			sentence: sen,
			terms:    make([]term, 0, len(words)),
			length:   float64(utf8.RuneCountInString(sen.text) + 4),
		}
		for _, w := range words {
			if w.term == 0 || s.terms.common(w.term) {
				continue
			}
			t, ok := terms[w.term]
			if !ok {
				t = term{number: len(terms), info: s.terms.idf(w.term)}
				terms[w.term] = t
			}
			if w.name || times[w.plain] {
				t.info *= exact
			}
			c.terms = append(c.terms, t)
		}
		r.candidates[i] = c
	}
	r.known = make([]bool, len(terms))
	order := make([]int, len(r.candidates))
	for i := range r.candidates {
		order[i] = i
		r.update(i, 0)
	}

	// Of a flood of sentences, only the best by themselves are ranked.
	if len(order) > maxRanked {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.gains[b], r.gains[a]) })
		for _, i := range order[maxRanked:] {
			r.gains[i] = never
		}
	}
	return r
}

// choose returns the indexes of sentences, best first. It stops when enough, which it asks now and then, says
// that those so far are more than needed.
func (r *ranking) choose(enough func([]int) bool) (order []int) {
	ask := 64
	for {
		if len(order) == ask {
			if enough(order) {
				return order
			}
			ask *= 2
		}

		// A gain only falls as sentences are chosen, but for those beside them, which are updated at once. So
		// the highest one is the best if it is up to date.
		best := highest(r.gains)
		if best < 0 {
			return order
		}
		if r.candidates[best].round != len(order) {
			r.update(best, len(order))
			continue
		}
		order = append(order, best)
		r.gains[best] = never
		for _, t := range r.candidates[best].terms {
			r.known[t.number] = true
		}
		for _, i := range []int{best - 1, best + 1} {
			ranked := i >= 0 && i < len(r.gains) && r.gains[i] != never
			if ranked && r.candidates[i].sameText(r.candidates[best].sentence) {
				r.candidates[i].adjacent = true
				r.update(i, len(order))
			}
		}
	}
}

// highest returns the index of the first of the highest gains, -1 if there is none.
func highest(gains []float64) int {
	best := -1
	most := float64(never)
	for i, g := range gains {
		if g > most {
			best = i
			most = g
		}
	}
	return best
}

// update computes the gain of a candidate.
func (r *ranking) update(i, round int) {
	c := &r.candidates[i]
	c.round = round
	info := 0.0
	for _, t := range c.terms {
		if r.known[t.number] {
			info += t.info * again
		} else {
			info += t.info
		}
	}
	if c.adjacent {
		info *= flow
	}
	r.gains[i] = info * c.weight / c.length
}
