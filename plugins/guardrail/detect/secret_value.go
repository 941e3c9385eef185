package detect

import (
	"math"
	"sync"
)

// entropy is Shannon's, in bits a byte.
func entropy(text string) float64 {
	var count [256]uint16
	sum := int64(0)
	for i := range len(text) {
		c := &count[text[i]]
		sum += share(int(*c)+1) - share(int(*c))
		*c++
	}
	return float64(share(len(text))-sum) / bit / float64(len(text))
}

// share is n times the logarithm of n to base 2, in bits.
func share(n int) int64 {
	if n < len(shares) {
		return shares[n]
	}
	return fixed(n)
}

// shares are those of the counts of most values' bytes.
var shares = func() (s [maxValue + 1]int64) {
	for n := 2; n < len(s); n++ {
		s[n] = fixed(n)
	}
	return s
}()

// fixed is a share in a fixed point, so that a sum of them does not depend on their order.
func fixed(n int) int64 { return int64(math.Round(float64(n) * math.Log2(float64(n)) * bit)) }

// bit is what one counts for in a share.
const bit = 1 << 32

// isPlaceholder tells whether a value stands in for a secret: a run of x, * or dots, the word example and its like,
// a variable, or mostly the alphabet or digits in order.
func isPlaceholder(value string) bool {
	run, row, longest := 1, 1, 0
	state, words := uint32(0), placeholders()
	for i := range len(value) {
		if state = words.step(state, value[i]); state >= words.first {
			return true
		}
		if i == 0 {
			continue
		}
		a, b := value[i-1]|0x20, value[i]|0x20
		if a == b {
			run++
			switch value[i] {
			case 'x', 'X', '*', '#':
				if run >= 4 {
					return true
				}
			case '.':
				if run >= 3 {
					return true
				}
			case '{':
				if value[i-1] == '{' {
					return true
				}
			}
			row = 1
			continue
		}
		run = 1
		if value[i] == '{' && value[i-1] == '$' {
			return true
		}
		if row++; !isNext(a, b) {
			row = 1
		}
		longest = max(longest, row)
	}
	return longest >= 8 && 2*longest > len(value)
}

// isNext tells whether one byte follows another in the alphabet or in counting.
func isNext(a, b byte) bool { return b == a+1 && (isLetter(b) || isDigit(b)) || a == '9' && b == '0' }

// placeholders are what documentation writes in the place of a secret, long enough not to come up by chance.
var placeholders = sync.OnceValue(func() *keywords {
	k, err := newKeywords([]string{"example", "placeholder", "redacted", "replace", "your_", "your-", "yourtoken", "yourkey", "yourapi", "yoursecret",
		"changeme", "change_me", "change-me", "dummy", "insert", "put_your", "sample_", "secret_here", "censored"})
	if err != nil {
		panic(err) // the list is constant
	}
	return k
})

// foldPrefix tells whether text begins with a word of small ASCII letters, in either case.
func foldPrefix(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

// isRandom tells whether a value of at least 16 characters looks made by a machine: enough entropy, and
// digits and many changes between capitals, small letters and digits, which names and words do not have; or, of letters
// only, so many changes as no names have, with capitals side by side.
func isRandom(value string) bool {
	if len(value) < 16 {
		return false
	}
	var digits, changes, letters, doubles int // doubles are capitals behind capitals
	last := byte(0)
	for i := range len(value) {
		c := value[i]
		kind := byte(0)
		switch {
		case isDigit(c):
			kind = 'd'
			digits++
		case 'a' <= c && c <= 'z':
			kind = 'a'
			letters++
		case 'A' <= c && c <= 'Z':
			kind = 'A'
			letters++
			if last == kind {
				doubles++
			}
		case !valueSet[c]:
			return false
		default:
			last = 0
			continue
		}
		if last != 0 && kind != last {
			changes++
		}
		last = kind
	}
	least := 3.3
	if len(value) >= 20 && isAllHex(value) {
		least = 3
	}
	if digits < 2 && (digits+doubles < 3 || changes*5 < len(value)*2) {
		return false
	}
	return letters >= 2 && changes*7 >= len(value) && entropy(value) >= least && !isCamel(value)
}

// isCamel tells whether at least half of a value is words as in NewTokenForUser24: a capital and three or more small letters.
func isCamel(value string) bool {
	inside := 0
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < 'A' || c > 'Z' {
			continue
		}
		n := i + 1
		for n < len(value) && 'a' <= value[n] && value[n] <= 'z' {
			n++
		}
		if n-i > 3 {
			inside += n - i
		}
	}
	return 2*inside >= len(value)
}

var valueSet = readSet("A-Za-z0-9_.+/=~%-")

func isAllHex(value string) bool {
	for i := range len(value) {
		if !isHex(value[i]) && value[i] != '-' {
			return false
		}
	}
	return true
}
