package checkdigit

import (
	"fmt"
	"strconv"
	"strings"
)

// A Rule says what a number must be. It has alternatives, of which one must hold; an alternative
// has conditions, which must all hold. Places count from 0, and A+N are the N characters from
// place A on.
//
//	length N              the number has N characters
//	vary [A]              its characters (from place A on) are not all the same
//	lacks LETTERS         it has none of these characters
//	A any LETTERS         the character at A is one of these
//	A none LETTERS        the character at A is none of these
//	A+N in 1-12,70        the digits are a number in the list
//	A+N is AB,CD          the characters are one of those in the list
//	A+N not AB,CD         the characters are none of those in the list
//	date yymmdd@A         the six digits from place A on are a date; or ddmmyy. Then may follow:
//	  month+20 day+40       the month, or the day, may be so much more; both may be said several times
//	luhn [A]              the check digit of ISO/IEC 7812 (from place A on); luhn 80840/ puts these
//	                        digits before a number of even length
//	verhoeff              Verhoeff's check digit
//	mod11-10 [A]          the check digit of ISO 7064 mod 11,10 (from place A on)
//	by NAME               what the function of this name says
//	SUM STEPS = RESULT    a calculation
//
// A calculation begins with a SUM:
//
//	weights 3,7,1         the sum of the characters, each times its weight
//	values ALPHABET weights 3,7,1   the same, where a character's value is its place in an alphabet
//	number A+N [A+N]      the digits, as one number
//
// goes on with STEPS, which are taken from left to right:
//
//	%11   the remainder after division by 11, which is never negative
//	11-   11 minus what there is
//	+5    5 more
//	-5    5 less
//
// and its RESULT must be
//
//	0           this number
//	@9          the digit at place 9
//	@9+2        the digits at places 9 and 10, as a number
//	ABC@9       0 if the character at place 9 is A, 1 if it is B, 2 if it is C
type Rule struct {
	alternatives [][]condition
}

// maxLength is how many characters a number may have.
const maxLength = 20

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
		return luhn(c.prefix, code[c.at:]) && vary(code[c.at:])
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
			if digits, ok := strings.CutSuffix(rest[0], "/"); ok && len(rest) == 1 {
				c.prefix, err = prefixSum(digits)
			} else {
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
