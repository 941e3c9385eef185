package checkdigit

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a rule: each text is an alternative, whose conditions have semicolons between.
func Parse(alternatives ...string) (*Rule, error) {
	r := &Rule{}
	for _, source := range alternatives {
		var all []condition
		for text := range strings.SplitSeq(source, ";") {
			c, err := parseCondition(strings.Fields(text))
			if err != nil {
				return nil, fmt.Errorf("condition %q: %w", strings.TrimSpace(text), err)
			}
			all = append(all, c)
		}
		r.alternatives = append(r.alternatives, all)
	}
	return r, nil
}

// parseCondition reads the words of a condition.
func parseCondition(words []string) (condition, error) {
	var c condition
	if len(words) == 0 {
		return c, fmt.Errorf("nothing is said")
	}
	var err error
	rest := words[1:]
	switch words[0] {
	case "length":
		c.op = opLength
		c.size, err = oneNumber(rest)
	case "vary", "mod11-10":
		c.op = opVary
		if words[0] == "mod11-10" {
			c.op = opMod11and10
		}
		if len(rest) > 0 {
			c.at, err = oneNumber(rest)
		}
	case "luhn":
		c.op = opLuhn
		if len(rest) > 0 {
			digits, isPrefix := strings.CutSuffix(rest[0], "/")
			switch {
			case len(rest) > 1:
				err = fmt.Errorf("it takes one place or one prefix")
			case isPrefix:
				c.prefix, err = prefixSum(digits)
			case strings.Contains(rest[0], "+"):
				c.at, c.size, err = parsePart(rest[0])
			default:
				c.at, err = oneNumber(rest)
			}
		}
	case "verhoeff":
		c.op = opVerhoeff
	case "lacks":
		c.op = opLacks
		c.letters = strings.Join(rest, "")
	case "date":
		c.op = opDate
		err = c.parseDate(rest)
	case "by":
		c.op = opBy
		c.function = functions[strings.Join(rest, " ")]
		if c.function == nil {
			err = fmt.Errorf("there is no function %q", strings.Join(rest, " "))
		}
	case "weights", "values", "number":
		c.op = opCalculation
		err = c.sum.parse(words)
	default:
		err = c.parsePlace(words)
	}
	return c, err
}

// oneNumber reads what must be a single number.
func oneNumber(words []string) (int, error) {
	if len(words) != 1 {
		return 0, fmt.Errorf("it takes one number")
	}
	return strconv.Atoi(words[0])
}

