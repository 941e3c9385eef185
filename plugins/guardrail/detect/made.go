package detect

import (
	"bytes"
	"strings"
)

// Values that nobody drew at random: names in code, and rows of characters in order or over and over.

// isDrawn tells whether a value that has the form of a secret may be random: it is no placeholder,
// its entropy is at least so many bits a byte, and it does not repeat or count up. If least is 0,
// only a placeholder is refused.
func (l *lexicon) isDrawn(value string, least float64) bool {
	if l.isPlaceholder(value) || entropy(value) < least {
		return false
	}
	return least == 0 || !isFilled(value)
}

// isFilled tells whether a value is filled up with anything: its longest part is a row of characters in
// order, or one part over and over, or has few different characters.
func isFilled(value string) bool {
	part := longestPart(value)
	return isOrdered(part) || isRepeated(part) || isPoor(part)
}

// isMade tells whether a person made up a value, or code has it: its longest part is what people type
// in the place of a random one or filled, or it is words, or base64 of words.
func isMade(value string) bool {
	return isTyped(longestPart(value)) || isFilled(value) || isWords(value) || isReadable(value)
}

// isReadable tells whether a value is base64 of words: of text with a space, or mostly words.
func isReadable(value string) bool {
	if len(value) > maxValue {
		return false
	}

	// The first byte of each three is printed ASCII, so every fourth digit is one of these.
	for i := 0; i < len(value); i += 4 {
		if c := value[i]; c < 'I' || c > 'f' || 'Z' < c && c < 'a' {
			return false
		}
	}

	var room [maxValue]byte
	plain := decode64(room[:0], value)
	return 4*len(plain) >= 3*len(value)-8 && bytes.IndexFunc(plain, isUnprinted) < 0 &&
		(bytes.IndexByte(plain, ' ') >= 0 || isWords(string(plain)))
}

// isUnprinted tells whether a character is not printed ASCII.
func isUnprinted(c rune) bool { return c < ' ' || c > '~' }

// longestPart returns the longest run of letters and digits of a value. It is the value if none has 16
// of them or half of it.
func longestPart(value string) string {
	longest := ""
	start := 0
	for i := 0; i <= len(value); i++ {
		if i < len(value) && isAlnum(value[i]) {
			continue
		}
		if i-start > len(longest) {
			longest = value[start:i]
		}
		start = i + 1
	}
	if len(longest) < 16 && 2*len(longest) < len(value) {
		return value
	}
	return longest
}

// follows tells whether a byte follows another in the alphabet, in counting or in hexadecimal digits.
// Both are of small letters.
func follows(c, last byte) bool { return c == last+1 || last == '9' && (c == '0' || c == 'a') }

// isOrdered tells whether seven of eight bytes follow the byte before, as in 1234567890abcdef.
func isOrdered(value string) bool {
	left := (len(value) - 1) / 8 // so many need not
	for i := 1; i < len(value) && left >= 0; i++ {
		if !follows(value[i]|0x20, value[i-1]|0x20) {
			left--
		}
	}
	return left >= 0
}

// isTyped tells whether half of the bytes follow the one before, as in abc123def456, or the one before
// that, as in a1b2c3d4, or three of four follow or are the same, as in aabbccdd. Of random bytes one of
// thirty does.
func isTyped(value string) bool {
	next := 0 // how many follow the byte before
	same := 0 // are the byte before
	over := 0 // follow the one before the last
	last := byte(0)
	before := byte(0)
	for i := range len(value) {
		c := value[i] | 0x20 // a small letter
		switch {
		case follows(c, last):
			next++
		case c == last:
			same++
		}
		if c == before+1 || before == '9' && c == '0' {
			over++
		}
		before = last
		last = c
	}
	pairs := len(value) - 1
	return 2*next >= pairs || 2*over >= pairs-1 || 4*(next+same) >= 3*pairs
}

