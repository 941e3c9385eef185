package checkdigit

import "strings"

// A Rule says what a number must be. It has alternatives, of which one must hold; an alternative
// has conditions, which must all hold. The table of rules, ../../data/checks.txt, explains how
// they are written.
type Rule struct {
	alternatives [][]condition
}

// maxLength is how many characters a number may have.
const maxLength = 20

// Holds tells whether the rule holds for a number. It has 2 to 20 characters, which are digits and
// capital letters where the rule takes them for such.
func (r *Rule) Holds(code []byte) bool {
next:
	for _, all := range r.alternatives {
		for i := range all {
			if !all[i].holds(code) {
				continue next
			}
		}
		return true
	}
	return false
}

type operation uint8

const (
	opLength operation = iota
	opVary
	opLacks
	opAny
	opNone
	opIn
	opIs
	opNot
	opDate
	opLuhn
	opVerhoeff
	opMod11and10
	opBy
	opCalculation
)

// A condition has the fields that its operation needs.
type condition struct {
	op       operation
	at, size int
	letters  string
	words    []string          // opIs, opNot
	ranges   [][2]int          // opIn
	prefix   int               // opLuhn: what the digits before the number add to the sum
	dayFirst bool              // opDate
	months   []int             // opDate: by how much a month may be more
	days     []int             // opDate: by how much a day may be more
	function func(number) bool // opBy
	sum      calculation
}

func (c *condition) holds(code []byte) bool {
	switch c.op {
	case opLength:
		return len(code) == c.size
	case opVary:
		return vary(code[c.at:])
	case opLacks:
		for _, letter := range code {
			if strings.IndexByte(c.letters, letter) >= 0 {
				return false
			}
		}
		return true
	case opAny:
		return strings.IndexByte(c.letters, code[c.at]) >= 0
	case opNone:
		return strings.IndexByte(c.letters, code[c.at]) < 0
	case opIn:
		n := Decimal(code[c.at : c.at+c.size])
		for _, r := range c.ranges {
			if r[0] <= n && n <= r[1] {
				return true
			}
		}
		return false
	case opIs, opNot:
		for _, word := range c.words {
			if string(code[c.at:c.at+c.size]) == word {
				return c.op == opIs
			}
		}
		return c.op == opNot
	case opDate:
		return c.date(code[c.at : c.at+6])
	case opLuhn:
		part := code[c.at:]
		if c.size > 0 {
			part = part[:c.size]
		}
		return luhn(c.prefix, part) && vary(part)
	case opVerhoeff:
		return verhoeff(code)
	case opMod11and10:
		return mod11and10(code[c.at:])
	case opBy:
		return c.function(numberOf(code))
	case opCalculation:
		return c.sum.holds(code)
	}
	return false
}

// date tells whether six digits are a date.
func (c *condition) date(digits []byte) bool {
	month := Decimal(digits[2:4])
	day := Decimal(digits[4:6])
	if c.dayFirst {
		day = Decimal(digits[:2])
	}
	for _, moreMonth := range c.months {
		for _, moreDay := range c.days {
			if IsDay(month-moreMonth, day-moreDay) {
				return true
			}
		}
	}
	return false
}

// A calculation is a sum, steps, and the result that it must have.
type calculation struct {
	weights  []int
	alphabet string   // where the values of characters are their places in it
	parts    [][2]int // of a number, instead of weights: from which place, how many characters
	steps    []step

	want         int
	wantAt       int // of a result that is in the number; -1 if it is want
	wantSize     int
	wantAlphabet string
}

type step struct {
	sign byte // '%', '+', '-' for less, 'm' for minus from
	n    int
}

func (c *calculation) holds(code []byte) bool {
	// The sum.
	sum := 0
	for _, p := range c.parts {
		for _, digit := range code[p[0] : p[0]+p[1]] {
			sum = 10*sum + int(digit-'0')
		}
	}
	for i, weight := range c.weights {
		value := int(code[i]) - '0'
		if c.alphabet != "" {
			value = strings.IndexByte(c.alphabet, code[i])
			if value < 0 {
				return false
			}
		}
		sum += weight * value
	}

	// The steps.
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

	// The result.
	switch {
	case c.wantAt < 0:
		return sum == c.want
	case c.wantAlphabet != "":
		return sum >= 0 && sum < len(c.wantAlphabet) && c.wantAlphabet[sum] == code[c.wantAt]
	}
	return sum == Decimal(code[c.wantAt:c.wantAt+c.wantSize])
}
