package detect

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// An assignment is a name and the value that follows it: name = value, "name": "value",
// <name>value</name>, call("name", "value"), --name value, and the same after a type or a few more
// words.
type assignment struct {
	name       string // up to the operator, with what may be a type
	start, end int    // the value
	quoted     bool
	spoken     bool // name is value
	listed     bool // "name", "value" outside of a call
	paired     bool // name = ("user", "value")
	header     bool // -H "name: value"
	bare       bool // nothing but a space is between name and value
	loose      bool // and nothing else says that there is a value
	several    bool // the value is one of a list
	list       int  // where the list begins
	query      bool // the name follows ? or & as in a URL
	open       bool // the value may go on
}

const (
	maxName  = 64
	maxValue = 512
)

// unquotedSet are the bytes that a value without quotes may have.
var unquotedSet = pattern.MustSet("A-Za-z0-9_.+/=~%!@#$^*?|:-")

// quotedValueSet are those that one in quotes may have, beside the other quotes; blankSet those
// before a value.
var (
	quotedValueSet = pattern.MustSet("!-[]-\xff")
	blankSet       = pattern.MustSet(" \t\n\r=")
)

// isName tells whether a byte may be part of a name in code or configuration.
func isName(c byte) bool { return nameSet[c] }

var nameSet = pattern.MustSet("A-Za-z0-9_.$-")

// nameAround returns the name that a word is part of, which is text[start:end].
func (s *scan) nameAround(start, end int) part {
	for first := start; start > 0 && first-start < maxName && isName(s.text[start-1]); {
		start--
	}
	return part{start, nameSet.Run(s.text, end, maxName)}
}

// english returns the assignment to a name in which a keyword ends at end, with English words for
// "is". It is kept for other keywords of the same name, such as api and key in api_key.
func (s *scan) english(name part, end int) (a assignment, ok bool) {
	if name == s.named {
		return s.shared, true
	}
	a, ok = s.assignment(name, end, &s.verbs)
	if ok && !a.bare {
		s.named = name
		s.shared = a
	}
	return a, ok
}

// assignment reads the assignment to a name in which a keyword ends at end; verbs are the words for
// "is" in the keyword's language. It is not ok if no value follows.
func (s *scan) assignment(name part, end int, verbs *verbs) (a assignment, ok bool) {
	text := s.text
	i, nameEnd, spoken := s.operator(name.end, verbs)
	a.spoken = spoken
	if text[name.start] == '-' && strings.HasPrefix(text[name.end:], " ") { // an option of a command
		i = name.end + 1
		nameEnd = name.end
		a.spoken = false
	}
	row := false
	if i < 0 {
		i = inForm(text, name)
	}
	if i < 0 && isRow(text, name) {
		i = name.end + 1
		row = true
	}
	if i < 0 {
		i, a.loose = s.bare(name.start, end)
		if i < 0 {
			return a, false
		}
		a.bare = true
		nameEnd = end
	} else if nameEnd == 0 {
		nameEnd = name.end
	}
	if text[i-1] == '|' && text[i-2] != '|' && !isCell(text, name.start) {
		return a, false
	}
	if strings.HasSuffix(text[:name.start], ":<") &&
		strings.HasPrefix(text[i-1:], ">@") { // <user>:<password>@host
		return a, false
	}
	a.listed = text[i-1] == ',' && !row && !isArgument(text, name.start)
	a.name = s.qualified(name.start, nameEnd)
	a.header = inHeader(text[:name.start])
	a.query = name.start > 0 && (text[name.start-1] == '?' || text[name.start-1] == '&')
	return s.value(a, i)
}

// bareValue returns the value behind a keyword that is part of a name, if only a space is between.
func (s *scan) bareValue(name part, end int) (a assignment, ok bool) {
	i, loose := s.bare(name.start, end)
	if i < 0 {
		return a, false
	}
	a = assignment{
		name:   s.qualified(name.start, end),
		bare:   true,
		loose:  loose,
		header: inHeader(s.text[:name.start]),
	}
	a, ok = s.value(a, i)
	if !ok || a.quoted {
		return a, ok
	}
	value := strings.TrimRight(s.text[a.start:a.end], "=")
	return a, !strings.Contains(value, "=") // else it is a name and its value
}

// qualified returns the name text[begin:end]. If that is the word key, it has the word before it,
// which says what the key is for: license key.
func (s *scan) qualified(begin, end int) string {
	text := s.text
	name := text[begin:end]
	if begin < 2 || name != "key" && name != "Key" || text[begin-1] != ' ' ||
		!isLetter(text[begin-2]) {
		return name
	}
	from := begin - 1
	for from > 0 && begin-from < maxName && isLetter(text[from-1]) {
		from--
	}
	if s.opensKey(text[from : begin-1]) {
		return text[from:end]
	}
	return name
}

// isRow tells whether a name and a value are a row of a file of comma-separated values: DB_PASSWORD,value.
func isRow(text string, name part) bool {
	return name.end+1 < len(text) && text[name.end] == ',' && text[name.end+1] > ' ' &&
		(name.start == 0 || text[name.start-1] == '\n')
}

// inForm returns where the value of a field of a form begins whose name it is, as forms are sent in several parts:
// name="password", an empty line, the value; -1 if it is none.
func inForm(text string, name part) int {
	before := text[max(0, name.start-maxName):name.start]
	field := strings.LastIndex(before, `name="`)
	if field < 0 || strings.ContainsAny(before[field+len(`name="`):], " \"\n") {
		return -1
	}
	rest := strings.TrimPrefix(text[name.end:], "]")
	for _, end := range [...]string{"\"\r\n\r\n", "\"\n\n"} {
		if strings.HasPrefix(rest, end) {
			return len(text) - len(rest) + len(end)
		}
	}
	return -1
}

