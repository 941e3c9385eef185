package extract

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRanked is how many lines are ranked at most: more than a summary has room for. The time grows with its square.
const maxRanked = 4096

// rank returns the indexes of the lines, best first: of each line alone, or behind the question without which it means
// nothing. It always takes the line next that adds most information for its length, considering the lines that it has
// taken already. It stops when enough, which it asks now and then, says that those so far are more than needed.
func (s *State) rank(enough func([][]int) bool) [][]int {
	// The terms of each line, numbered from 0, with their information.
	type numbered struct {
		id   int
		info float64
	}
	byTerm := map[uint64]numbered{}
	terms := make([][]numbered, len(s.lines))
	shapes := make([]uint64, len(s.lines))
	kinds := make([]int, len(s.lines)) // of a tool's and of pasted lines: the number of the author and the day, from 1
	kindNumbers := map[line]int{}
	needs := make([]bool, len(s.lines)) // lines that mean nothing without the line before
	open := make([]bool, len(s.lines))  // questions that the next line answers
	q := candidates{list: make([]candidate, len(s.lines)), at: make([]int, len(s.lines))}
	var words []word
	for i, l := range s.lines {
		words, _ = splitInto(words, l.text)
		terms[i] = make([]numbered, 0, len(words))
		for _, w := range words {
			if w.term == 0 || s.terms.common(w.term) {
				continue
			}
			t, known := byTerm[w.term]
			if !known {
				t = numbered{id: len(byTerm), info: s.terms.idf(w.term)}
				byTerm[w.term] = t
			}
			switch {
			case w.name || times[w.plain]:
				t.info *= exact
			case w.pale || w.judges():
				t.info *= faint
			}
			terms[i] = append(terms[i], t)
		}
		shapes[i] = shape(words)
		if l.long || l.byTool() {
			k := line{author: l.author, day: l.day, long: l.long}
			kindNumbers[k] = cmp.Or(kindNumbers[k], len(kindNumbers)+1)
			kinds[i] = kindNumbers[k]
		}
		needs[i] = i > 0 && l.needs(s.lines[i-1], words)
		open[i] = i+1 < len(s.lines) && l.open(s.lines[i+1])
		q.list[i].line = i
		q.at[i] = i
	}

	taken := make([]bool, len(byTerm))   // terms that a line taken already has
	beside := make([]bool, len(s.lines)) // lines of which a neighbour is taken
	shaped := map[uint64]int{}           // how many lines of a shape are taken
	crowd := map[int]int{}               // how many lines of a kind are taken
	// others calls f with the lines without which a line is not to be taken, unless they are taken.
	others := func(i int, f func(int)) {
		for j := i; needs[j] && q.at[j-1] >= 0; j-- {
			f(j - 1)
		}
		for j := i; open[j] && q.at[j+1] >= 0; j++ {
			f(j + 1)
		}
	}
	gain := func(i int) float64 {
		sum := 0.0
		length := 0
		add := func(i int, by float64) {
			length += utf8.RuneCountInString(s.lines[i].text) + 4
			for _, t := range terms[i] {
				if taken[t.id] {
					sum += t.info * again * by
				} else {
					sum += t.info * by
				}
			}
		}
		add(i, 1)
		others(i, func(j int) { add(j, asking) })
		if beside[i] {
			sum *= flow
		}
		sum *= math.Pow(crowds, float64(crowd[kinds[i]])) * repeated(shaped[shapes[i]])
		if needs[i] && q.at[i-1] >= 0 {
			sum *= repeated(shaped[shapes[i-1]])
		}
		return sum * s.lines[i].weight / float64(length)
	}
	for i := range q.list {
		q.list[i].gain = gain(i)
	}

	// Of a flood of lines, only those are ranked that are best by themselves, with what they need.
	if len(q.list) > maxRanked {
		slices.SortFunc(q.list, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.line, b.line))
		})
		keep := map[int]bool{}
		for _, c := range q.list[:maxRanked] {
			keep[c.line] = true
			others(c.line, func(i int) { keep[i] = true })
		}
		q.list = slices.DeleteFunc(q.list, func(c candidate) bool { return !keep[c.line] })
		for i := range q.at {
			q.at[i] = -1
		}
		for at, c := range q.list {
			q.at[c.line] = at
		}
	}
	take := func(i int) {
		for _, t := range terms[i] {
			taken[t.id] = true
		}
		if shapes[i] != 0 {
			shaped[shapes[i]]++
		}
		if kinds[i] != 0 {
			crowd[kinds[i]]++
		}
	}

	// A gain only falls as lines are taken, but for those beside them, which are put up at once. So the first candidate is
	// the best if its gain is up to date.
	heap.Init(&q)
	order := make([][]int, 0, len(q.list))
	ask := 64
	for q.Len() > 0 {
		if len(order) == ask {
			if enough(order) {
				break
			}
			ask *= 2
		}
		first := &q.list[0]
		if first.round != len(order) {
			first.gain = gain(first.line)
			first.round = len(order)
			heap.Fix(&q, 0)
			continue
		}
		best := heap.Pop(&q).(candidate).line
		together := []int{best}
		others(best, func(i int) { together = append(together, i) })
		for _, i := range together[1:] {
			heap.Remove(&q, q.at[i])
		}
		order = append(order, together)
		for _, i := range together {
			take(i)
		}

		// Put up the lines beside them, and one that needs them.
		for _, i := range []int{slices.Min(together) - 1, slices.Max(together) + 1} {
			if i < 0 || i >= len(s.lines) || q.at[i] < 0 {
				continue
			}
			beside[i] = beside[i] || slices.ContainsFunc(together, func(j int) bool { return s.lines[i].with(s.lines[j]) })
			if at := q.at[i]; beside[i] || needs[i] {
				q.list[at].gain = gain(i)
				q.list[at].round = len(order)
				heap.Fix(&q, at)
			}
		}
	}
	return order
}