// prefixSum is what digits add to Luhn's sum of a number that they stand before. The number has an
// even length.
func prefixSum(digits string) (int, error) {
	if _, err := strconv.Atoi(digits); err != nil {
		return 0, err
	}
	sum := 0
	for i := range digits {
		n := int(digits[i] - '0')
		if (len(digits)-1-i)%2 == 1 {
			n *= 2
			if n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum, nil
}

// parseDate reads yymmdd@A or ddmmyy@A, and by how much months and days may be more.
func (c *condition) parseDate(words []string) error {
	c.size = 6
	c.months = []int{0}
	c.days = []int{0}
	for i, word := range words {
		var err error
		form, number, _ := strings.Cut(word, "@")
		if i == 0 {
			if form != "yymmdd" && form != "ddmmyy" {
				return fmt.Errorf("a date is yymmdd@A or ddmmyy@A")
			}
			c.dayFirst = form == "ddmmyy"
			c.at, err = strconv.Atoi(number)
		} else {
			var more int
			part, number, _ := strings.Cut(word, "+")
			more, err = strconv.Atoi(number)
			switch part {
			case "month":
				c.months = append(c.months, more)
			case "day":
				c.days = append(c.days, more)
			default:
				return fmt.Errorf("%q is neither month+N nor day+N", word)
			}
		}
		if err != nil {
			return err
		}
	}
	if len(words) == 0 {
		return fmt.Errorf("a date is yymmdd@A or ddmmyy@A")
	}
	return nil
}

// parsePlace reads a condition that begins with a place: 0 any ABC, 0+2 in 1-12.
func (c *condition) parsePlace(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("no condition begins with %q", words[0])
	}
	at, size, err := parsePart(words[0])
	if err != nil {
		return fmt.Errorf("no condition begins with %q", words[0])
	}
	c.at = at
	c.size = size
	list := strings.Join(words[2:], "")
	switch words[1] {
	case "any":
		c.op = opAny
		c.letters = list
	case "none":
		c.op = opNone
		c.letters = list
	case "is":
		c.op = opIs
		c.words = strings.Split(list, ",")
	case "not":
		c.op = opNot
		c.words = strings.Split(list, ",")
	case "in":
		c.op = opIn
		for text := range strings.SplitSeq(list, ",") {
			low, high, two := strings.Cut(text, "-")
			if !two {
				high = low
			}
			from, errLow := strconv.Atoi(low)
			to, errHigh := strconv.Atoi(high)
			if errLow != nil || errHigh != nil {
				return fmt.Errorf("%q is neither a number nor a range such as 1-12", text)
			}
			c.ranges = append(c.ranges, [2]int{from, to})
		}
	default:
		return fmt.Errorf("%q is none of any, none, is, not, in", words[1])
	}
	for _, word := range c.words {
		if len(word) != c.size {
			return fmt.Errorf("%q does not have %d characters", word, c.size)
		}
	}
	return nil
}

// parsePart reads A+N, or A, which is A+1.
func parsePart(word string) (at, size int, err error) {
	place, length, two := strings.Cut(word, "+")
	if !two {
		length = "1"
	}
	at, err = strconv.Atoi(place)
	if err != nil {
		return 0, 0, err
	}
	size, err = strconv.Atoi(length)
	if err == nil && (at < 0 || size < 1 || at+size > maxLength) {
		err = fmt.Errorf("%q is no part of a number of %d characters", word, maxLength)
	}
	return at, size, err
}

// parse reads a calculation.
func (c *calculation) parse(words []string) error {
	if words[0] == "values" && len(words) > 2 {
		c.alphabet = words[1]
		words = words[2:]
	}

	// The sum.
	i := 1
	switch {
	case words[0] == "weights" && len(words) > 1:
		for text := range strings.SplitSeq(words[1], ",") {
			weight, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			c.weights = append(c.weights, weight)
		}
		i = 2
		if len(c.weights) > maxLength {
			return fmt.Errorf("there are more than %d weights", maxLength)
		}
	case words[0] == "number" && c.alphabet == "":
		for ; i < len(words); i++ {
			at, size, err := parsePart(words[i])
			if err != nil || strings.HasPrefix(words[i], "+") {
				break
			}
			c.parts = append(c.parts, [2]int{at, size})
		}
	default:
		return fmt.Errorf("a calculation begins with weights or a number")
	}

	// The steps.
	for ; i < len(words) && words[i] != "="; i++ {
		word := words[i]
		s := step{sign: word[0]}
		digits := word[1:]
		if from, ok := strings.CutSuffix(word, "-"); ok {
			s.sign = 'm'
			digits = from
		}
		n, err := strconv.Atoi(digits)
		if err != nil || !strings.ContainsRune("%+-m", rune(s.sign)) || s.sign == '%' && n < 1 {
			return fmt.Errorf("%q is no step: those there are are %%11, 11-, +5 and -5", word)
		}
		s.n = n
		c.steps = append(c.steps, s)
	}

	// The result.
	if i+2 != len(words) {
		return fmt.Errorf("a calculation ends with = and a result")
	}
	alphabet, place, inNumber := strings.Cut(words[i+1], "@")
	var err error
	if !inNumber {
		c.wantAt = -1
		c.want, err = strconv.Atoi(words[i+1])
		return err
	}
	c.wantAlphabet = alphabet
	c.wantAt, c.wantSize, err = parsePart(place)
	return err
}
