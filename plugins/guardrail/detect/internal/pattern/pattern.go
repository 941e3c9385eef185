// Package pattern reads and matches the forms of tokens. They are written in a small language that
// needs no backtracking:
//
//	abc        these characters
//	[a-f0-9]   one of a set of characters; a hyphen that is to be in the set stands at its end
//	[a-z]{3}   three of a set
//	[a-z]{3,9} three to nine of a set: as many as there are
//	<uuid>     a UUID
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

// Parse reads a form.
func (r *Parser) Parse(source string) (Pattern, error) {
	if p, known := r.patterns[source]; known {
		return p, nil
	}
	p, err := r.parse(source)
	if err != nil {
		return nil, err
	}
	if r.patterns == nil {
		r.patterns = make(map[string]Pattern, 256)
	}
	r.patterns[source] = p
	return p, nil
}

func (r *Parser) parse(source string) (Pattern, error) {
	rest := source
	if strings.Contains(rest, "<uuid>") {
		rest = strings.ReplaceAll(rest, "<uuid>", uuid)
	}
	p := make(Pattern, 0, 2*strings.Count(rest, "[")+1)
	for rest != "" {
		// Characters up to the next set.
		if rest[0] != '[' {
			n := strings.IndexByte(rest, '[')
			if n < 0 {
				n = len(rest)
			}
			p = append(p, Piece{Text: rest[:n]})
			rest = rest[n:]
			continue
		}

		// A set, and how many of it.
		body, after, closed := strings.Cut(rest[1:], "]")
		if !closed {
			return nil, fmt.Errorf("form %q: a bracket is not closed", source)
		}
		piece := Piece{Set: r.set(body), Min: 1, Max: 1}
		if strings.HasPrefix(after, "{") {
			count, more, closed := strings.Cut(after[1:], "}")
			if !closed {
				return nil, fmt.Errorf("form %q: a brace is not closed", source)
			}
			low, high, two := strings.Cut(count, ",")
			if !two {
				high = low
			}
			var errLow, errHigh error
			piece.Min, errLow = strconv.Atoi(low)
			piece.Max, errHigh = strconv.Atoi(high)
			if errLow != nil || errHigh != nil || piece.Max < piece.Min {
				return nil, fmt.Errorf("form %q: {%s} is not a count such as {3} or {3,9}", source, count)
			}
			after = more
		}
		p = append(p, piece)
		rest = after
	}
	return p, nil
}

// set returns the set that is written inside brackets.
func (r *Parser) set(body string) *Set {
	s := r.sets[body]
	if s == nil {
		if r.sets == nil {
			r.sets = map[string]*Set{}
		}
		s = MustSet(body)
		r.sets[body] = s
	}
	return s
}

// MustParse reads a form that is known to be right; it panics if it is not.
func MustParse(source string) Pattern {
	var r Parser
	p, err := r.Parse(source)
	if err != nil {
		panic(err)
	}
	return p
}

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

// word are the bytes that no token ends before.
var word = MustSet("A-Za-z0-9_+")

// Match matches the pattern at text[at:]. The token must end there: neither a letter, a digit, _
// or + may follow, nor a byte of the pattern's last set.
func (p Pattern) Match(text string, at int) Match {
	var last *Set
	for i, piece := range p {
		if piece.Set == nil {
			n := min(len(piece.Text), len(text)-at)
			if text[at:at+n] != piece.Text[:n] {
				return Match{}
			}
			if n < len(piece.Text) {
				return Match{Open: true}
			}
			at += n
			continue
		}

		n := 0
		most := min(piece.Max, len(text)-at)
		for n < most && piece.Set[text[at+n]] {
			n++
		}
		if at+n == len(text) && n < piece.Max {
			return Match{End: at + n, OK: n >= piece.Min && p[i+1:].optional(), Open: true}
		}
		if n < piece.Min {
			return Match{}
		}
		at += n
		last = piece.Set
	}
	if at == len(text) {
		return Match{End: at, OK: true, Open: true}
	}
	c := text[at]
	if word[c] || last != nil && last[c] {
		return Match{}
	}
	return Match{End: at, OK: true}
}

// MatchAll tells whether the pattern matches all of a text.
func (p Pattern) MatchAll(text string) bool {
	m := p.Match(text, 0)
	return m.OK && m.End == len(text)
}

// Least returns the length of the shortest text that the pattern matches, in bytes.
func (p Pattern) Least() int {
	n := 0
	for _, piece := range p {
		n += len(piece.Text) + piece.Min
	}
	return n
}

// Most returns the length of the longest text that the pattern matches, in bytes.
func (p Pattern) Most() int {
	n := 0
	for _, piece := range p {
		n += len(piece.Text) + piece.Max
	}
	return n
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
