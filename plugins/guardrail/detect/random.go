package detect

import (
	"math"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// entropy is Shannon's, in bits a byte, of at most the first maxValue bytes.
func entropy(text string) float64 {
	text = text[:min(len(text), maxValue)]
	var count [256]uint16
	sum := int64(0)
	for i := range len(text) {
		c := &count[text[i]]
		sum += steps[*c]
		*c++
	}
	return float64(shares[len(text)]-sum) / bit / float64(len(text))
}

// shares has n times the logarithm of n to base 2, in a fixed point, so that a sum of shares does not
// depend on their order. steps has how much they grow from one to the next.
var shares, steps = func() (shares [maxValue + 1]int64, steps [maxValue]int64) {
	for n := 1; n <= maxValue; n++ {
		shares[n] = int64(math.Round(float64(n) * math.Log2(float64(n)) * bit))
		steps[n-1] = shares[n] - shares[n-1]
	}
	return shares, steps
}()

// bit is how much a bit is in the fixed point of a share.
const bit = 1 << 32

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

var (
	hexIDSet  = pattern.MustSet("A-Fa-f0-9-")
	numberSet = pattern.MustSet("0-9.")
)

// isHexID tells whether a value is hexadecimal digits and hyphens only.
func isHexID(value string) bool { return hexIDSet.HasAll(value) }

// isNumber tells whether a value is digits and points only: a port, a version.
func isNumber(value string) bool { return numberSet.HasAll(value) }
