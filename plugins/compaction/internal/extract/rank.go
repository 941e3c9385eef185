package extract

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRanked is how many passages are ranked at most: more than a summary has room for. The time grows with
// its square.
const maxRanked = 4096

// A passage is what is kept or left out as a whole: a sentence, with those that it means little without.
type passage struct {
	from, to int // the sentences [from, to)
	length   int // in runes, with what is written around them
	facts    []fact

	chosen   bool
	adjacent bool    // a neighbour from the same text is chosen
	gain     float64 // information for each rune
	round    int     // how many passages were chosen when gain was computed
	index    int     // in the queue, -1 if it is not in there
}

// A fact is what one sentence of a passage tells.
type fact struct {
	terms  []term
	weight float64
	shape  uint64 // what sentences have in common that differ in names and numbers only; 0 if it is too short
	crowd  crowd  // of a tool's sentences and of pasted ones; the zero value for others
}

// A term is a word of a sentence, by its number, with its information.
type term struct {
	number int
	info   float64
}

// A crowd are the sentences that one tool or author has brought into one day in large numbers.
type crowd struct{ author, day string }

// ranking chooses passages. It always takes the one next that adds most information for its length,
// considering those that it has taken already.
type ranking struct {
	sentences []sentence
	passages  []passage
	queue     queue

	known  []bool         // by number: a chosen passage has the term
	shapes map[uint64]int // how many chosen sentences have a shape
	crowds map[crowd]int  // how many chosen sentences a crowd has
}

// newRanking returns a ranking of the sentences of a State, before the first choice.
func (s *State) newRanking() *ranking {
	r := &ranking{
		sentences: s.sentences,
		shapes:    map[uint64]int{},
		crowds:    map[crowd]int{},
	}
	terms := map[uint64]term{} // with the information that they have as they are
	var words []word
	for i, sen := range s.sentences {
		words = splitInto(words, sen.text)
		f := fact{terms: make([]term, 0, len(words)), weight: sen.weight, shape: shape(words)}
		for _, w := range words {
			if w.term == 0 || w.pale || s.terms.common(w.term) {
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
			f.terms = append(f.terms, t)
		}
		if sen.long || sen.byTool() {
			f.crowd = crowd{author: sen.author, day: sen.day}
		}

		// Put it into the passage before, or into one of its own.
		if i == 0 || !together(s.sentences[i-1], sen) {
			r.passages = append(r.passages, passage{from: i})
		}
		p := &r.passages[len(r.passages)-1]
		p.to = i + 1
		p.length += utf8.RuneCountInString(sen.text) + 4
		p.facts = append(p.facts, f)
	}
	r.known = make([]bool, len(terms))

	// Of a flood of passages, only the best by themselves are ranked.
	for i := range r.passages {
		p := &r.passages[i]
		p.gain = r.gain(p)
		r.queue = append(r.queue, p)
	}
	if len(r.queue) > maxRanked {
		slices.SortStableFunc(r.queue, func(a, b *passage) int { return cmp.Compare(b.gain, a.gain) })
		for _, p := range r.queue[maxRanked:] {
			p.index = -1
		}
		r.queue = r.queue[:maxRanked]
	}
	for i, p := range r.queue {
		p.index = i
	}
	heap.Init(&r.queue)
	return r
}

// choose returns passages, best first. It stops when enough, which it asks now and then, says that those so
// far are more than needed.
func (r *ranking) choose(enough func([]*passage) bool) []*passage {
	order := make([]*passage, 0, len(r.queue))
	ask := 64
	for len(r.queue) > 0 {
		if len(order) == ask {
			if enough(order) {
				break
			}
			ask *= 2
		}

		// A gain only falls as passages are chosen, but for those beside them, which are put up at once. So
		// the first one is the best if its gain is up to date.
		best := r.queue[0]
		if best.round != len(order) {
			r.update(best, len(order))
			continue
		}
		heap.Pop(&r.queue)
		order = append(order, best)
		r.take(best)
		for _, i := range []int{best.from - 1, best.to} {
			r.putUp(best, i, len(order))
		}
	}
	return order
}

// gain returns the information that a passage adds, for each rune of it.
func (r *ranking) gain(p *passage) float64 {
	sum := 0.0
	for _, f := range p.facts {
		info := 0.0
		for _, t := range f.terms {
			if r.known[t.number] {
				info += t.info * again
			} else {
				info += t.info
			}
		}
		if f.crowd != (crowd{}) {
			info *= math.Pow(crowds, float64(r.crowds[f.crowd]))
		}
		sum += info * f.weight * repeated(r.shapes[f.shape])
	}
	if p.adjacent {
		sum *= flow
	}
	return sum / float64(p.length)
}

// update computes the gain of a passage in the queue again.
func (r *ranking) update(p *passage, round int) {
	p.gain = r.gain(p)
	p.round = round
	heap.Fix(&r.queue, p.index)
}

// take notes what a passage tells that is chosen now.
func (r *ranking) take(p *passage) {
	p.chosen = true
	for _, f := range p.facts {
		for _, t := range f.terms {
			r.known[t.number] = true
		}
		if f.shape != 0 {
			r.shapes[f.shape]++
		}
		if f.crowd != (crowd{}) {
			r.crowds[f.crowd]++
		}
	}
}

// putUp raises the gain of the passage that has sentence i, if that is from the same text as its neighbour in
// the chosen one.
func (r *ranking) putUp(chosen *passage, i, round int) {
	neighbour := chosen.from
	if i > neighbour {
		neighbour = chosen.to - 1
	}
	if i < 0 || i >= len(r.sentences) || !r.sentences[i].sameText(r.sentences[neighbour]) {
		return
	}
	n, _ := slices.BinarySearchFunc(
		r.passages,
		i,
		func(p passage, i int) int { return cmp.Compare(p.to-1, i) },
	)
	p := &r.passages[n]
	if p.index >= 0 && !p.chosen {
		p.adjacent = true
		r.update(p, round)
	}
}

// shape returns the hash of a sentence without its names and numbers.
func shape(words []word) uint64 {
	var b strings.Builder
	n := 0
	for i, w := range words {
		mayBeName := i == 0 && w.term != 0 && len(words) > 4
		if w.name || w.quoted || mayBeName {
			continue
		}
		b.WriteString(w.plain)
		b.WriteByte(' ')
		n++
	}
	if n < 2 && len(words) < 4 {
		return 0
	}
	return key(b.String())
}

// A queue is a heap with the passage of the highest gain first.
type queue []*passage

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].gain == q[j].gain {
		return q[i].from < q[j].from
	}
	return q[i].gain > q[j].gain
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index = i
	q[j].index = j
}

func (q *queue) Push(x any) {
	p := x.(*passage)
	p.index = len(*q)
	*q = append(*q, p)
}

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	last.index = -1
	return last
}
