package view

import "unicode/utf8"

// A kind is a way of encoding.
type kind int

const (
	none kind = iota
	percentKind
	entityKind
	backslashKind
	hexKind
	pairsKind
	base64Kind
	spacedKind
	spacedWordKind // spaced, with what stands before the word
)

// longest is how many characters of a run are judged at once. A longer run is judged in parts. So a
// stream holds back a bounded number of bytes, and a finding in a long run stands for the parts
// that hold it, not for the whole run.
const longest = 32

// A verdict is the decision about a place in a text. If kind is set, the bytes from there to end
// are encoded in that way. If kind is none, no encoded run begins before end. If firm is false,
// text that follows later could change the verdict.
type verdict struct {
	kind kind
	end  int
	firm bool
	cut  bool // the run may go on

	char    rune // that a backslash stands for
	between int  // how many bytes stand between letters that are spaced out
}

// leastRun is how many characters the shortest run of base64 has; hex takes more.
const leastRun = (leastBytes*4 + 2) / 3

// class has for each byte what can begin with it: a run of base64 or hex, or an escape such as %41.
var class = func() (t [256]byte) {
	for c := range t {
		switch {
		case isWord(byte(c)):
			t[c] = 'w'
		case c == '%' || c == '&' || c == '\\':
			t[c] = byte(c)
		}
	}
	return t
}()

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// A scanner is where the scan of a text is. The zero value is at its beginning.
type scanner struct {
	offset int
	last   verdict // the last encoded part
	inWord bool    // it is in a word in which nothing is encoded
}

// scan goes on with the scan of a text, and calls found for each encoded part, in order; without found it
// stops at the first. If firm is set, it stops at the first place about which text
// that follows could decide otherwise; the next call, with more text, goes on there. It returns how
// much of the text is settled, and whether anything was found now.
func (s *scanner) scan(text string, found func(start, end int, v verdict), firm bool) (open int, any bool) {
	open = len(text)
	last := s.last
	i := s.offset
	for s.inWord && i < len(text) {
		if class[text[i]] != 'w' {
			s.inWord = false
			break
		}
		i++
	}
	for i < len(text) {
		var v verdict
		start := i
		switch class[text[i]] {
		case 'w':
			last.cut = last.cut && i-last.end <= between(last)
			if !last.cut {
				end := i + 1
				for end < len(text) && class[text[end]] == 'w' {
					end++
				}
				if short(text, i, end) || hopeless(text, i) {
					i = end
					s.inWord = i == len(text)
					continue
				}
			}
			v = word(text, i, last)
			if (last.cut || last.isNear(i)) && (v.kind == last.kind || !v.firm) {
				start = last.end
			}
			s.inWord = v.kind == none && v.end == len(text)
		case '%':
			v = percent(text, i)
		case '&':
			v = entity(text, i)
		case '\\':
			v = backslash(text, i)
		default:
			i++
			continue
		}
		if !v.firm {
			// If no escape begins here, a word right behind may go on with the last run.
			if last.mayGoOn(i) {
				open = min(open, last.end)
			}
			open = min(open, start)
			if firm {
				s.inWord = false
				s.offset = i
				s.last = last
				return open, any
			}
		}
		goesOn := last.cut
		last.cut = false
		if v.kind != none {
			any = true
			if found == nil {
				return open, true
			}
			run := v
			switch {
			case v.kind != last.kind:
				start = i
			case start < i && v.kind == spacedKind && !(goesOn && i-start == last.between):
				run.kind = spacedWordKind
			}
			found(start, v.end, run)
			last = v
		}
		i = v.end
	}
	s.offset = i
	s.last = last
	if last.mayGoOn(len(text)) {
		open = min(open, last.end)
	}
	return open, any
}

// mayGoOn reports whether the run may go on with a word at a place.
func (v *verdict) mayGoOn(at int) bool {
	return v.cut && at-v.end <= between(*v) || v.isNear(at)
}

