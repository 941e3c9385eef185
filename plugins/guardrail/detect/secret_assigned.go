package detect

import "strings"

// value reads a value after an operator.
func (s *scan) value(a assignment, i int) (assignment, bool) {
	text, operator := s.text, s.text[i-1]
	lines := false
	if strings.HasPrefix(text[i:], "** ") { // **Password:** value
		i += len("**")
	}
	from := i
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
	if next := behindUser(text, i); operator == '=' && next > 0 {
		i, a.paired = next, true
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

// behindUser is where the second text begins in ("user", "password"), as Python's libraries take them; 0 if none does.
func behindUser(text string, i int) int {
	if i+2 >= len(text) || text[i] != '(' || text[i+1] != '"' && text[i+1] != '\'' {
		return 0
	}
	n := strings.IndexByte(text[i+2:min(len(text), i+2+maxName)], text[i+1])
	if j := i + 2 + n; n > 0 && strings.HasPrefix(text[j+1:], ", "+text[i+1:i+2]) {
		return j + len("', ")
	}
	return 0
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
