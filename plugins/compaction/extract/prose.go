package extract

import (
	"container/heap"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// again is what is left of a term's information once another line has it.
const again = 0.3

// rank returns the lines in the order in which a greedy choice takes them: by what each tells a rune, which falls as
// others tell it.
func (s *State) rank() []int {
	q := make(queue, len(s.lines))
	terms := make([][]uint64, len(s.lines))
	covered := map[uint64]bool{}
	gain := func(i int) float64 {
		tells := 0.0
		for _, t := range terms[i] {
			m := s.weigh(t)
			if covered[t] {
				m *= again
			}
			tells += m
		}
		return s.lines[i].weight * tells / float64(utf8.RuneCountInString(s.lines[i].text)+4)
	}
	for i, l := range s.lines {
		words, _ := split(l.text)
		for _, w := range words {
			if w.term != 0 {
				terms[i] = append(terms[i], w.term)
			}
		}
		q[i] = bid{line: i, gain: gain(i)}
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
			covered[t] = true
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
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// draw renders the lines with these indices in the order of the session: the day where it changes, and the
// speaker where that does, by name at first and then by initial.
func (s *State) draw(indices []int) string {
	indices = slices.Sorted(slices.Values(indices))
	names := map[string]string{} // of authors, as they are written now
	var b strings.Builder
	b.Grow(len(indices) * 80)
	const nobody = "\x00"
	day, author, year := "", nobody, 0
	for _, i := range indices {
		l := s.lines[i]
		if l.day != day && l.day != "" {
			day, author = l.day, nobody
			t, _ := time.Parse(time.DateOnly, day)
			b.WriteString("\n[" + t.Format("2 Jan"))
			if t.Year() != year {
				year = t.Year()
				b.WriteString(t.Format(" 2006"))
			}
			b.WriteByte(']')
		}
		if l.author != author {
			author = l.author
			b.WriteByte('\n')
			if short, ok := names[author]; ok {
				b.WriteString(short + ": ")
			} else if author != "" {
				names[author] = abbreviate(author, names)
				b.WriteString(author + ": ")
			}
		} else {
			b.WriteString("; ")
		}
		b.WriteString(l.text)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// abbreviate is an author's initial, or the whole name if another has that, or it is a tool's.
func abbreviate(author string, taken map[string]string) string {
	first, _ := utf8.DecodeRuneInString(author)
	if strings.HasSuffix(author, "()") {
		return author
	}
	for _, t := range taken {
		if t == string(first) {
			return author
		}
	}
	return string(first)
}
