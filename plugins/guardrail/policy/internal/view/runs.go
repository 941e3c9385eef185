package view

import "strings"

// The fewest bytes that a run must decode to, or letters or digits if they are spaced. A part that continues
// a longer run may be shorter.
const (
	leastBytes   = 8
	leastLetters = 5
	leastDigits  = 9
)

// nibbles holds the value of each hex digit, and 0xff for every other byte.
var nibbles = func() (t [256]byte) {
	for c := range t {
		switch {
		case '0' <= c && c <= '9':
			t[c] = byte(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			t[c] = byte(c|0x20-'a') + 10
		default:
			t[c] = 0xff
		}
	}
	return t
}()

// sixes holds the value of each character of base64 and base64url, and 0xff for every other byte.
var sixes = func() (t [256]byte) {
	for c := range t {
		t[c] = 0xff
	}
	for i := range byte(26) {
		t['A'+i], t['a'+i] = i, i+26
	}
	for i := range byte(10) {
		t['0'+i] = i + 52
	}
	t['+'], t['-'], t['/'], t['_'] = 62, 62, 63, 63
	return t
}()

// maxSpacing is how many bytes may stand between two letters that are spaced out.
const maxSpacing = 4

// spaced decides about letters and digits that are spaced out: with the same characters between any
// two of them. If the first is a digit, it must be a space, and more of them. A short word counts
// that has longer ones behind it: y o u  a r e.
func spaced(text string, i int, goesOn bool) verdict {
	least := leastLetters
	if isDigit(text[i]) {
		least = leastDigits
	}
	size, ended := spacing(text, i+1)
	if ended {
		return verdict{end: i}
	}
	separator := text[i+1 : i+1+size]
	switch {
	case goesOn:
	case size == 0, least == leastDigits && separator != " ":
		return verdict{end: i, firm: true}
	}

	// the letters that are sure, and where the last of them ends
	n := 1
	end := i + 1
	firm := size == 0
	cut := false
	for size > 0 {
		at := end + size
		if at == len(text) {
			break
		}
		if !isWord(text[at]) || at+1 < len(text) && isWord(text[at+1]) {
			firm = true
			break
		}
		n++
		end = at + 1
		if end == len(text) {
			break
		}
		cut = n >= longest/2
		rest := text[end:min(end+size, len(text))]
		if cut || !strings.HasPrefix(separator, rest) {
			firm = true
			break
		}
		if len(rest) < size {
			break
		}
	}
	if n < least && !goesOn {
		ahead := false
		if n > 1 && least == leastLetters && firm && !isDigit(text[end-1]) {
			ahead, firm = spacedAhead(text, end, separator, least-n)
		}
		if !ahead {
			return verdict{end: i, firm: firm}
		}
	}
	return verdict{kind: spacedKind, end: end, firm: firm, cut: cut, between: size}
}

// spacedAhead reports whether at least so many more letters stand behind a place, in words that are spaced
// out with a separator. If firm is false, the answer is no so far, and text that follows could make it
// yes.
func spacedAhead(text string, at int, separator string, more int) (ahead, firm bool) {
	for more > 0 {
		// What parts the words.
		next := at
		for next < len(text) && !isWord(text[next]) {
			next++
			if next-at > wordGap(len(separator)) {
				return false, true
			}
		}
		if next == len(text) {
			return false, false
		}
		if next-at <= len(separator) && strings.TrimLeft(text[at:next], " \t\r\n") == text[at:next] {
			return false, true
		}

		// The letters of the word. A single one says nothing.
		if isDigit(text[next]) {
			return false, true
		}
		at = next + 1
		for letters := 1; ; letters++ {
			if letters == 2 {
				more--
			}
			if letters > 1 {
				more--
			}
			rest := text[at:min(at+len(separator)+2, len(text))]
			letter := len(separator)
			if len(rest) <= letter && strings.HasPrefix(separator, rest) {
				return more <= 0, false // the word may go on
			}
			if !strings.HasPrefix(rest, separator) {
				break
			}
			switch {
			case !isWord(rest[letter]):
			case len(rest) > letter+1 && isWord(rest[letter+1]):
				return false, true
			default:
				at += letter + 1
				continue
			}
			break
		}
		if at < len(text) && isWord(text[at]) {
			return false, true
		}
	}
	return true, true
}

// spacing returns how many bytes stand between a letter and the next word, from i on; 0 if they do
// not space letters out. It has ended if the text has.
func spacing(text string, i int) (size int, ended bool) {
	for ; i+size < len(text); size++ {
		c := text[i+size]
		switch {
		case isWord(c):
			return size, false
		case size == maxSpacing, c == '%', c == '&', c == '\\', c < ' ' && c != '\t' && c != '\n', size > 0 && c == '\n':
			return 0, false
		}
	}
	return 0, true
}

// wordGap is how many bytes may stand between words whose letters have so many between them.
func wordGap(between int) int { return 2*between + 1 }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// pairs decides about bytes in hex with the same characters between any two: 48 65 6c, 48:65:6c,
// 0x48, 0x65.
func pairs(text string, i int, goesOn bool) verdict {
	var r reading
	var sep string
	least := leastBytes
	if goesOn {
		least = 1
	}
	n := 0 // bytes that are sure
	v := verdict{end: i}
	for at := i; ; {
		at = digits(text, at)
		switch {
		case at+2 > len(text):
			v.firm = at < len(text) && nibbles[text[at]] == 0xff
		case !r.hex(text[at:]), at+2 < len(text) && isWord(text[at+2]):
			v.firm = true
		default:
			at += 2
			if r.done() {
				n = r.n
				v.end = at
			}
			v.cut = at < len(text) && r.n >= longest/4 && r.done()
			next := at
			for next < min(at+2, len(text)) && isSeparator(text[next]) {
				next++
			}
			if r.n == 1 {
				sep = text[at:next]
			}
			v.firm = v.cut || next < len(text) && (next == at || text[at:next] != sep)
			if !v.firm && next < len(text) {
				at = next
				continue
			}
		}
		if n < least {
			return verdict{end: i, firm: v.firm}
		}
		v.kind = pairsKind
		return v
	}
}

// digits returns where the digits of a number in hex begin: behind 0x, if that stands there.
func digits(text string, at int) int {
	if at+1 < len(text) && text[at] == '0' && text[at+1]|0x20 == 'x' {
		return at + 2
	}
	return at
}

func isSeparator(c byte) bool {
	return c == ' ' || c == ':' || c == ',' || c == '-' || c == ';' || c == '\n'
}

// hexRun judges hex digits from one that begins a word to the word's end, or from 0x on.
func hexRun(text string, i int, goesOn bool) verdict {
	least := leastBytes
	if goesOn {
		least = 1
	}
	var r reading
	at := digits(text, i)
	for ; at < len(text) && isWord(text[at]); at += 2 {
		switch {
		case nibbles[text[at]] != 0xff && at+1 == len(text):
			return verdict{end: i}
		case at+1 == len(text), !r.hex(text[at:]):
			return verdict{end: i, firm: true}
		case r.n >= longest/2 && r.done():
			return verdict{kind: hexKind, end: at + 2, firm: true, cut: true}
		}
	}
	v := verdict{end: i, firm: at < len(text)}
	if r.n >= least && r.done() {
		v.kind = hexKind
		v.end = at
	}
	return v
}