// isRepeated tells whether a value is one part over and over, three times or more, as in
// deadbeefdeadbeefdeadbeef; of each eight bytes one may differ.
func isRepeated(value string) bool {
	for period := 1; period <= min(len(value)/3, maxPeriod); period++ {
		if value[period] != value[0] && value[period+1] != value[1] {
			continue
		}
		differ := 0
		i := period
		for i < len(value) && 8*differ <= i-period+8 {
			if value[i] != value[i-period] {
				differ++
			}
			i++
		}
		if 8*differ <= i-period {
			return true
		}
	}
	return false
}

// maxPeriod is the longest part whose repetition isRepeated sees, in bytes.
const maxPeriod = 32

// isPoor tells whether a value of 16 bytes or more has five different ones at most.
func isPoor(value string) bool {
	if len(value) < 16 {
		return false
	}
	var seen [256]bool
	different := 0
	for i := 0; i < len(value) && different < 6; i++ {
		if !seen[value[i]] {
			seen[value[i]] = true
			different++
		}
	}
	return different < 6
}

// isWords tells whether a value is mostly words, as in Str32Fixed16Utf8Codec4, api_key_v2 and
// k8s-main-worker-4u0vi. At least half of the letters and digits are in runs of three letters or more,
// and of the pairs of letters in these runs at least four of five are frequent in English.
func isWords(value string) bool {
	size := 0     // letters and digits
	inRuns := 0   // of these, how many are in runs
	all := 0      // pairs of letters in runs
	frequent := 0 // of these, how many are frequent
	for i := 0; i < len(value); i++ {
		if !isLetter(value[i]) {
			if isDigit(value[i]) {
				size++
			}
			continue
		}

		// A run ends where camelCase begins a new word.
		start := i
		known := 0
		for i+1 < len(value) && isLetter(value[i+1]) {
			a := value[i]
			b := value[i+1]
			if b < 'a' && (a >= 'a' || i+2 < len(value) && isLower(value[i+2])) {
				break
			}
			known += int(pairs[a&31] >> (b & 31) & 1)
			i++
		}
		n := i + 1 - start
		size += n
		if n >= 3 {
			inRuns += n
			all += n - 1
			frequent += known
			if 5*(all-frequent) >= len(value) {
				return false // the pairs that are left cannot make up for those
			}
		}
	}
	return all >= 8 && 5*frequent >= 4*all && 2*inRuns >= size
}

// isUnspoken tells whether a value has capitals, small letters and at least twelve pairs of letters, of
// which at most half are frequent in English. Of names in code one of a thousand is.
func isUnspoken(value string) bool {
	all := 0
	frequent := 0
	for i := 1; i < len(value); i++ {
		a := value[i-1]
		b := value[i]
		switch {
		case b == '.':
			return false
		case isLetter(a) && isLetter(b):
			all++
			frequent += int(pairs[a&31] >> (b & 31) & 1)
		}
	}
	return all >= 12 && 2*frequent <= all && upperSet.HasAny(value) && lowerSet.HasAny(value)
}

// pairs has, for each letter by its number in the alphabet, a bit for each that often follows it.
// They are the 220 most frequent pairs in the words of manuals and of code, nine of ten there.
var pairs = func() (sets [32]uint32) {
	for after := range strings.FieldsSeq(`
		a:bcdgiklmnprstuvy b:aeilou c:acehiklortu d:adeilnorsu e:acdefglmnpqrstvx f:aefiloru g:eioru h:aeiot
		i:abcdefglmnoprstvz k:eis l:adeilostuy m:aeimopu n:acdefginostuv o:bcdgiklmnoprstuvw p:aeiloprstu q:u
		r:acdeilmnorstuvy s:acehilopstuy t:acehiloprstuy u:abcefilmnprst v:aei w:aeior x:pt y:p z:e`) {
		for _, letter := range after[2:] {
			sets[after[0]&31] |= 1 << (letter & 31)
		}
	}
	return sets
}()
