package extract

import (
	"container/heap"
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

	// All lines as they are.
	if whole {
		if text, ok := fits(s.lines); ok {
			return text
		}
	}

	// All lines as clauses, without those that say nothing. from has for each whole line the index of its first clause.
	wholes := s.lines
	s.lines = make([]line, 0, 2*len(wholes))
	from := make([]int, len(wholes)+1)
	for i, l := range wholes {
		from[i] = len(s.lines)
		if l.weight == 0 {
			for j, c := range s.cut(l) {
				c.source = i + 1
				c.weight *= placed(wholes, i, j)
				s.lines = append(s.lines, c)
			}
		} else {
			s.lines = append(s.lines, l)
		}
	}
	from[len(wholes)] = len(s.lines)

	// If all clauses fit, as many of the newest lines as possible stay whole.
	if text, ok := fits(s.lines); ok {
		cut := s.lines
		tooFew := 0
		enough := len(wholes) // how many of the oldest are cut
		for whole && enough-tooFew > 1 {
			mid := (tooFew + enough) / 2
			mixed := append(cut[:from[mid]:from[mid]], wholes[mid:]...)
			if t, ok := fits(mixed); ok {
				text = t
				s.lines = mixed
				enough = mid
			} else {
				tooFew = mid
			}
		}
		return text
	}

	// If they do not, the best are chosen.
	choose := func(order []int) (lines []line) {
		for _, i := range slices.Sorted(slices.Values(order)) {
			lines = append(lines, s.lines[i])
		}
		return lines
	}
	drawChosen := func(order []int) string { return drawLines(choose(order)) }
	s.lines = choose(fit(s.rank(), budget, count, drawChosen))
	return drawLines(s.lines)
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
	for _, l := range lines {
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
		b.WriteString(l.text)
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

// rank returns the indexes of the lines, best first. It always takes the line next that adds most information for
// its length, considering the lines that it has taken already.
func (s *State) rank() []int {
	// The terms of each line, numbered from 0, with their information.
	type numbered struct {
		id   int
		info float64
	}
	byTerm := map[uint64]numbered{}
	terms := make([][]numbered, len(s.lines))
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
		q.list[i].line = i
		q.at[i] = i
		q.list[i].cost = float64(utf8.RuneCountInString(l.text)+4) / l.weight
	}

	taken := make([]bool, len(byTerm))   // terms that a line taken already has
	beside := make([]bool, len(s.lines)) // lines of which a neighbour is taken
	gain := func(c candidate) float64 {
		sum := 0.0
		for _, t := range terms[c.line] {
			if taken[t.id] {
				sum += t.info * again
			} else {
				sum += t.info
			}
		}
		if beside[c.line] {
			sum *= flow
		}
		return sum / c.cost
	}
	for i, c := range q.list {
		q.list[i].gain = gain(c)
	}

	// A gain only falls as lines are taken, but for those beside them, which are put up at once. So the first candidate is
	// the best if its gain is up to date.
	heap.Init(&q)
	order := make([]int, 0, len(q.list))
	for q.Len() > 0 {
		first := &q.list[0]
		if first.round != len(order) {
			first.gain = gain(*first)
			first.round = len(order)
			heap.Fix(&q, 0)
			continue
		}
		best := heap.Pop(&q).(candidate)
		order = append(order, best.line)
		for _, i := range []int{best.line - 1, best.line + 1} {
			if i < 0 || i >= len(s.lines) || beside[i] || !s.lines[i].with(s.lines[best.line]) {
				continue
			}
			beside[i] = true
			at := q.at[i]
			if at >= 0 {
				q.list[at].gain *= flow
				heap.Fix(&q, at)
			}
		}
		for _, t := range terms[best.line] {
			taken[t.id] = true
		}
	}
	return order
}

// A candidate is a line that rank may take next.
type candidate struct {
	line  int
	round int     // how many lines were taken when gain was computed
	gain  float64 // information for each rune
	cost  float64 // its length in runes, less for a line with more weight
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