// isCell tells whether a name begins the first cell of a row of a table: a line.
func isCell(text string, begin int) bool {
	before := strings.TrimRight(text[max(0, begin-16):begin], " *`")
	before = strings.TrimRight(strings.TrimSuffix(before, "|"), " ")
	return before == "" || before[len(before)-1] == '\n'
}

// isArgument tells whether a name in quotes is the first argument of a call.
func isArgument(text string, start int) bool {
	if start == 0 || strings.IndexByte("\"'`", text[start-1]) < 0 {
		return false
	}
	return strings.HasSuffix(strings.TrimRight(text[max(0, start-maxName):start-1], " "), "(")
}

// inHeader tells whether what is before a name is curl's option for a header and a quote.
func inHeader(before string) bool {
	n := len(before) - 1
	if n < 3 || before[n] != '"' && before[n] != '\'' {
		return false
	}
	return strings.HasSuffix(before[:n], "-H ") || strings.HasSuffix(before[:n], "--header ")
}

// value reads the value after an operator that ends at i, and completes the assignment with it.
func (s *scan) value(a assignment, i int) (assignment, bool) {
	text := s.text
	operator := text[i-1]

	// What stands before the value.
	if strings.HasPrefix(text[i:], "** ") { // **Password:** value
		i += len("**")
	}
	from := i
	i = blankSet.Run(text, i, 64)
	lines := strings.IndexByte(text[from:i], '\n') >= 0
	if i+1 < len(text) && isLetter(text[i]) && (text[i+1] == '"' || text[i+1] == '\'') {
		i++ // b"…", r'…'
	}
	if i+1 < len(text) && text[i] == '\\' && (text[i+1] == '"' || text[i+1] == '\'') {
		i++
	}
	if i+1 < len(text) && operator == ':' {
		switch text[i] {
		case '{': // "password": {"value": "…"}
			next := s.valueField(i+1, true)
			if next > 0 {
				return s.value(a, next)
			}
		case '[': // "passwords": ["…"]
			next := hiddenSet.Run(text, i+1, 63)
			if next < len(text) && (text[next] == '"' || text[next] == '\'') {
				i = next
				a.several = true
				a.list = i
			}
		}
	}
	if operator == '=' {
		next := behindUser(text, i)
		if next > 0 {
			i = next
			a.paired = true
		}
	}
	if operator == ':' {
		for _, kind := range [...]string{"&str = ", "&'static str = "} {
			if strings.HasPrefix(text[i:], kind) {
				return s.value(a, i+len(kind))
			}
		}
	}
	quote := byte(0)
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		quote = text[i]
		a.quoted = true
		i++
	}
	if lines && !a.quoted && operator != '>' {
		return a, false
	}

	// The value.
	begun := false // what follows & may go on
	a.start = i
	if a.quoted {
		i = quotedValueSet.Run(text, i, maxValue+1)
		n := strings.IndexByte(text[a.start:i], quote)
		if n >= 0 {
			i = a.start + n
		}
	} else {
		i = s.unquoted(i)
		if i < len(text) && text[i] == '&' && !a.query {
			end := s.unquoted(i + 1)
			begun = end == len(text)
			if a.spoken || s.isBehindMark(i+1, end, operator) {
				i = end
			}
		}
		next := afterType(text, a.start, i)
		if next > 0 && operator == ':' {
			return s.value(a, next)
		}
	}
	a.end = i
	a.open = (i == len(text) || begun) && i-a.start <= maxValue

	// What it cannot be.
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

// isBehindMark tells whether text[at:end] behind & goes on with a password, as in pw: Tulip&47chat.
// In a form, a=b&c=d, the next name and = stand there, and in HTML the name of a character.
func (s *scan) isBehindMark(pos, end int, operator byte) bool {
	rest := s.text[pos:end]
	if strings.ContainsAny(rest, "0123456789") {
		return strings.IndexByte(rest, '=') < 0
	}
	return operator == ':' && rest != "" && end < len(s.text) && s.text[end] != ';'
}

// behindUser returns where the second text begins in ("user", "password"), as Python's libraries
// take them; 0 if none does.
func behindUser(text string, i int) int {
	if i+2 >= len(text) || text[i] != '(' || text[i+1] != '"' && text[i+1] != '\'' {
		return 0
	}
	n := strings.IndexByte(text[i+2:min(len(text), i+2+maxName)], text[i+1])
	j := i + 2 + n
	if n > 0 && strings.HasPrefix(text[j+1:], ", "+text[i+1:i+2]) {
		return j + len("', ")
	}
	return 0
}

// afterType returns where the value begins in name: Type = value, whose type is text[start:end]; 0
// if it is no such thing.
func afterType(text string, start, end int) int {
	switch text[start:end] {
	case "string", "String", "str", "Text", "text", "bytes", "any", "Secret":
		if strings.HasPrefix(text[end:], " = ") {
			return end + len(" = ")
		}
	}
	return 0
}

// unquoted returns where a value without quotes ends.
func (s *scan) unquoted(pos int) int {
	if pos < s.run.start || pos >= s.run.end {
		s.run = part{pos, unquotedSet.Run(s.text, pos, len(s.text))}
	}
	return max(pos, s.run.end)
}
