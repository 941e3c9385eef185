package checkdigit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// Parse reads a rule: each text is an alternative, whose conditions have semicolons between. It panics if a
// rule is wrong: rules are data of this program, and a test reads them all.
func Parse(alternatives ...string) *Rule {
	r := &Rule{}
	for _, source := range alternatives {
		var all []condition
		for text := range strings.SplitSeq(source, ";") {
			p := parser{text: text, words: strings.Fields(text)}
			all = append(all, p.condition())
		}
		r.alternatives = append(r.alternatives, all)
	}
	return r
}

// A parser reads the words of a condition, from the first one on.
type parser struct {
	text  string // the condition
	words []string
}

// next takes the next word; it is "" behind the last one.
func (p *parser) next() (word string) {
	if len(p.words) > 0 {
		word = p.words[0]
		p.words = p.words[1:]
	}
	return word
}

// startsWith tells whether the next word begins with one of some characters.
func (p *parser) startsWith(characters string) bool {
	return len(p.words) > 0 && strings.ContainsRune(characters, rune(p.words[0][0]))
}

func (p *parser) fail(format string, args ...any) {
	panic(fmt.Sprintf("condition %q: %s", strings.TrimSpace(p.text), fmt.Sprintf(format, args...)))
}

// number reads a whole number.
func (p *parser) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		p.fail("%q is not a whole number", text)
	}
	return n
}

// numbers reads whole numbers with commas between.
func (p *parser) numbers(text string) (all []int) {
	for word := range strings.SplitSeq(text, ",") {
		all = append(all, p.number(word))
	}
	return all
}

const digits = "0123456789"

// condition reads a condition: the part that it is about, its name, and its arguments.
func (p *parser) condition() (c condition) {
	if p.startsWith(digits) {
		c.part = p.part(p.next())
	}
	name := p.next()
	if name == "spelled" {
		c.spelled = true
		name = p.next()
	}
	switch name {
	case "weights", "across", "values", "number":
		c.holds = p.calculation(name)
		return c
	case "yymmdd":
		c.holds = p.date(4)
		return c
	case "ddmmyy":
		c.holds = p.date(0)
		return c
	}
	argument := strings.Join(p.words, "")
	list := strings.Split(argument, ",")
	switch name {
	case "length":
		sizes := p.numbers(argument)
		c.holds = func(n number) bool { return slices.Contains(sizes, n.size) }
	case "any", "none":
		set := pattern.MustSet(argument)
		c.holds = func(n number) bool { return n.all(set, name == "any") }
	case "is", "not":
		c.holds = func(n number) bool { return n.isIn(list) == (name == "is") }
	case "in":
		var ranges [][2]int
		for _, text := range list {
			low, high, two := strings.Cut(text, "-")
			if !two {
				high = low
			}
			ranges = append(ranges, [2]int{p.number(low), p.number(high)})
		}
		c.holds = func(n number) bool { return n.isBetween(ranges) }
	case "luhn":
		before := luhnSum([]byte(argument)) // of digits that count, but are not written
		c.holds = func(n number) bool { return (before+luhnSum(n.code()))%10 == 0 && vary(n.code()) }
	case "vary":
		c.holds = func(n number) bool { return vary(n.code()) }
	case "verhoeff":
		c.holds = func(n number) bool { return verhoeff(n.code()) }
	case "mod11-10":
		c.holds = func(n number) bool { return mod11and10(n.code()) }
	case "repeated":
		c.holds = func(n number) bool { return repeatsOne(n.code()) }
	default:
		p.fail("there is no condition %q", name)
	}
	return c
}

// date reads by how much the months and days of a date may be more. The day is at dayStart, the month
// in the middle.
func (p *parser) date(dayStart int) func(number) bool {
	months := []int{0}
	days := []int{0}
	for len(p.words) > 0 {
		name, more, _ := strings.Cut(p.next(), "+")
		switch name {
		case "month":
			months = append(months, p.number(more))
		case "day":
			days = append(days, p.number(more))
		default:
			p.fail("%q is neither month+20 nor day+40 or the like", name)
		}
	}
	return func(n number) bool {
		month := Decimal(n.bytes[2:4])
		day := Decimal(n.bytes[dayStart : dayStart+2])
		for _, moreMonth := range months {
			for _, moreDay := range days {
				if IsDay(month-moreMonth, day-moreDay) {
					return true
				}
			}
		}
		return false
	}
}

// part reads A+N, or A, which is A+1.
// In quotes are digits that a number does not have.
func (p *parser) part(word string) (part part) {
	if word[0] == '\'' {
		part.always = []byte(strings.Trim(word, "'"))
		return part
	}
	start, size, two := strings.Cut(word, "+")
	part.start = p.number(start)
	part.size = 1
	if two {
		part.size = p.number(size)
	}
	if part.start < 0 || part.size < 1 || part.start+part.size > maxLength {
		p.fail("%q is no part of a number, such as 0+2 for its first two characters", word)
	}
	return part
}

// calculation reads the terms of a sum, the steps, and the result behind =. The first word is read.
func (p *parser) calculation(word string) func(number) bool {
	c := &calculation{}
	alphabet := ""
	for ; word != "=" && word != ""; word = p.next() {
		switch word {
		case "values":
			alphabet = p.next()
		case "weights", "across":
			weights := p.numbers(p.next())
			c.terms = append(c.terms, term{weights: weights, alphabet: alphabet, across: word == "across"})
			alphabet = ""
		case "number":
			var t term
			for p.startsWith(digits+"'") && !strings.HasSuffix(p.words[0], "-") {
				t.parts = append(t.parts, p.part(p.next()))
			}
			c.terms = append(c.terms, t)
		default:
			c.steps = append(c.steps, p.step(word))
		}
	}
	alphabet, region, inNumber := strings.Cut(p.next(), "@")
	if inNumber {
		c.result = p.part(region)
		c.resultAlphabet = alphabet
	} else {
		c.want = p.number(alphabet)
	}
	if len(p.words) > 0 {
		p.fail("a calculation ends with = and a result")
	}
	return c.holds
}

// step reads a step: %11, 11-, +5 or -5.
func (p *parser) step(word string) (s step) {
	from, isFrom := strings.CutSuffix(word, "-")
	switch {
	case isFrom:
		return step{sign: 'm', n: p.number(from)}
	case strings.IndexByte("%+-", word[0]) < 0 || word == "%0":
		p.fail("%q is no step: those there are are %%11, 11-, +5 and -5", word)
	}
	return step{sign: word[0], n: p.number(word[1:])}
}
