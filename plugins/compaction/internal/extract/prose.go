package extract

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// prose returns the lines within a budget, and forgets the others. As long as there is room, lines stay whole; then the
// oldest are cut, and when all are, the best of them are chosen. So a line is cut when most is known of what is rare.
func (s *State) prose(budget int, count func(string) int, room bool) string {
	all := func(lines []line) (string, bool) {
		text := draw(lines)
		return text, count(text) <= budget
	}
	if room {
		if text, ok := all(s.lines); ok {
			return text
		}
	}
	whole := s.lines
	s.lines = make([]line, 0, len(whole))
	var from []int // of each line that is left, which one it was
	work := new(shop)
	for i, l := range whole {
		ok := true
		if l.weight == 0 {
			l, ok = s.cut(l, work)
		}
		if ok {
			s.lines, from = append(s.lines, l), append(from, i)
		}
	}
	if text, ok := all(s.lines); ok {
		lo, hi := 0, len(s.lines) // as many cut are too few, and enough
		for room && hi-lo > 1 {
			mid := (lo + hi) / 2
			mixed := append(s.lines[:mid:mid], whole[from[mid]:]...)
			if t, ok := all(mixed); ok {
				text, hi = t, mid
			} else {
				lo = mid
			}
		}
		if hi < len(s.lines) {
			s.lines = append(s.lines[:hi:hi], whole[from[hi]:]...)
		}
		return text
	}
	choose := func(order []int) (lines []line) {
		for _, i := range slices.Sorted(slices.Values(order)) {
			lines = append(lines, s.lines[i])
		}
		return lines
	}
	order := fit(s.rank(), budget, count, func(order []int) string { return draw(choose(order)) })
	s.lines = choose(order)
	return draw(s.lines)
}

// draw renders lines: the day where it changes, and the speaker where that does, by name at first and then by initial.
func draw(lines []line) string {
	names := map[string]string{} // of authors, as they are written now
	var b strings.Builder
	b.Grow(len(lines) * 80)
	const nobody = "\x00"
	day, author, year := "", nobody, 0
	for _, l := range lines {
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
