package detect

import (
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// Bytes that stand between a name and its value.
var (
	tabSet        = pattern.MustSet(" \t")
	wordOfNameSet = pattern.MustSet("A-Za-z0-9_.$\x80-\xbf\xc3-\xdf-") // letters of other alphabets, too
	closingSet    = pattern.MustSet("\"'` \t])\\*")
	signSet       = pattern.MustSet(":=>~")
	fieldStartSet = pattern.MustSet("\x00- ,\"'\\{")
	fieldEndSet   = pattern.MustSet("\"'\\ ")
)

// operator looks for an operator such as = or "is" behind a name that ends at i; words, quotes and
// brackets may stand between. It returns where the operator ends, -1 if there is none; where the
// words before it end; and whether it is a word itself.
func (s *scan) operator(i int, verbs *verbs) (after, nameEnd int, spoken bool) {
	text := s.text

	// A few more words, or a verb.
	nameEnd = i
	whose := false // the words behind a preposition are not what has the value
	for range 5 {
		j := tabSet.Run(text, i, 24)
		n := verbs.length(text[j:], j > i)
		if n > 0 {
			return j + n, nameEnd, true
		}
		k := wordOfNameSet.Run(text, j, 24)
		if k == j || j == i {
			break
		}
		switch text[j:k] {
		case "for", "of", "to", "on":
			whose = true
		}
		i = k
		if !whose {
			nameEnd = k
		}
	}

	// Quotes, brackets and spaces.
	from := i
	i = closingSet.Run(text, i, 24)
	quote := strings.ContainsAny(text[from:i], "\"'`")
	after = s.valueField(i, quote)
	if after < 0 {
		after = s.sign(i, quote)
	}
	if after < 0 {
		return -1, 0, false
	}
	return after, nameEnd, false
}

// sign returns where an operator such as = or := ends that begins at i; -1 if none does.
func (s *scan) sign(i int, quoted bool) int {
	text := s.text
	if i >= len(text) {
		return -1
	}
	switch c := text[i]; c {
	case ':', '=':
		return signSet.Run(text, i, len(text))
	case '?', '.', '+':
		if i+1 < len(text) && text[i+1] == '=' {
			return i + 2
		}
	case '|':
		if i+1 < len(text) && (text[i+1] == '=' || text[i+1] == '|') {
			return i + 2
		}
		return i + 1
	case '>':
		return i + 1
	case 0xef:
		if strings.HasPrefix(text[i:], "：") {
			return i + len("：")
		}
	case ',':
		if quoted {
			return i + 1
		}
	case '(':
		if i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\'') {
			return i + 1
		}
	}
	return -1
}

// verbs are the words for "is" of some languages.
type verbs struct {
	list  []string
	first pattern.Set // the bytes that they begin with
}

func verbsOf(list []string) verbs {
	v := verbs{list: list}
	for _, verb := range list {
		v.first[verb[0]] = true
	}
	return v
}

// length returns the length of the verb that a text begins with, including a colon behind it; 0 if there
// is none. apart is true if a space stands before the text. If none does, only verbs of scripts that write no
// spaces count.
func (v *verbs) length(text string, apart bool) int {
	if text == "" || !v.first[text[0]] {
		return 0
	}
	for _, verb := range v.list {
		if !strings.HasPrefix(text, verb) || len(text) == len(verb) {
			continue
		}
		next := text[len(verb)]
		if verb[0] < 0xe3 && (!apart || next != ' ' && next != ':') {
			continue
		}
		if next == ':' {
			return len(verb) + 1
		}
		return len(verb)
	}
	return 0
}

// valueField reads over a field's name in what YAML, JSON, XML and HCL say of an environment:
// name: X, value: …, or key="X" value="…", or variable "X" { default = …; -1 if none is there.
func (s *scan) valueField(i int, quoted bool) int {
	text := s.text
	from := i
	i = fieldStartSet.Run(text, i, 40)
	switch {
	case i == from && !quoted:
		return -1
	case foldPrefix(text[i:], "parametervalue"):
		i += len("parametervalue")
	case foldPrefix(text[i:], "value"):
		i += len("value")
	case foldPrefix(text[i:], "default"):
		i += len("default")
	default:
		return -1
	}
	i = fieldEndSet.Run(text, i, len(text))
	if i < len(text) && (text[i] == ':' || text[i] == '=') {
		return i + 1
	}
	return -1
}

// bare returns where a value begins that follows a keyword with only a space between, as in
// PASSWORD 'x' in SQL and in login bob password x in a .netrc; -1 if none does. begin is where the
// name of the keyword begins, and end where the keyword ends. The value is loose if neither quotes
// nor a login say that it is one.
func (s *scan) bare(begin, end int) (after int, loose bool) {
	text := s.text
	i := end
	for i < len(text) && isLetter(text[i]) {
		i++
	}
	if i+1 >= len(text) || text[i] != ' ' || !isLetter(text[begin]) {
		return -1, false
	}
	next := text[i+1]
	if next == '\'' || next == '"' || next == '`' {
		return i + 1, false
	}
	if isBehindUser(text[max(0, begin-maxName):begin]) {
		return i + 1, false
	}
	// The word may go on as tokens does, but no further, and a name with digits is rather a random
	// text.
	if !isLetter(next) && !isDigit(next) || i > end+1 ||
		strings.ContainsAny(text[begin:i], "0123456789") {
		return -1, false
	}
	return i + 1, true
}

// isBehindUser tells whether a text ends with who logs in, as login bob and "user: bob /" do.
func isBehindUser(text string) bool {
	user, before := lastField(text)
	switch user {
	case "/", "|", "&":
		_, before = lastField(before)
	}
	word, _ := lastField(before)
	switch strings.TrimRight(word, ":=") {
	case "login", "user", "username", "account":
		return true
	}
	return false
}

// lastField cuts off what is behind the last space.
func lastField(text string) (field, rest string) {
	text = strings.TrimRight(text, " \t\r\n")
	n := strings.LastIndexAny(text, " \t\r\n") + 1
	return text[n:], text[:n]
}
