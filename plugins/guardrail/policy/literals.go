package policy

import (
	"cmp"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/internal/automaton"
)

// literals knows of regular expressions the texts of which each match has one in it, so that an
// expression is looked for only where one of its own stands. ASCII letters count in both cases.
type literals struct {
	words  *automaton.Automaton
	owners [][]int // the numbers of the detectors that a word is a literal of
}

// mostLiterals is how many literals an expression may have, of which each match has one.
const mostLiterals = 16

// makeLiterals makes the literals of all regular expressions, and marks the detectors that have some.
// It is nil if no expression has any, or if they are too many.
func (p *Policy) makeLiterals() {
	var list []string
	made := &literals{}
	number := map[string]int{}
	for i, d := range p.detectors {
		l, ok := d.(lines)
		if !ok {
			continue
		}
		parsed, err := syntax.Parse(l.re.String(), syntax.Perl)
		if err != nil {
			continue
		}
		needed := required(parsed.Simplify())
		if needed == nil {
			continue
		}
		l.filtered = true
		p.detectors[i] = l
		for _, word := range needed {
			n, known := number[word]
			if !known {
				n = len(list)
				number[word] = n
				list = append(list, word)
				made.owners = append(made.owners, nil)
			}
			made.owners[n] = append(made.owners[n], i)
		}
	}
	if list == nil {
		return
	}
	words, err := automaton.New(list)
	if err != nil { // each expression is looked for everywhere
		for i, d := range p.detectors {
			if l, ok := d.(lines); ok {
				l.filtered = false
				p.detectors[i] = l
			}
		}
		return
	}
	made.words = words
	p.literals = made
}

// required returns texts of which each match of an expression has one in it; nil if there are none.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		text := lowerASCII(string(re.Rune))
		if strings.ContainsRune(text, utf8.RuneError) { // bytes that are no UTF-8 match it
			return nil
		}
		if re.Flags&syntax.FoldCase != 0 {
			text = longestSure(text)
		}
		if text == "" || len(text) > 255 {
			return nil
		}
		return []string{text}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			texts := required(sub)
			if shortest(texts) > shortest(best) {
				best = texts
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			texts := required(sub)
			if texts == nil {
				return nil
			}
			all = append(all, texts...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		if len(all) <= mostLiterals {
			return all
		}
	}
	return nil
}

// shortest returns how long the shortest text is; 0 if there is none.
func shortest(texts []string) int {
	if texts == nil {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
}

// longestSure returns the longest part of a text that has the same letters in both cases but for
// ASCII's own: K and S have a third case in Unicode, and other alphabets are not folded.
func longestSure(text string) string {
	best := ""
	from := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == 'k' || text[i] == 's' || text[i] >= utf8.RuneSelf {
			if i-from > len(best) {
				best = text[from:i]
			}
			from = i + 1
		}
	}
	return best
}

// lowerASCII makes ASCII letters small.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// A byteRange is where a literal of a detector's expression stands.
type byteRange struct{ start, end int }

// literalsFound are the places of literals in a view of a text, which may grow.
type literalsFound struct {
	state  uint32
	read   int                 // bytes of the view
	ranges map[int][]byteRange // by the number of a detector
}

// take takes what is new of the view.
func (f *literalsFound) take(l *literals, text string) {
	if l == nil {
		return
	}
	for ; f.read < len(text); f.read++ {
		f.state = l.words.Step(f.state, text[f.read])
		if !l.words.Ends(f.state) {
			continue
		}
		if f.ranges == nil {
			f.ranges = map[int][]byteRange{}
		}
		for _, word := range l.words.Found(f.state) {
			at := byteRange{start: f.read + 1 - l.words.Size(word), end: f.read + 1}
			for _, owner := range l.owners[word] {
				f.ranges[owner] = append(f.ranges[owner], at)
			}
		}
	}
}

// from returns where the literals of a detector's expression stand from a byte on, in the order in
// which they begin, and forgets those before it.
func (f *literalsFound) from(detector, from int) []byteRange {
	all, ok := f.ranges[detector]
	if !ok {
		return nil
	}
	all = slices.DeleteFunc(all, func(at byteRange) bool { return at.start < from })
	slices.SortFunc(all, func(a, b byteRange) int { return cmp.Compare(a.start, b.start) })
	f.ranges[detector] = all
	return all
}

// restart forgets the view.
func (f *literalsFound) restart() {
	f.state = 0
	f.read = 0
	clear(f.ranges)
}

func (f *literalsFound) clone() literalsFound {
	c := *f
	c.ranges = maps.Clone(f.ranges)
	for detector, at := range c.ranges {
		c.ranges[detector] = slices.Clone(at)
	}
	return c
}
