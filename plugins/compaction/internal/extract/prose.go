package extract

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A line is what is kept of a text: the whole text as long as there is room, and later its best clauses, each as a line
// of its own.
type line struct {
	author string
	day    string
	weight float64 // what its information counts, by the kind of clause; 0 if the text is whole
	text   string
	long   bool // it is a part of a long text
	source int  // the number of the text that it is cut from, 0 if an earlier compaction has cut it
}

// byTool reports whether a line is from a call or a response.
func (l line) byTool() bool { return strings.HasSuffix(l.author, "()") }

// asks reports whether a text of somebody else asks something.
func (l line) asks(o line) bool {
	return o.author != l.author && !l.byTool() && (strings.Contains(l.text, "?") || strings.Contains(l.text, "？"))
}

// with reports whether two neighbours were said in one text that is not long. Of clauses that an earlier compaction kept, it
// is enough that they have the same author and day.
func (l line) with(o line) bool {
	return l.source == o.source && l.author == o.author && l.day == o.day && !l.long && !o.long
}

// prose returns the lines that fit into a budget, and forgets the others. Unless whole is false, texts stay whole as
// long as there is room.
func (s *State) prose(budget int, count func(string) int, whole bool) string {
	fits := func(lines []line) (string, bool) {
		text := drawLines(lines)
		return text, count(text) <= budget
	}

	// Cut all texts into clauses, without those that say nothing. from has for each text the index of its first clause.
	texts := s.lines
	clauses := make([]line, 0, 2*len(texts))
	from := make([]int, len(texts)+1)
	for i, l := range texts {
		from[i] = len(clauses)
		if l.weight == 0 {
			clauses = append(clauses, s.cut(texts, i)...)
		} else {
			clauses = append(clauses, l)
		}
	}
	from[len(texts)] = len(clauses)

	// Of what is said again, only the last stays: of texts with such clauses, the others; of texts without clauses, the text.
	repeated := repeats(clauses)
	repeatedTexts := repeats(texts)
	mixed := func(cut int) (lines []line) { // with so many of the oldest texts as clauses
		lines = make([]line, 0, len(clauses))
		for i, l := range texts {
			silent := from[i] == from[i+1]
			switch {
			case silent && (i < cut || repeatedTexts[i]):
			case i >= cut && !slices.Contains(repeated[from[i]:from[i+1]], true):
				lines = append(lines, l)
			default:
				for j := from[i]; j < from[i+1]; j++ {
					if !repeated[j] {
						lines = append(lines, clauses[j])
					}
				}
			}
		}
		return lines
	}

	// If all clauses fit, as many of the newest texts as possible stay whole.
	if whole {
		s.lines = mixed(0)
		if text, ok := fits(s.lines); ok {
			return text
		}
	}
	s.lines = mixed(len(texts))
	if text, ok := fits(s.lines); ok {
		tooFew := 0
		enough := len(texts) // how many of the oldest are cut
		for whole && enough-tooFew > 1 {
			mid := (tooFew + enough) / 2
			lines := mixed(mid)
			if t, ok := fits(lines); ok {
				text = t
				s.lines = lines
				enough = mid
			} else {
				tooFew = mid
			}
		}
		return text
	}

	// If they do not, the best are chosen.
	choose := func(order [][]int) (lines []line) {
		chosen := make([]bool, len(s.lines))
		for _, together := range order {
			for _, i := range together {
				chosen[i] = true
			}
		}
		for i, l := range s.lines {
			if chosen[i] {
				lines = append(lines, l)
			}
		}
		return lines
	}
	drawChosen := func(order [][]int) string { return drawLines(choose(order)) }
	s.lines = choose(fit(s.rank(), budget, count, drawChosen))
	return drawLines(s.lines)
}

// cut returns the clauses of the whole line with index i that say something, with their weights.
func (s *State) cut(lines []line, i int) (list []line) {
	l := lines[i]
	words, asks := split(l.text)
	clauses := clausesOf(words, asks)
	answers := i > 0 && lines[i-1].asks(l)
	asked := i+1 < len(lines) && l.asks(lines[i+1])
	told := 0 // how many clauses neither ask nor praise the other author
	for n, whole := range clauses {
		c := whole.body(words)
		needed := asked && n == len(clauses)-1 && whole.asks && c.strong(words) > 0 // by the answer
		if n == 0 && answers && !c.tells(words) && whole.answers(words) {
			c = whole
			needed = true
		}
		if needed && c.from < c.to || c.tells(words) {
			t := s.traits(c, words, l)
			place := told
			if t.asks || t.praises {
				place = firsts
			} else {
				told++
			}
			list = append(list, line{
				author: l.author,
				day:    l.day,
				weight: t.weight() * placed(lines, i, place),
				text:   c.write(l.text, words),
				long:   l.long,
				source: i + 1,
			})
		}
	}
	return list
}

// drawLines writes lines: the day where it changes, and the author where that changes, in full the first time and
// abbreviated later.
func drawLines(lines []line) string {
	const nobody = "\x00"
	abbreviations := map[string]string{} // by author
	day := ""
	author := nobody
	year := 0
	var b strings.Builder
	b.Grow(len(lines) * 80)
	for i, l := range lines {
		if l.day != day && l.day != "" {
			day = l.day
			author = nobody
			t, _ := time.Parse(time.DateOnly, day)
			b.WriteString("\n[" + t.Format("2 Jan"))
			if t.Year() != year {
				year = t.Year()
				b.WriteString(t.Format(" 2006"))
			}
			b.WriteByte(']')
		}
		if l.author == author {
			b.WriteString("; ")
		} else {
			author = l.author
			b.WriteByte('\n')
			short, known := abbreviations[author]
			switch {
			case known:
				b.WriteString(short + ": ")
			case author != "":
				abbreviations[author] = abbreviate(author, abbreviations)
				b.WriteString(author + ": ")
			}
		}
		if i+1 < len(lines) && lines[i+1].author == author && lines[i+1].day == l.day {
			b.WriteString(strings.TrimRight(l.text, ".")) // a semicolon follows
		} else {
			b.WriteString(l.text)
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// abbreviate returns an author's initial, or the whole name of a tool or if another author has the initial.
func abbreviate(author string, abbreviations map[string]string) string {
	if strings.HasSuffix(author, "()") {
		return author
	}
	first, _ := utf8.DecodeRuneInString(author)
	for _, taken := range abbreviations {
		if taken == string(first) {
			return author
		}
	}
	return string(first)
}

// rank returns the indexes of the lines, best first: of each line alone, or behind the question without which it means
// nothing. It always takes the line next that adds most information for its length, considering the lines that it has
// taken already.
func (s *State) rank() [][]int {
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
	for i, l := range s.lines {
		words, _ := split(l.text)
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
	for q.Len() > 0 {
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
