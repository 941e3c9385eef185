package detect

import "strings"

// An assignment is what follows a name: name = value, "name": "value", <name>value</name>, call("name", "value"),
// --name value, and the same after a type or a few more words.
type assignment struct {
	name       string // up to the operator, with what may be a type
	start, end int    // the value
	quoted     bool
	spoken     bool // name is value
	open       bool // the value may go on
}

const (
	maxName  = 64
	maxValue = 512
)

// assignment reads on from a word in a name, text[start:end]. It is not ok if no value follows, or none yet.
func (s *scan) assignment(start, end int) (a assignment, ok bool) {
	text := s.text
	begin := start
	for begin > 0 && start-begin < maxName && isName(text[begin-1]) {
		begin--
	}
	i := end
	for i < len(text) && i-end < maxName && isName(text[i]) {
		i++
	}
	flag := text[begin] == '-' && (i < len(text) && (text[i] == ' ' || text[i] == '='))
	nameEnd := i
	if flag && i < len(text) && text[i] == ' ' {
		i++
	} else if i, nameEnd, a.spoken = s.operator(i); i < 0 {
		return a, false
	}
	a.name = text[begin:nameEnd]
	return s.value(a, i)
}

// operator reads from the end of a name, over words, quotes and brackets, to the end of an operator; -1 if there is
// none. nameEnd is where the words end.
func (s *scan) operator(i int) (after, nameEnd int, spoken bool) {
	text := s.text
	nameEnd = i
	for range 3 {
		j := i
		for j < len(text) && j-i < 24 && (text[j] == ' ' || text[j] == '\t') {
			j++
		}
		k := j
		for k < len(text) && k-j < 24 && isName(text[k]) {
			k++
		}
		if k == j || j == i {
			break
		}
		if w := text[j:k]; k < len(text) && (w == "is" || w == "are" || w == "was") {
			return k, nameEnd, true
		}
		i, nameEnd = k, k
	}
	quote := false
	for n := 0; n < 24 && i < len(text); n++ {
		switch text[i] {
		case '"', '\'', '`':
			quote = true
		case ' ', '\t', ']', ')', '\\', '*':
		default:
			n = 24
			i--
		}
		i++
	}
	if i >= len(text) {
		return -1, 0, false
	}
	switch c := text[i]; c {
	case ':', '=':
		for i < len(text) && (text[i] == ':' || text[i] == '=' || text[i] == '>' || text[i] == '~') {
			i++
		}
		return i, nameEnd, false
	case '?', '.', '+', '|':
		if i+1 < len(text) && (text[i+1] == '=' || c == '|' && text[i+1] == '|') {
			return i + 2, nameEnd, false
		}
	case '>':
		return i + 1, nameEnd, false
	case ',':
		if quote {
			return i + 1, nameEnd, false
		}
	case '(':
		if i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\'') {
			return i + 1, nameEnd, false
		}
	}
	return -1, 0, false
}

// value reads a value after an operator.
func (s *scan) value(a assignment, i int) (assignment, bool) {
	text, operator := s.text, s.text[i-1]
	lines, from := false, i
	for i < len(text) && i-from < 64 && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' || text[i] == '=') {
		lines = lines || text[i] == '\n'
		i++
	}
	if i+1 < len(text) && isLetter(text[i]) && (text[i+1] == '"' || text[i+1] == '\'') {
		i++ // b"…", r'…'
	}
	if i+1 < len(text) && text[i] == '\\' && (text[i+1] == '"' || text[i+1] == '\'') {
		i++
	}
	quote := byte(0)
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		quote, a.quoted = text[i], true
		i++
	}
	if lines && !a.quoted && operator != '>' {
		return a, false
	}
	a.start = i
	for ; i < len(text); i++ {
		c := text[i]
		if c == quote || c <= ' ' || c == '\\' || c == 0x7f || i-a.start > maxValue {
			break
		}
		if quote == 0 && !unquotedSet[c] && (c != '&' || !a.spoken) {
			break
		}
	}
	a.end, a.open = i, i == len(text) && i-a.start <= maxValue
	if i-a.start > maxValue {
		return a, false
	}
	if i < len(text) && (text[i] == '(' || text[i] == '[' || text[i] == '{') {
		return a, false // a call, an index
	}
	if strings.HasSuffix(text[a.start:a.end], "..") {
		return a, a.open // shortened
	}
	if !a.quoted {
		a.end = a.start + len(strings.TrimRight(text[a.start:a.end], ".:"))
	}
	return a, a.open || a.end > a.start
}

// isName tells whether a byte may be part of a name in code or configuration.
func isName(c byte) bool { return isWord(c) || c == '-' || c == '.' || c == '$' }

// unquotedSet are bytes that a value without quotes may have.
var unquotedSet = readSet("A-Za-z0-9_.+/=~%!@#$^*?|:-")