// needs reports whether a line means nothing without the line before it: the question that it answers, or the clause that has
// the noun for its pronoun.
func (l line) needs(before line, words []word) bool {
	switch {
	case l.day != before.day || l.byTool() || len(words) == 0:
		return false
	case l.author != before.author:
		return strings.HasSuffix(before.text, "?") && before.asks(l) && (elliptic(words) || lacksNoun(words))
	}
	return l.with(before) && (persons[words[0].plain] || lacksNoun(words)) && len(before.text) < 120
}

// shape returns a number that lines have in common which differ in names and numbers only, 0 if they are too short for that.
func shape(words []word) uint64 {
	var b strings.Builder
	n := 0
	for i, w := range words {
		if w.name || w.quoted || i == 0 && w.term != 0 && len(words) > 4 && !glues(words) { // the first may be a name
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

// A candidate is a line that rank may take next.
type candidate struct {
	line  int
	round int     // how many times lines were taken when gain was computed
	gain  float64 // information for each rune
}

// candidates is a heap with the best candidate first. at has for each line where it is, -1 once it is taken.
type candidates struct {
	list []candidate
	at   []int
}

func (q *candidates) Len() int { return len(q.list) }
func (q *candidates) Less(i, j int) bool {
	a := q.list[i]
	b := q.list[j]
	if a.gain == b.gain {
		return a.line < b.line
	}
	return a.gain > b.gain
}
func (q *candidates) Swap(i, j int) {
	q.list[i], q.list[j] = q.list[j], q.list[i]
	q.at[q.list[i].line] = i
	q.at[q.list[j].line] = j
}
func (q *candidates) Push(x any) {
	q.at[x.(candidate).line] = len(q.list)
	q.list = append(q.list, x.(candidate))
}
func (q *candidates) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	q.at[last.line] = -1
	return last
}
