package view

// The fewest bytes that a run must decode to, or letters or digits if they are spaced. A part that continues
// a longer run may be shorter.
const (
	leastBytes   = 8
	leastLetters = 5
	leastDigits  = 9
)

// nibbles holds the values of hex digits, and 0xff.
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

// sixes holds the values of base64's and base64url's characters, and 0xff.
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

// spaced decides about letters and digits that are spaced out: with the same character between any
// two of them. If the first is a digit, it must be spaces, and more of them.
func spaced(text string, i int, goesOn bool) verdict {
	c := text[i] | 0x20
	least := leastLetters
	if c < 'a' || c > 'z' {
		least = leastDigits
	}
	if i+1 == len(text) {
		return verdict{end: i}
	}
	between := text[i+1]
	if least == leastDigits && between != ' ' && !goesOn {
		return verdict{end: i, firm: true}
	}
	switch between {
	case ' ', '.', '-', '_', '*', '|', '~', '\t', '\n', '/', '+', ',':
	default:
		return verdict{end: i, firm: true}
	}
	// the letters that are sure, and where the last of them ends
	n := 1
	end := i + 1
	firm := false
	cut := false
	for at := i + 2; ; at += 2 {
		if at == len(text) {
			break
		}
		if !isWord(text[at]) {
			firm = true
			break
		}
		if at+1 == len(text) {
			n = n + 1
			end = at + 1
			break
		}
		if isWord(text[at+1]) {
			firm = true
			break
		}
		n = n + 1
		end = at + 1
		cut = n >= longest/2
		if cut || text[at+1] != between {
			firm = true
			break
		}
	}
	if n < least && !goesOn {
		return verdict{end: i, firm: firm}
	}
	return verdict{kind: spacedKind, end: end, firm: firm, cut: cut}
}

// pairs decides about bytes in hex with the same characters between any two: 48 65 6c, 48:65:6c,
// 0x48, 0x65.
func pairs(text string, i int, goesOn bool) verdict {
	var r reading
	var sep string
	// the bytes that are sure, and where they end
	n := 0
	end := i
	firm := false
	cut := false
	for at := i; ; {
		if at+1 < len(text) && text[at] == '0' && text[at+1]|0x20 == 'x' {
			at += 2
		}
		if at+2 > len(text) {
			firm = at < len(text) && nibbles[text[at]] == 0xff
			break
		}
		hi := nibbles[text[at]]
		lo := nibbles[text[at+1]]
		if hi|lo > 15 || !r.take(hi<<4|lo) {
			firm = true
			break
		}
		at += 2
		if at < len(text) && isWord(text[at]) {
			firm = true
			break
		}
		if r.done() {
			n = r.n
			end = at
		}
		if at == len(text) {
			break
		}
		if r.n >= longest/4 && r.done() {
			firm = true
			cut = true
			break
		}
		next := at
		for next < min(at+2, len(text)) && isSeparator(text[next]) {
			next++
		}
		if next == len(text) {
			break
		}
		if r.n == 1 {
			sep = text[at:next]
		}
		if next == at || text[at:next] != sep {
			firm = true
			break
		}
		at = next
	}
	if n < leastBytes && (n == 0 || !goesOn) {
		return verdict{end: i, firm: firm}
	}
	return verdict{kind: pairsKind, end: end, firm: firm, cut: cut}
}

func isSeparator(c byte) bool {
	return c == ' ' || c == ':' || c == ',' || c == '-' || c == ';' || c == '\n'
}

// hexRun judges hex digits from one that begins a word to the word's end, or from 0x on.
func hexRun(text string, i int, goesOn bool) verdict {
	at := i
	if at+1 < len(text) && text[at] == '0' && text[at+1]|0x20 == 'x' {
		at += 2
	}
	least := leastBytes
	if goesOn {
		least = 1
	}
	var r reading
	for ; ; at += 2 {
		ended := at == len(text)
		switch {
		case ended || !isWord(text[at]):
			if r.n >= least && r.done() {
				return verdict{kind: hexKind, end: at, firm: !ended}
			}
			return verdict{end: i, firm: !ended}
		case nibbles[text[at]] == 0xff:
			return verdict{end: i, firm: true}
		case at+1 == len(text):
			return verdict{end: i}
		}
		hi := nibbles[text[at]]
		lo := nibbles[text[at+1]]
		if hi|lo > 15 || !r.take(hi<<4|lo) {
			return verdict{end: i, firm: true}
		}
		if r.n >= longest/2 && r.done() {
			return verdict{kind: hexKind, end: at + 2, firm: true, cut: true}
		}
	}
}
