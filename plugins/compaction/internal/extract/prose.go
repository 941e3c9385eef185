package extract

import (
	"container/heap"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A line is what is kept of a text: the whole text as long as there is room, and later the words and phrases with
// most of its information.
type line struct {
	author string
	day    string
	weight float64 // what its information counts, by the kind of text; 0 if the text is whole
	text   string

	words []word // of a text that is new since the last compaction
	asks  []bool
}

// Weights of words and lines; see the package comment.
const (
	share   = 0.7 // how much of a text's information is kept
	asked   = 0.5 // multiplies the value of words in a question
	exact   = 1.3 // multiplies the value of names, numbers and words of time
	telling = 2.0 // multiplies the weight of a text about its author, with a time, or with a quotation
	tools   = 0.5 // multiplies the weight of a tool's text
	again   = 0.3 // multiplies the information of a term that a chosen line already has
)

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

	// All lines cut, without those that have no information. origin has the index in wholes of each cut line.
	wholes := s.lines
	s.lines = make([]line, 0, len(wholes))
	var origin []int
	table := new(phraseTable)
	for i, l := range wholes {
		ok := true
		if l.weight == 0 {
			l, ok = s.cut(l, table)
		}
		if ok {
			s.lines = append(s.lines, l)
			origin = append(origin, i)
		}
	}

	// If all cut lines fit, as many of the newest as possible stay whole.
	if text, ok := fits(s.lines); ok {
		tooFew := 0
		enough := len(s.lines) // how many of the oldest are cut
		for whole && enough-tooFew > 1 {
			mid := (tooFew + enough) / 2
			mixed := append(s.lines[:mid:mid], wholes[origin[mid]:]...)
			if t, ok := fits(mixed); ok {
				text = t
				enough = mid
			} else {
				tooFew = mid
			}
		}
		if enough < len(s.lines) {
			s.lines = append(s.lines[:enough:enough], wholes[origin[enough]:]...)
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

// cut returns what is left of a whole line; ok is false if the line has no information.
func (s *State) cut(l line, table *phraseTable) (short line, ok bool) {
	words := l.words
	asks := l.asks
	if words == nil {
		words, asks = split(l.text)
	}

	// What each word tells, and what it is worth to keep it. A term counts once.
	info := make([]float64, len(words))
	value := make([]float64, len(words))
	seen := make([]uint64, 0, len(words))
	total := 0.0
	var self, time, quote bool
	for i, w := range words {
		self = self || own[w.plain]
		time = time || times[w.plain]
		quote = quote || w.quoted
		if w.term == 0 || slices.Contains(seen, w.term) || s.terms.common(w.term) {
			continue
		}
		seen = append(seen, w.term)
		info[i] = s.information(w.term)
		total += info[i]
		value[i] = info[i]
		if asks[w.sentence] {
			value[i] *= asked
		}
		if w.name || times[w.plain] {
			value[i] *= exact
		}
	}
	if total == 0 {
		return line{}, false
	}

	// The highest price of a rune at which the chosen words have enough information.
	denied := deny(words)
	low := 0.0
	high := 5.0
	keep := table.choose(words, value, denied, low)
	for range 10 {
		price := (low + high) / 2
		chosen := table.choose(words, value, denied, price)
		kept := 0.0
		for i := range chosen {
			if chosen[i] {
				kept += info[i]
			}
		}
		if kept >= share*total {
			low = price
			keep = chosen
		} else {
			high = price
		}
	}

	weight := 1.0
	for _, is := range []bool{self, time, quote} {
		if is {
			weight *= telling
		}
	}
	if strings.HasSuffix(l.author, "()") {
		weight *= tools
	}
	return line{author: l.author, day: l.day, weight: weight, text: drawWords(words, keep)}, true
}

// drawWords writes the kept words, with a full stop between those of different sentences.
func drawWords(words []word, keep []bool) string {
	var b strings.Builder
	last := 0 // the sentence of the word before
	for i, w := range words {
		if !keep[i] {
			continue
		}
		if b.Len() > 0 {
			if w.sentence != last {
				b.WriteByte('.')
			}
			if !w.glued || !keep[i-1] {
				b.WriteByte(' ')
			}
		}
		b.WriteString(w.text)
		last = w.sentence
	}
	return b.String()
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
	q := make(candidates, len(s.lines))
	for i, l := range s.lines {
		words, _ := split(l.text)
		terms[i] = make([]numbered, 0, len(words))
		for _, w := range words {
			if w.term == 0 {
				continue
			}
			t, known := byTerm[w.term]
			if !known {
				t = numbered{id: len(byTerm), info: s.information(w.term)}
				byTerm[w.term] = t
			}
			terms[i] = append(terms[i], t)
		}
		q[i].line = i
		q[i].cost = float64(utf8.RuneCountInString(l.text)+4) / l.weight
	}

	taken := make([]bool, len(byTerm)) // terms that a line taken already has
	gain := func(c candidate) float64 {
		sum := 0.0
		for _, t := range terms[c.line] {
			if taken[t.id] {
				sum += t.info * again
			} else {
				sum += t.info
			}
		}
		return sum / c.cost
	}
	for i := range q {
		q[i].gain = gain(q[i])
	}

	// A gain only falls as lines are taken. So the first candidate is the best if its gain is up to date.
	heap.Init(&q)
	order := make([]int, 0, len(q))
	for q.Len() > 0 {
		if q[0].round != len(order) {
			q[0].gain = gain(q[0])
			q[0].round = len(order)
			heap.Fix(&q, 0)
			continue
		}
		best := heap.Pop(&q).(candidate)
		order = append(order, best.line)
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

// candidates is a heap with the best candidate first.
type candidates []candidate

func (q candidates) Len() int { return len(q) }
func (q candidates) Less(i, j int) bool {
	if q[i].gain == q[j].gain {
		return q[i].line < q[j].line
	}
	return q[i].gain > q[j].gain
}
func (q candidates) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *candidates) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *candidates) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
