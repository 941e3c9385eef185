package extract

import (
	"container/heap"
	"strings"
	"time"
	"unicode/utf8"
)

// Prose returns the lines that tell most within a budget, in the order of the session: count(result) ≤ budget.
// It forgets the others.
func (s *State) Prose(budget int, count func(string) int) string {
	order := s.rank()
	fits := func(n int) bool { return count(s.draw(order[:n])) <= budget }
	lo, hi := 0, len(order) // order[:lo] fits
	for lo < hi {
		if mid := (lo + hi + 1) / 2; fits(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for lo > 0 && !fits(lo) {
		lo--
	}
	text := s.draw(order[:lo])
	if count(text) > budget {
		text = ""
	}
	kept := make([]bool, len(s.lines))
	for _, i := range order[:lo] {
		kept[i] = true
	}
	var lines []line
	for i, l := range s.lines {
		if kept[i] {
			lines = append(lines, l)
		}
	}
	s.lines = lines
	return text
}

// rank returns the lines in the order in which a greedy choice takes them: the gain of each, by rune, falls
// as its words are covered by others.
func (s *State) rank() []int {
	q := make(queue, len(s.lines))
	terms := make([][]uint64, len(s.lines))
	for i, l := range s.lines {
		words, _ := split(l.Text)
		for _, w := range words {
			if w.term != 0 {
				terms[i] = append(terms[i], w.term)
			}
		}
		q[i] = bid{i, 0, 0}
	}
	covered := map[uint64]int{}
	gain := func(i int) float64 {
		total, left := 0.0, 0.0
		for _, t := range terms[i] {
			m := s.terms.idf(t)
			total += m
			if covered[t] > 0 {
				m *= tune("covered", 0.7)
			}
			left += m
		}
		if total == 0 {
			return 0
		}
		return s.lines[i].Weight * left / total / float64(utf8.RuneCountInString(s.lines[i].Text)+4)
	}
	for i := range q {
		q[i].gain = gain(q[i].line)
	}
	heap.Init(&q)
	order := make([]int, 0, len(q))
	for q.Len() > 0 {
		if q[0].round != len(order) {
			q[0].gain, q[0].round = gain(q[0].line), len(order)
			heap.Fix(&q, 0)
			continue
		}
		b := heap.Pop(&q).(bid)
		order = append(order, b.line)
		for _, t := range terms[b.line] {
			covered[t]++
		}
	}
	return order
}

type bid struct {
	line  int
	round int // in which gain was computed
	gain  float64
}

type queue []bid

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].gain > q[j].gain || q[i].gain == q[j].gain && q[i].line < q[j].line
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(bid)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// draw renders the lines with these indices in the order of the session: a day where it changes, and the
// speaker where he does.
func (s *State) draw(indices []int) string {
	chosen := make([]bool, len(s.lines))
	for _, i := range indices {
		chosen[i] = true
	}
	var b strings.Builder
	day, author := "", ""
	for i, l := range s.lines {
		if !chosen[i] {
			continue
		}
		if l.Day != day && l.Day != "" {
			day, author = l.Day, ""
			t, _ := time.Parse("2006-01-02", day)
			b.WriteString(t.Format("\n[2 Jan 2006]"))
		}
		if l.Author != author {
			author = l.Author
			b.WriteString("\n" + initial(author) + ": ")
		} else {
			b.WriteString("; ")
		}
		b.WriteString(l.Text)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// Text returns the prose and the ledger within a budget.
func (s *State) Text(budget int, count func(string) int) string {
	values := s.Ledger(int(float64(budget)*tune("split", 0.75)), count)
	if values == "" {
		return s.Prose(budget, count)
	}
	prose := s.Prose(budget, func(p string) int { return count(p + "\n\n" + values) })
	if prose == "" {
		return values
	}
	return prose + "\n\n" + values
}

// initial is the first letter of a name, "?" of none.
func initial(name string) string {
	for _, r := range name {
		return string(r)
	}
	return "?"
}
