package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// What the information of a sentence counts for what is in it: the product of the numbers that apply.
const (
	tells    = 1.5  // it tells something of its author, or of a time
	answers  = 2.0  // another author asked something before it
	question = 0.1  // it asks
	brought  = 0.1  // a tool said it, or somebody pasted it and it tells nothing of them
	listed   = 0.01 // it is code, or a row of a table or a log
	wanted   = 20.0 // it has a word that Stress has named; then it counts no less for any reason
)

// What the information of a word counts.
const (
	exact = 5.0 // it is a name, a number, or a word of time
	again = 0.2 // a chosen sentence has it
)

// flow is what a sentence counts if the one beside it, from the same author, is chosen.
const flow = 1.5

// prior is added to the number of sentences, so that the information of a word is nearly the same early and
// late in a session.
const prior = 1000

// weight returns what the information of a sentence with these words counts.
func (s *State) weight(sen sentence, words []word) float64 {
	self := false
	time := false
	isWanted := false
	names := 0
	for _, w := range words {
		self = self || speakers()[w.plain] && !sen.byTool()
		time = time || times()[w.plain]
		isWanted = isWanted || s.stressed[w.stem]
		if w.name {
			names++
		}
	}
	weight := 1.0
	if sen.asks() {
		weight *= question
	} else {
		if self {
			weight *= tells
		}
		if time {
			weight *= tells
		}
		if sen.answers {
			weight *= answers
		}
	}
	fromElsewhere := sen.long || sen.byTool()
	if fromElsewhere && !self {
		weight *= brought
	}
	isRow := fromElsewhere && 2*names >= len(words)
	if isRow || isCode(sen.text) {
		weight *= listed
	}
	if isWanted {
		weight = max(1, weight) * wanted
	}
	return weight
}

// isCode reports whether many characters of a text are marks that code and tables have.
func isCode(text string) bool {
	marks := 0
	for _, r := range text {
		if strings.ContainsRune("{}|=<>\\/_`#*~^&@+()", r) {
			marks++
		}
	}
	return marks >= 3 && marks*16 > utf8.RuneCountInString(text)
}

// markAnswers notes which sentences follow a question of another author.
func markAnswers(list []sentence) {
	asked := false // by the author before
	asks := false
	for i := range list {
		s := &list[i]
		if i > 0 && s.author != list[i-1].author {
			asked = asks
			asks = false
		}
		s.answers = s.answers || asked && !s.long && !s.byTool()
		asks = asks || s.asks() && !s.byTool()
	}
}

// maxRanked is how many sentences are ranked at most: more than a summary has room for. The time grows with
// its square.
const maxRanked = 4096

// A candidate is a sentence that may be kept.
type candidate struct {
	sentence
	terms    []term
	weight   float64 // for each character, with what is written around the sentence
	adjacent bool    // a neighbour from the same author is chosen
	round    int     // how many sentences were chosen when its gain was computed
}

// A term is a word of a sentence.
type term struct {
	number int     // of the stem
	weight float64 // what its information counts
}

// never is the gain of a candidate that is chosen already, or not ranked.
const never = -1

// A ranking chooses sentences. It always takes the one next that adds most information for its length,
// considering those that it has taken already.
type ranking struct {
	candidates []candidate
	gains      []float64 // by candidate
	info       []float64 // by the number of a term
	known      []bool    // by the number of a term: a chosen sentence has it
	chosen     []int
}

// newRanking returns a ranking of the sentences of a State, before the first choice.
func (s *State) newRanking() *ranking {
	r := &ranking{
		candidates: make([]candidate, len(s.sentences)),
		gains:      make([]float64, len(s.sentences)),
	}
	numbers := map[string]int{}
	var counts []float64 // how many sentences have a term
	var latest []int     // the last sentence that has it
	var words []word
	terms := make([]term, 0, 12*len(s.sentences)) // of all candidates
	for i, sen := range s.sentences {
		words = wordsOf(words[:0], sen.text)
		weight := s.weight(sen, words) / float64(utf8.RuneCountInString(sen.text)+4)
		first := len(terms)
		for _, w := range words {
			if w.stem == "" {
				continue
			}
			n, ok := numbers[w.stem]
			if !ok {
				n = len(counts)
				numbers[w.stem] = n
				counts = append(counts, 0)
				latest = append(latest, -1)
			}
			if latest[n] != i {
				latest[n] = i
				counts[n]++
			}
			t := term{number: n, weight: 1}
			if w.name || times()[w.plain] {
				t.weight = exact
			}
			terms = append(terms, t)
		}
		r.candidates[i] = candidate{sentence: sen, weight: weight, terms: terms[first:]}
	}

	// What is in many sentences tells nothing, in any language.
	all := float64(len(s.sentences))
	r.info = make([]float64, len(counts))
	r.known = make([]bool, len(counts))
	for n, count := range counts {
		if all < 80 || count <= all/4 {
			r.info[n] = math.Log((all + prior) / count)
		}
	}

	// Of a flood of sentences, only the best by themselves are ranked.
	order := make([]int, len(r.candidates))
	for i := range r.candidates {
		order[i] = i
		r.update(i)
	}
	if len(order) > maxRanked {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.gains[b], r.gains[a]) })
		for _, i := range order[maxRanked:] {
			r.gains[i] = never
		}
	}
	return r
}

// choose chooses sentences until there are so many, or no more.
func (r *ranking) choose(most int) {
	for len(r.gains) > 0 && len(r.chosen) < most {
		best := 0
		for i, gain := range r.gains {
			if gain > r.gains[best] {
				best = i
			}
		}
		if r.gains[best] == never {
			return
		}

		// A gain only falls as sentences are chosen, but for those beside them, which are updated at once. So
		// the highest one is the best if it is up to date.
		c := &r.candidates[best]
		if c.round != len(r.chosen) {
			r.update(best)
			continue
		}
		r.chosen = append(r.chosen, best)
		r.gains[best] = never
		for _, t := range c.terms {
			if !r.known[t.number] {
				r.known[t.number] = true
				r.info[t.number] *= again
			}
		}
		for _, i := range []int{best - 1, best + 1} {
			if i < 0 || i == len(r.gains) || r.gains[i] == never {
				continue
			}
			beside := &r.candidates[i]
			if beside.author == c.author && beside.day == c.day && !beside.long && !c.long && !beside.adjacent {
				beside.adjacent = true
				beside.weight *= flow
				r.update(i)
			}
		}
	}
}

// update computes the gain of a candidate.
func (r *ranking) update(i int) {
	c := &r.candidates[i]
	c.round = len(r.chosen)
	info := 0.0
	for _, t := range c.terms {
		info += t.weight * r.info[t.number]
	}
	r.gains[i] = info * c.weight
}
