package detect

import (
	"fmt"
	"strconv"
	"strings"
)

// A pattern is the form of a token in a small language that needs no backtracking: literal text, and sets of bytes
// in brackets with a count, [a-z]{3}, {3,9} or none for one. A count takes as much as it can.
type pattern []piece

type piece struct {
	text     string // or
	set      *set
	min, max int
}

// A set of bytes.
type set [256]bool

// A verdict on a pattern. Open means that what comes after the text may change it.
type verdict struct {
	end      int
	ok, open bool
}

// match matches at text[at:]. The token must end there: no letter, digit, _ or + may follow, nor a byte of its last set.
func (p pattern) match(text string, at int) verdict {
	var last *set
	for i, e := range p {
		if e.set == nil {
			n := min(len(e.text), len(text)-at)
			if text[at:at+n] != e.text[:n] {
				return verdict{}
			}
			if n < len(e.text) {
				return verdict{open: true}
			}
			at += n
			continue
		}
		n, most := 0, min(e.max, len(text)-at)
		for n < most && e.set[text[at+n]] {
			n++
		}
		if at+n == len(text) && n < e.max {
			return verdict{end: at + n, ok: n >= e.min && p[i+1:].optional(), open: true}
		}
		if n < e.min {
			return verdict{}
		}
		at, last = at+n, e.set
	}
	if at == len(text) {
		return verdict{end: at, ok: true, open: true}
	}
	if c := text[at]; isWord(c) || c == '+' || last != nil && last[c] {
		return verdict{}
	}
	return verdict{end: at, ok: true}
}

// optional tells whether nothing matches the pattern, too.
func (p pattern) optional() bool {
	for _, e := range p {
		if e.set == nil || e.min > 0 {
			return false
		}
	}
	return true
}

// matchAll tells whether the pattern is all of a text.
func (p pattern) matchAll(text string) bool {
	v := p.match(text, 0)
	return v.ok && v.end == len(text)
}

// isWord tells whether a byte is an ASCII letter, a digit or an underscore.
func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// forms reads patterns, kept by their source: the tables below use few different ones.
type forms map[string]pattern

// read returns the pattern of a source. The sources are constants, so a wrong one panics.
func (f forms) read(source string) pattern {
	if p, ok := f[source]; ok {
		return p
	}
	var p pattern
	for rest := source; rest != ""; {
		if rest[0] != '[' {
			n := strings.IndexByte(rest, '[')
			if n < 0 {
				n = len(rest)
			}
			p, rest = append(p, piece{text: rest[:n]}), rest[n:]
			continue
		}
		body, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			panic(fmt.Sprintf("detect: pattern %q: a bracket is open", source))
		}
		e := piece{set: readSet(body), min: 1, max: 1}
		if count, more, ok := strings.Cut(after, "}"); ok && after[0] == '{' {
			low, high, two := strings.Cut(count[1:], ",")
			e.min = readCount(source, low)
			if e.max = e.min; two {
				e.max = readCount(source, high)
			}
			after = more
		}
		p, rest = append(p, e), after
	}
	f[source] = p
	return p
}

func readCount(source, digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(fmt.Sprintf("detect: pattern %q: %q is not a count", source, digits))
	}
	return n
}

// readSet reads the inside of brackets: bytes, and ranges of letters and digits; a hyphen at the end is one.
func readSet(body string) *set {
	var s set
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
