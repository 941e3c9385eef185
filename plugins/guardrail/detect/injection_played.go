package detect

import "strings"

// together is how far apart the words of a scheme may stand, in bytes.
const together = 120

// played are the places where the roles of a scheme were played last in a sentence.
type played struct{ start, end [3]int }

var none = played{start: [3]int{-1, -1, -1}}

// together says whether all roles of a scheme were played near one another, the last up to end; and where what is found
// begins.
func (p *played) together(s *scheme, end int) (from int, ok bool) {
	from = end
	for role, words := range s.roles {
		at := p.start[role]
		if words != "" && (at < 0 || end-at > together) {
			return 0, false
		}
		if role < 2 && words != "" {
			from = min(from, at)
		}
	}
	return from, true
}

// negated says whether a word is not what is asked for: don't forget, forget to. It ends a text if that is not known yet,
// or if the word may go on.
func negated(text string, start, end int) (denied, ends bool) {
	for _, not := range [...]string{"don't ", "don\u2019t ", "not ", "never "} {
		if n := start - len(not); n >= 0 && foldPrefix(text[n:start], not) {
			return true, false
		}
	}
	if !foldPrefix(text[start:end], "forget") {
		return false, end == len(text)
	}
	const to = " to "
	return foldPrefix(text[end:], to), len(text)-end < len(to) && foldPrefix(to, strings.ToLower(text[end:]))
}

// whole says whether text[start:end] is no part of a longer word, in scripts that part words.
func whole(text string, start, end int) bool {
	return apart(text, start-1, start) && apart(text, end, end-1)
}

// apart says whether the byte outside is not of one word with the byte inside.
func apart(text string, outside, inside int) bool {
	if outside < 0 || outside >= len(text) || text[inside] >= 0xe0 || text[inside] < 0x80 && !isWord(text[inside]) {
		return true
	}
	return !isWord(text[outside]) && !leadsLetter(text[outside])
}
