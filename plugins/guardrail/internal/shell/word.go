package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// What is not known of a word stands in it as one of these; none can be in a command.
const (
	anything = "\x00" // also several words, or none
	oneWord  = "\x01" // anything, within the word
	segment  = "\x02" // anything but a slash
	single   = "\x03" // one character but a slash
	steadily = "\x04" // one word that begins with no dash
	unknowns = "\x00\x01\x02\x03\x04"
	unsteady = "\x00\x01\x02\x03"
)

const (
	maxBraces = 100 // words that the braces of one word may make
	maxOpen   = 20  // braces of one word, and of all
	maxBraced = 200
)

// steady are variables whose values are single words of no evil, unless the line sets them.
var steady = map[string]bool{"HOME": true, "PWD": true, "OLDPWD": true, "USER": true, "TMPDIR": true, "GOPATH": true, "GOBIN": true, "GOROOT": true,
	"VIRTUAL_ENV": true, "CONDA_PREFIX": true, "JAVA_HOME": true, "UID": true, "RANDOM": true, "HOSTNAME": true, "LOGNAME": true, "?": true, "$": true, "#": true, "!": true}

// known returns a text without what is not known.
func known(s string) string {
	if !strings.ContainsAny(s, unknowns) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r <= 4 {
			return -1
		}
		return r
	}, s)
}

// shown returns a text for people.
func shown(s string) string {
	if known(s) == s {
		return s
	}
	return showing.Replace(s)
}

var showing = strings.NewReplacer(anything, "…", oneWord, "…", steadily, "…", segment, "*", single, "?")

// clean is a path in its shortest form.
func clean(file string) string {
	if strings.ContainsAny(file, "/.") {
		return path.Clean(file)
	}
	return file
}

// fields returns the words that words of a line become, braces expanded.
func (p *parse) fields(words []*syntax.Word) []string {
	var fields []string
	for _, w := range words {
		for _, w := range p.braces(w) {
			fields = append(fields, p.word(w, false))
			if len(fields) > maxWords {
				return fields
			}
		}
	}
	return fields
}

// braces returns the words that the braces in a word make of it.
func (p *parse) braces(w *syntax.Word) []*syntax.Word {
	open, expands := 0, false
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
			expands = expands || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	if open == 0 || !expands {
		return []*syntax.Word{w}
	}
	if p.braced += open; open > maxOpen || p.braced > maxBraced {
		p.unresolved("the braces are too many to be expanded")
		return []*syntax.Word{allWords}
	}
	split := syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(&split) {
		return []*syntax.Word{w}
	}
	var words []*syntax.Word
	for word, err := range expand.BracesSeq(&expand.Config{}, &split) {
		if err != nil || len(words) == maxBraces {
			p.unresolved("the braces in a word make more than %d words", maxBraces)
			return []*syntax.Word{allWords}
		}
		words = append(words, word)
	}
	return words
}

// allWords is a word that may be any number of words.
var allWords = &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Param: &syntax.Lit{Value: "@"}}}}

// word returns what a word becomes. In quotes, or as input, nothing in it makes several words.
func (p *parse) word(w *syntax.Word, quoted bool) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(literal(lit.Value, quoted))
		} else {
			b.WriteString(p.part(part, quoted))
		}
	}
	return b.String()
}

func (p *parse) part(part syntax.WordPart, quoted bool) string {
	switch x := part.(type) {
	case *syntax.SglQuoted:
		if x.Dollar {
			s, err := expand.Literal(&expand.Config{}, &syntax.Word{Parts: []syntax.WordPart{x}})
			if err != nil || strings.ContainsAny(s, unknowns) {
				return oneWord
			}
			return s
		}
		return strings.NewReplacer(anything, oneWord, segment, oneWord, single, oneWord, steadily, oneWord).Replace(x.Value)
	case *syntax.DblQuoted:
		var b strings.Builder
		for _, inner := range x.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				b.WriteString(literal(lit.Value, true))
			} else {
				b.WriteString(p.part(inner, true))
			}
		}
		return b.String()
	case *syntax.ParamExp:
		bare := x.Param != nil && x.Exp == nil && x.Repl == nil && x.Index == nil && !x.Excl && !x.Length
		if bare && (steady[x.Param.Value] && !p.assigned[x.Param.Value] || p.isNumber(x.Param.Value)) {
			return steadily
		}
		several := x.Param == nil || x.Param.Value == "@" || x.Excl
		if w, ok := x.Index.(*syntax.Word); ok && w.Lit() == "@" {
			several = true
		}
		if quoted && !several {
			return oneWord
		}
	case *syntax.ArithmExp:
		return steadily
	case *syntax.CmdSubst:
		if quoted {
			return oneWord
		}
	}
	return anything
}

// literal undoes the escapes of a literal, and marks what is a pattern of file names.
func literal(s string, quoted bool) string {
	if !strings.ContainsAny(s, "\\*?[") && !strings.ContainsAny(s, unknowns) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i++
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
			b.WriteByte(s[i])
		case c <= 4:
			b.WriteString(oneWord)
		case quoted:
			b.WriteByte(c)
		case c == '*':
			b.WriteString(segment)
		case c == '?':
			b.WriteString(single)
		case c == '[' && strings.IndexByte(s[i:], ']') > 0:
			i += strings.IndexByte(s[i:], ']')
			b.WriteString(single)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
