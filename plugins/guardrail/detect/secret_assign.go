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
	flag := (text[begin] == '-' || begins(text[:begin], "ENV ") || begins(text[:begin], "ARG ") || begins(text[:begin], "setx ")) && (i < len(text) && (text[i] == ' ' || text[i] == '='))
	nameEnd := i
	if flag && i < len(text) && text[i] == ' ' {
		i++
	} else if i, nameEnd, a.spoken = s.operator(i); i < 0 || text[i-1] == ',' && !isArgument(text, begin) {
		return a, false
	}
	a.name = text[begin:nameEnd]
	return s.value(a, i)
}

// begins tells whether a text ends with a command that a line begins with.
func begins(text, command string) bool {
	line, ok := strings.CutSuffix(text, command)
	return ok && (line == "" || line[len(line)-1] <= ' ')
}

// isArgument tells whether a name in quotes is the first argument of a call.
func isArgument(text string, at int) bool {
	return at > 1 && text[at-2] == '(' && (text[at-1] == '"' || text[at-1] == '\'' || text[at-1] == '`')
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
	switch {
	case a.quoted:
		for i < len(text) && i-a.start <= maxValue && text[i] != quote && text[i] > ' ' && text[i] != '\\' {
			i++
		}
	default:
		i = s.unquoted(i)
		if a.spoken && i < len(text) && text[i] == '&' {
			i = s.unquoted(i + 1) // elsewhere it ends a value in a URL
		}
	}
	if next := afterType(text, a.start, i); next > 0 && operator == ':' && !a.quoted {
		return s.value(a, next)
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

// afterType is where the value begins in name: Type = value, whose type is text[start:end]; 0 if it is no such thing.
func afterType(text string, start, end int) int {
	switch text[start:end] {
	case "string", "String", "str", "Text", "text", "bytes", "any", "Secret":
		if strings.HasPrefix(text[end:], " = ") {
			return end + len(" = ")
		}
	}
	return 0
}

// unquoted is where a value without quotes ends.
func (s *scan) unquoted(at int) int {
	if at < s.run[0] || at >= s.run[1] {
		end := at
		for end < len(s.text) && unquotedSet[s.text[end]] {
			end++
		}
		s.run = [2]int{at, end}
	}
	return max(at, s.run[1])
}

// isName tells whether a byte may be part of a name in code or configuration.
func isName(c byte) bool { return isWord(c) || c == '-' || c == '.' || c == '$' }

// unquotedSet are bytes that a value without quotes may have.
var unquotedSet = readSet("A-Za-z0-9_.+/=~%!@#$^*?|:-")
