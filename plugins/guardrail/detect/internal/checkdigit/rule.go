package checkdigit

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// A Rule says what a number must be. It has alternatives, of which one must hold; an alternative
// has conditions, which must all hold. The table of rules, ../../data/checks.txt, explains how
// they are written.
type Rule struct {
	alternatives [][]condition
}

// Holds tells whether the rule holds for a number. It has 2 to 20 characters, which are digits and
// capital letters where the rule takes them for such.
func (r *Rule) Holds(code []byte) bool {
	all := numberOf(code)
next:
	for _, conditions := range r.alternatives {
		for i := range conditions {
			c := &conditions[i]
			n := all
			if c.spelled {
				n = all.spelled()
			}
			if c.part.size > 0 {
				n = numberOf(c.part.of(&n))
			}
			if !c.holds(n) {
				continue next
			}
		}
		return true
	}
	return false
}

// A condition is about a part of a number, or about all of it if the part's size is 0.
type condition struct {
	part    part
	spelled bool // the number's letters are written as two digits first
	holds   func(number) bool
}

// A part is some characters of a number, or digits that are always the same.
type part struct {
	start, size int
	always      []byte
}

func (p *part) of(n *number) []byte {
	if p.always != nil {
		return p.always
	}
	return n.bytes[p.start : p.start+p.size]
}

// maxLength is how many characters a number may have.
const maxLength = 20

// A number is handed to functions as a value: if it were a slice, the compiler could not know that
// a function keeps nothing of it, and would allocate it.
type number struct {
	bytes [maxLength]byte
	size  int
}

func numberOf(code []byte) (n number) {
	n.size = copy(n.bytes[:], code)
	return n
}

func (n *number) code() []byte { return n.bytes[:n.size] }

// all tells whether all characters of a number are in a set, or none is.
func (n *number) all(set *pattern.Set, in bool) bool {
	for _, c := range n.code() {
		if set[c] != in {
			return false
		}
	}
	return true
}

// isIn tells whether a number is one of some words.
func (n *number) isIn(words []string) bool {
	for _, word := range words {
		if string(n.code()) == word {
			return true
		}
	}
	return false
}

// isBetween tells whether a number is in one of some ranges.
func (n *number) isBetween(ranges [][2]int) bool {
	value := Decimal(n.code())
	for _, r := range ranges {
		if r[0] <= value && value <= r[1] {
			return true
		}
	}
	return false
}

// spelled returns a number with its letters as two digits, their places in the alphabet: A is 01.
func (n *number) spelled() number {
	var room [2 * maxLength]byte
	code := room[:0]
	for _, c := range n.code() {
		if isLetter(c) {
			region := c - 'A' + 1
			code = append(code, '0'+region/10)
			c = '0' + region%10
		}
		code = append(code, c)
	}
	return numberOf(code)
}

// A calculation is a sum, steps, and the result that it must have.
type calculation struct {
	terms []term
	steps []step

	want           int    // the result, if the number does not have it
	result         part   // where the number has it
	resultAlphabet string // the result is its character's place in this; "" if it is digits
}

// A term is a part of the sum: characters times their weights, or some digits as one number.
type term struct {
	weights  []int
	alphabet string // where the values of characters are their places in it; "" for those of digits
	across   bool   // the digits of each product count, to the base that the alphabet has characters
	parts    []part // instead of weights
}

type step struct {
	sign byte // '%', '+', '-' for less, 'm' for minus from
	n    int
}

func (c *calculation) holds(n number) bool {
	sum := 0
	for i := range c.terms {
		value, ok := c.terms[i].value(n)
		if !ok {
			return false
		}
		sum += value
	}
	for _, s := range c.steps {
		switch s.sign {
		case '%':
			sum %= s.n
			if sum < 0 {
				sum += s.n
			}
		case '+':
			sum += s.n
		case '-':
			sum -= s.n
		case 'm':
			sum = s.n - sum
		}
	}
	switch {
	case c.result.size == 0:
		return sum == c.want
	case c.resultAlphabet != "":
		return sum >= 0 && sum < len(c.resultAlphabet) && c.resultAlphabet[sum] == n.bytes[c.result.start]
	}
	return sum == Decimal(c.result.of(&n))
}

// value returns what a term adds to the sum. It is not ok if a character has no value.
func (t *term) value(n number) (sum int, ok bool) {
	for _, p := range t.parts {
		for _, digit := range p.of(&n) {
			sum = 10*sum + int(digit-'0')
		}
	}
	base := max(10, len(t.alphabet))
	for i, weight := range t.weights {
		value := int(n.bytes[i]) - '0'
		if t.alphabet != "" {
			value = strings.IndexByte(t.alphabet, n.bytes[i])
		}
		switch product := weight * value; {
		case weight == 0:
		case value < 0 && t.alphabet != "":
			return 0, false
		case t.across:
			sum += product/base + product%base
		default:
			sum += product
		}
	}
	return sum, true
}
