package detect

import (
	"math"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// entropy is Shannon's, in bits a byte.
func entropy(text string) float64 {
	var count [256]uint16
	sum := int64(0)
	for i := range len(text) {
		c := &count[text[i]]
		if int(*c) < len(steps) {
			sum += steps[*c]
		} else {
			sum += share(int(*c)+1) - share(int(*c))
		}
		*c++
	}
	return float64(share(len(text))-sum) / bit / float64(len(text))
}

// share is n times the logarithm of n to base 2, in a fixed point, so that a sum of shares does
// not depend on their order.
func share(n int) int64 {
	if n < len(shares) {
		return shares[n]
	}
	return computeShare(n)
}

// bit is how much a bit is in the fixed point of a share.
const bit = 1 << 32

// shares has the shares of small numbers, so that they are computed once.
var shares = func() (s [maxValue + 1]int64) {
	for n := 2; n < len(s); n++ {
		s[n] = computeShare(n)
	}
	return s
}()

// steps has how much the shares of small numbers grow from one to the next.
var steps = func() (s [maxValue]int64) {
	for n := range s {
		s[n] = shares[n+1] - shares[n]
	}
	return s
}()

func computeShare(n int) int64 { return int64(math.Round(float64(n) * math.Log2(float64(n)) * bit)) }

// valueSet are the bytes that a random value may have.
var valueSet = pattern.MustSet("A-Za-z0-9_.+/=~%-")

// isRandom tells whether a value looks made by a machine. It has at least 16 characters, enough
// entropy, and digits and many changes between capitals, small letters and digits, which names and
// words do not have; or it is of letters only, with so many changes as no names have and capitals
// side by side, or with pairs of letters that no language has so often.
func isRandom(value string) bool {
	if len(value) < 16 {
		return false
	}
	digits := 0
	letters := 0
	doubles := 0 // capitals behind capitals
	changes := 0
	last := byte(0)
	for i := range len(value) {
		c := value[i]
		kind := byte(0)
		switch {
		case isDigit(c):
			kind = 'd'
			digits++
		case isLower(c):
			kind = 'a'
			letters++
		case isUpper(c):
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
	if digits < 2 && (digits+doubles < 3 || changes*5 < len(value)*2) && !isUnspoken(value) {
		return false
	}
	if letters < 2 || changes*7 < len(value) {
		return false
	}
	least := 3.3
	if len(value) >= 20 && isHexID(value) {
		least = 3
	}
	return entropy(value) >= least && !isMade(value)
}

// markedSet are the bytes of keys that are made of marks, too, such as those that Django makes.
var markedSet = pattern.MustSet("A-Za-z0-9!@#$%^&*()_+=-")

// isMarked tells whether a value of at least 24 bytes looks made by a machine that takes marks as
// well as letters and digits. It has at least three of each, and more entropy than code has.
func isMarked(value string) bool {
	if len(value) < 24 {
		return false
	}
	letters := 0
	digits := 0
	marks := 0
	for i := range len(value) {
		switch c := value[i]; {
		case isLetter(c):
			letters++
		case isDigit(c):
			digits++
		case !markedSet[c]:
			return false
		case c != '_' && c != '-' && c != '=':
			marks++
		}
	}
	return letters >= 3 && digits >= 3 && marks >= 3 && entropy(value) >= 4 && !isWords(value)
}

// isHexID tells whether a value is hexadecimal digits and hyphens only.
func isHexID(value string) bool {
	for i := range len(value) {
		if !isHex(value[i]) && value[i] != '-' {
			return false
		}
	}
	return true
}

// isNumber tells whether a value is digits and points only: a port, a version.
func isNumber(value string) bool {
	for i := range len(value) {
		if !isDigit(value[i]) && value[i] != '.' {
			return false
		}
	}
	return true
}
