package detect

import "strings"

// operator reads from the end of a name, over words, quotes and brackets, to the end of an operator; -1 if there is
// none. nameEnd is where the words end.
func (s *scan) operator(i int, verbs []string) (after, nameEnd int, spoken bool) {
	text := s.text
	nameEnd = i
	whose := false // the words behind a preposition are not what has the value
	for range 5 {
		j := i
		for j < len(text) && j-i < 24 && (text[j] == ' ' || text[j] == '\t') {
			j++
		}
		if n := verb(text[j:], verbs, j > i); n > 0 {
			return j + n, nameEnd, true
		}
		k := j
		for k < len(text) && k-j < 24 && isName(text[k]) {
			k++
		}
		if k == j || j == i {
			break
		}
		whose = whose || text[j:k] == "for" || text[j:k] == "of" || text[j:k] == "to" || text[j:k] == "on"
		if i = k; !whose {
			nameEnd = k
		}
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
	if after := s.valueField(i, quote); after >= 0 {
		return after, nameEnd, false
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
		if c == '|' {
			return i + 1, nameEnd, false
		}
	case '>':
		return i + 1, nameEnd, false
	case 0xef:
		if strings.HasPrefix(text[i:], "：") {
			return i + len("："), nameEnd, false
		}
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

// valueField reads over a field's name in what YAML, JSON, XML and HCL say of an environment: name: X, value: …, or
// key="X" value="…", or variable "X" { default = …; -1 if none is there.
func (s *scan) valueField(i int, quoted bool) int {
	text, from := s.text, i
	for i < len(text) && i-from < 40 && (text[i] == ',' || text[i] == '"' || text[i] == '\'' || text[i] == '\\' || text[i] == '{' || text[i] <= ' ') {
		i++
	}
	switch {
	case i == from && !quoted:
		return -1
	case foldPrefix(text[i:], "value"):
		i += len("value")
	case foldPrefix(text[i:], "default"):
		i += len("default")
	default:
		return -1
	}
	for i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '\\' || text[i] == ' ') {
		i++
	}
	if i < len(text) && (text[i] == ':' || text[i] == '=') {
		return i + 1
	}
	return -1
}