// isNear reports whether letters are spaced out up to right before a place, so that a word there
// goes on with them.
func (v *verdict) isNear(at int) bool {
	return v.kind == spacedKind && at-v.end <= wordGap(v.between)
}

// between is how many bytes may stand between the parts of a run.
func between(v verdict) int {
	switch v.kind {
	case spacedKind:
		return v.between
	case pairsKind, base64Kind: // a separator, a line end
		return 2
	}
	return 0
}

// encoded says whether anything in a text is encoded.
func encoded(text string) bool {
	var s scanner
	_, any := s.scan(text, nil, false)
	return any
}

// judges decide about runs that begin with a letter or a digit. A later judge is asked only if the
// earlier ones found nothing.
var judges = [...]struct {
	kind  kind
	judge func(text string, i int, goesOn bool) verdict
}{{spacedKind, spaced}, {pairsKind, pairs}, {hexKind, hexRun}, {base64Kind, base64Run}}

// short reports whether a word is too short to be a run. It does not decide about words of one or
// two letters, which may begin a run of spaced letters.
func short(text string, i, end int) bool {
	return end-i > 2 && end-i < leastRun && end < len(text) && sixes[text[end]] == 0xff &&
		text[i+1]|0x20 != 'x'
}

// hopeless reports, after a quick look, that no run begins at i, which is so for most words.
func hopeless(text string, i int) bool {
	if i+1 >= len(text) {
		return false
	}
	c := text[i]
	d := text[i+1]
	if class[d] != 'w' {
		size, ended := spacing(text, i+1)
		return size == 0 && !ended && sixes[d] == 0xff && !isSeparator(d)
	}
	if i+2 >= len(text) {
		return false
	}
	e := text[i+2]
	if hexish(c, d) {
		return false
	}
	if sixes[e] == 0xff {
		return true
	}
	first := sixes[c]<<2 | sixes[d]>>4
	second := sixes[d]<<4 | sixes[e]>>2
	if first < utf8.RuneSelf {
		return !begins(first) || second != 0 && !begins(second)
	}
	return !begins(first) || second&0xc0 != 0x80
}

// hexish says whether hex can begin with two characters.
func hexish(c, d byte) bool {
	hi := nibbles[c]
	lo := nibbles[d]
	return hi|lo <= 15 && begins(hi<<4|lo) || c == '0' && d|0x20 == 'x'
}

// begins says whether a character can begin with a byte.
func begins(b byte) bool {
	return printable(b) || 0xc2 <= b && b <= 0xf4
}

// word decides about the word that begins at i: after a byte that is neither letter nor digit, or
// after the last run.
func word(text string, i int, last verdict) (v verdict) {
	firm := true
	sure := i+1 < len(text) // of what the first two letters say
	for _, j := range judges {
		switch {
		case !sure:
		case j.kind == spacedKind && class[text[i+1]] == 'w',
			(j.kind == pairsKind || j.kind == hexKind) && !hexish(text[i], text[i+1]):
			continue
		}
		v = j.judge(text, i, j.kind == last.kind &&
			(last.cut || last.isNear(i)))
		firm = firm && v.firm
		if v.kind != none {
			break
		}
	}
	v.firm = firm
	if v.kind == none {
		for v.end < len(text) && class[text[v.end]] == 'w' {
			v.end++
		}
	}
	return v
}

// decode adds the source from a byte on with its encoded runs decoded, as scan has it. It returns where
// the last of them ends, if there is one, and how much is settled; what is between is still to be kept.
func (d *draft) decode(s *scanner, done int, firm bool) (last, open int) {
	var room [2 * longest]byte
	open, _ = s.scan(d.source, func(start, end int, v verdict) {
		d.keep(done, start)
		d.put(folded(string(decodeRun(room[:0], d.source[start:end], v))), start, end)
		done = end
	}, firm)
	return done, open
}
