package extract

import (
	"regexp"
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

// prose returns the lines that fit into a budget, each said once, and forgets the others. Unless whole is false, texts stay
// whole as long as there is room.
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
	said := map[uint64]bool{}
	again := make([]bool, len(texts)) // texts without clauses
	for i, l := range slices.Backward(texts) {
		if from[i] == from[i+1] {
			k := l.saying(0)
			again[i] = said[k]
			said[k] = true
		}
	}
	mixed := func(cut int) (lines []line) { // with so many of the oldest texts as clauses
		lines = make([]line, 0, len(clauses))
		for i, l := range texts {
			if i >= cut && !again[i] && !slices.Contains(repeated[from[i]:from[i+1]], true) {
				lines = append(lines, l)
				continue
			}
			for j := from[i]; j < from[i+1]; j++ {
				if !repeated[j] {
					lines = append(lines, clauses[j])
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
	lines := make([]line, 0, len(s.lines))
	chosen := make([]bool, len(s.lines))
	choose := func(order [][]int) []line {
		clear(chosen)
		for _, together := range order {
			for _, i := range together {
				chosen[i] = true
			}
		}
		lines = lines[:0]
		for i, l := range s.lines {
			if chosen[i] {
				lines = append(lines, l)
			}
		}
		return lines
	}
	drawChosen := func(order [][]int) string { return drawLines(choose(order)) }
	tooMany := func(order [][]int) bool { return count(drawChosen(order)) > budget }
	s.lines = choose(fit(s.rank(tooMany), budget, count, drawChosen))
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

// A point between a letter or a digit and a semicolon is not written: when the text is read again, what stands before a
// semicolon is a line.
var (
	pointBeforeSemicolon = regexp.MustCompile(`([\pL\pN])\.; `)
	endsInPoint          = regexp.MustCompile(`[\pL\pN]\.$`)
)

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
		text := l.text
		if strings.Contains(text, ".; ") {
			text = pointBeforeSemicolon.ReplaceAllString(text, "$1; ")
		}
		goesOn := i+1 < len(lines) && lines[i+1].author == author && (lines[i+1].day == day || lines[i+1].day == "")
		if goesOn && endsInPoint.MatchString(text) {
			text = strings.TrimSuffix(text, ".") // a semicolon follows
		}
		b.WriteString(text)
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
