package extract

import (
	"container/heap"
	"unicode/utf8"
)

// again is what is left of a term's information once another line has it.
const again = 0.3

// rank returns the lines in the order in which a greedy choice takes them: by what each tells a rune, which falls as
// others tell it.
func (s *State) rank() []int {
	type told struct {
		id    int // of the term, from 0
		tells float64
	}
	q := make(queue, len(s.lines))
	terms, ids := make([][]told, len(s.lines)), map[uint64]told{}
	for i, l := range s.lines {
		words, _ := split(l.text)
		terms[i] = make([]told, 0, len(words))
		for _, w := range words {
			if w.term == 0 {
				continue
			}
			t, ok := ids[w.term]
			if !ok {
				t = told{len(ids), s.weigh(w.term)}
				ids[w.term] = t
			}
			terms[i] = append(terms[i], t)
		}
		q[i].price = float64(utf8.RuneCountInString(l.text)+4) / l.weight
	}
	covered := make([]bool, len(ids))
	gain := func(b bid) float64 {
		tells := 0.0
		for _, t := range terms[b.line] {
			if covered[t.id] {
				tells += t.tells * again
			} else {
				tells += t.tells
			}
		}
		return tells / b.price
	}
	for i := range q {
		q[i].line = i
		q[i].gain = gain(q[i])
	}
	heap.Init(&q)
	order := make([]int, 0, len(q))
	for q.Len() > 0 {
		if q[0].round != len(order) {
			q[0].gain, q[0].round = gain(q[0]), len(order)
			heap.Fix(&q, 0)
			continue
		}
		b := heap.Pop(&q).(bid)
		order = append(order, b.line)
		for _, t := range terms[b.line] {
			covered[t.id] = true
		}
	}
	return order
}

type bid struct {
	line  int
	round int     // in which gain was computed
	gain  float64 // a rune
	price float64 // runes, fewer for a line that weighs more
}

type queue []bid

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].gain > q[j].gain || q[i].gain == q[j].gain && q[i].line < q[j].line
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(bid)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
