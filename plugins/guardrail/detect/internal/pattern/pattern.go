// Package pattern reads and matches the forms of tokens. They are written in a small language that
// needs no backtracking:
//
//	abc        these characters
//	[a-f0-9]   one of a set of characters; a hyphen that is to be in the set stands at its end
//	[a-z]{3}   three of a set
//	[a-z]{3,9} three to nine of a set: as many as there are
//	<uuid>     a UUID
//
// New forms are rows of data files. To have the language say more, add a case to Parse and to Match.
package pattern

import (
	"fmt"
	"strconv"
	"strings"
)

// A Pattern is a form as a row of pieces.
type Pattern []Piece

// A Piece is text, or Min to Max bytes of a set.
type Piece struct {
	Text     string
	Set      *Set // nil for a piece of text
	Min, Max int
}

// A Set is a set of bytes.
type Set [256]bool

// A Match is the result of matching. Open means that what comes after the text may still change it.
type Match struct {
	End  int
	OK   bool
	Open bool
}

const uuid = "[A-Fa-f0-9]{8}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{12}"

// A Parser reads forms. It keeps what it has read, for many forms have much in common. The zero
// value is ready for use.
type Parser struct {
	patterns map[string]Pattern
	sets     map[string]*Set
}

// Parse reads a form. It panics if the form is wrong: forms are data of this program, and a test
// reads them all.
func (r *Parser) Parse(source string) Pattern {
	if p, known := r.patterns[source]; known {
		return p
	}
	if r.patterns == nil {
		r.patterns = make(map[string]Pattern, 256)
		r.sets = map[string]*Set{}
	}
	p := make(Pattern, 0, 2*strings.Count(source, "[")+1)
	for rest := strings.ReplaceAll(source, "<uuid>", uuid); rest != ""; {
		// Characters up to the next set.
		before, after, found := strings.Cut(rest, "[")
		if before != "" {
			p = append(p, Piece{Text: before})
		}
		if !found {
			break
		}

		// A set, and how many of it.
		body, after, closed := strings.Cut(after, "]")
		low, high := "1", "1"
		if counted, ok := strings.CutPrefix(after, "{"); ok && closed {
			low, after, closed = strings.Cut(counted, "}")
			var two bool
			low, high, two = strings.Cut(low, ",")
			if !two {
				high = low
			}
		}
		least, errLow := strconv.Atoi(low)
		most, errHigh := strconv.Atoi(high)
		if !closed || errLow != nil || errHigh != nil || most < least {
			panic(fmt.Sprintf(
				"form %q: %q is not closed, or has a count that is not like {3} or {3,9}", source,
				rest))
		}
		if r.sets[body] == nil {
			r.sets[body] = MustSet(body)
		}
		p = append(p, Piece{Set: r.sets[body], Min: least, Max: most})
		rest = after
	}
	r.patterns[source] = p
	return p
}

// MustParse reads a single form.
func MustParse(source string) Pattern { return new(Parser).Parse(source) }

// MustSet returns the set that is written inside brackets: bytes, ranges such as a-z, and a hyphen
// at the end.
func MustSet(body string) *Set {
	var s Set
	for i := 0; i < len(body); i++ {
		if i+2 < len(body) && body[i+1] == '-' {
			for c := int(body[i]); c <= int(body[i+2]); c++ {
				s[c] = true
			}
			i += 2
			continue
		}
		s[body[i]] = true
	}
	return &s
}

// Run returns where the bytes of the set end that stand in a text from a place on, at most so many.
func (s *Set) Run(text string, from, most int) (end int) {
	end = from
	for end < len(text) && end-from < most && s[text[end]] {
		end++
	}
	return end
}

// HasAll tells whether all bytes of a text are of the set.
func (s *Set) HasAll(text string) bool { return s.Run(text, 0, len(text)) == len(text) }

// HasAny tells whether a byte of a text is of the set.
func (s *Set) HasAny(text string) bool {
	for i := range len(text) {
		if s[text[i]] {
			return true
		}
	}
	return false
}

// word are the bytes that no token ends before.
var word = MustSet("A-Za-z0-9_+")

// Match matches the pattern at text[at:]. The token must end there: neither a letter, a digit, _
// or + may follow, nor a byte of the pattern's last set.
func (p Pattern) Match(text string, pos int) Match {
	var last *Set
	for i, piece := range p {
		if piece.Set == nil {
			n := min(len(piece.Text), len(text)-pos)
			if text[pos:pos+n] != piece.Text[:n] {
				return Match{}
			}
			if n < len(piece.Text) {
				return Match{Open: true}
			}
			pos += n
			continue
		}

		n := 0
		most := min(piece.Max, len(text)-pos)
		for n < most && piece.Set[text[pos+n]] {
			n++
		}
		if pos+n == len(text) && n < piece.Max {
			return Match{End: pos + n, OK: n >= piece.Min && p[i+1:].optional(), Open: true}
		}
		if n < piece.Min {
			return Match{}
		}
		pos += n
		last = piece.Set
	}
	if pos == len(text) {
		return Match{End: pos, OK: true, Open: true}
	}
	c := text[pos]
	if word[c] || last != nil && last[c] {
		return Match{}
	}
	return Match{End: pos, OK: true}
}

// MatchAll tells whether the pattern matches all of a text.
func (p Pattern) MatchAll(text string) bool {
	m := p.Match(text, 0)
	return m.OK && m.End == len(text)
}

// Lengths returns the lengths of the shortest and the longest text that the pattern matches, in bytes.
func (p Pattern) Lengths() (least, most int) {
	for _, piece := range p {
		least += len(piece.Text) + piece.Min
		most += len(piece.Text) + piece.Max
	}
	return least, most
}

// optional tells whether the pattern matches the empty text, too.
func (p Pattern) optional() bool {
	for _, piece := range p {
		if piece.Set == nil || piece.Min > 0 {
			return false
		}
	}
	return true
}
