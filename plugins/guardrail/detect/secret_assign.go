package detect

import "strings"

// An assignment is what follows a name: name = value, "name": "value", <name>value</name>, call("name", "value"),
// --name value, and the same after a type or a few more words.
type assignment struct {
	name       string // up to the operator, with what may be a type
	start, end int    // the value
	quoted     bool
	spoken     bool // name is value
	listed     bool // "name", "value" outside a call
	paired     bool // name = ("user", "value")
	header     bool // -H "name: value"
	bare       bool // nothing but a space is between
	loose      bool // and nothing else says that it has a value
	open       bool // the value may go on
}

const (
	maxName  = 64
	maxValue = 512
)

// A name is where one is written.
type name struct{ start, end int }

// nameAround is the name that a word is part of, text[start:end].
func (s *scan) nameAround(start, end int) name {
	n := name{start, end}
	for n.start > 0 && start-n.start < maxName && isName(s.text[n.start-1]) {
		n.start--
	}
	for n.end < len(s.text) && n.end-end < maxName && isName(s.text[n.end]) {
		n.end++
	}
	return n
}

// english is the assignment to a name of which a word is part that ends at end. Words of one name share it, as api and key
// do in api_key.
func (s *scan) english(n name, end int) (a assignment, ok bool) {
	if n == s.named {
		return s.shared, true
	}
	if a, ok = s.assignment(n, end, verbs); ok && !a.bare {
		s.named, s.shared = n, a
	}
	return a, ok
}

// assignment reads on from a name, of which a word that ends at end is part; verbs are the words for is in its language. It is
// not ok if no value follows, or none yet.
func (s *scan) assignment(n name, end int, verbs []string) (a assignment, ok bool) {
	text, begin, i := s.text, n.start, n.end
	flag := (text[begin] == '-' || begins(text[:begin], "ENV ") || begins(text[:begin], "ARG ") || begins(text[:begin], "setx ")) && (i < len(text) && (text[i] == ' ' || text[i] == '='))
	nameEnd := i
	if flag && i < len(text) && text[i] == ' ' {
		i++
	} else {
		if i, nameEnd, a.spoken = s.operator(i, verbs); i < 0 {
			if i, a.loose = s.bare(begin, end); i < 0 {
				return a, false
			}
			a.bare, nameEnd = true, end
		}
		if text[i-1] == '|' && text[i-2] != '|' && !isCell(text, begin) {
			return a, false
		}
		a.listed = text[i-1] == ',' && !isArgument(text, begin)
	}
	a.name, a.header = s.qualified(begin, nameEnd), inHeader(text[:begin])
	return s.value(a, i)
}

// bareValue is what is behind a word that is part of a name, if nothing but a space is between.
func (s *scan) bareValue(n name, end int) (a assignment, ok bool) {
	i, loose := s.bare(n.start, end)
	if i < 0 {
		return a, false
	}
	a, ok = s.value(assignment{name: s.qualified(n.start, end), bare: true, loose: loose, header: inHeader(s.text[:n.start])}, i)
	if ok && !a.quoted && strings.Contains(strings.TrimRight(s.text[a.start:a.end], "="), "=") { // a name and its value
		return a, false
	}
	return a, ok
}

// qualified is the name text[begin:end], with the word before it that says of a key what it is for: license key.
func (s *scan) qualified(begin, end int) string {
	text := s.text
	if name := text[begin:end]; begin > 1 && (name == "key" || name == "Key") && text[begin-1] == ' ' && isLetter(text[begin-2]) {
		from := begin - 1
		for from > 0 && begin-from < maxName && isLetter(text[from-1]) {
			from--
		}
		if unlocks(text[from : begin-1]) {
			return text[from:end]
		}
	}
	return text[begin:end]
}

// isCell tells whether a name begins the first cell of a row of a table in Markdown.
func isCell(text string, begin int) bool {
	before, ok := strings.CutSuffix(strings.TrimRight(text[max(0, begin-16):begin], " *`"), "|")
	before = strings.TrimRight(before, " ")
	return ok && (before == "" || before[len(before)-1] == '\n')
}

// begins tells whether a text ends with a command that a line begins with.
func begins(text, command string) bool {
	line, ok := strings.CutSuffix(text, command)
	return ok && (line == "" || line[len(line)-1] <= ' ')
}

// isArgument tells whether a name in quotes is the first argument of a call.
func isArgument(text string, at int) bool {
	if at == 0 || text[at-1] != '"' && text[at-1] != '\'' && text[at-1] != '`' {
		return false
	}
	for at--; at > 0 && text[at-1] == ' '; at-- {
	}
	return at > 0 && text[at-1] == '('
}

// inHeader tells whether what is before a name is curl's option for a header and a quote.
func inHeader(before string) bool {
	n := len(before) - 1
	return n > 2 && (before[n] == '"' || before[n] == '\'') && (strings.HasSuffix(before[:n], "-H ") || strings.HasSuffix(before[:n], "--header "))
}

// isName tells whether a byte may be part of a name in code or configuration.
func isName(c byte) bool { return isWord(c) || c == '-' || c == '.' || c == '$' }

// unquotedSet are bytes that a value without quotes may have.
var unquotedSet = readSet("A-Za-z0-9_.+/=~%!@#$^*?|:-")
