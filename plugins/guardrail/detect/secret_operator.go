package detect

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
	if after := s.valueField(i); after >= 0 {
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

// valueField reads over a field's name in what YAML and JSON say of an environment: name: X, value: …; -1 if none is there.
func (s *scan) valueField(i int) int {
	text, from := s.text, i
	for i < len(text) && i-from < 40 && (text[i] == ',' || text[i] == '"' || text[i] == '\'' || text[i] == '\\' || text[i] <= ' ') {
		i++
	}
	if i == from || !foldPrefix(text[i:], "value") {
		return -1
	}
	for i += len("value"); i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '\\'); i++ {
	}
	if i < len(text) && text[i] == ':' {
		return i + 1
	}
	return -1
}
