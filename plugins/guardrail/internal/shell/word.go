package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// What is not known of a word stands in it as one of these characters, which no command can hold.
const (
	anything = "\x00" // any text, also several words, or none
	oneWord  = "\x01" // any text, within the word
	segment  = "\x02" // any text without a slash: a star in the name of a file
	single   = "\x03" // one character that is no slash
	unknowns = anything + oneWord + segment + single
)

const (
	maxBraces = 100 // words that the braces of one word may make
	maxOpen   = 20  // braces of one word
	maxBraced = 200 // braces of all words
)

// known returns a text without what is not known of it.
func known(s string) string {
	if !strings.ContainsAny(s, unknowns) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < rune(len(unknowns)) {
			return -1
		}
		return r
	}, s)
}

var showing = strings.NewReplacer(anything, "…", oneWord, "…", segment, "*", single, "?")

// shown returns a text for people.
func shown(s string) string {
	return showing.Replace(s)
}

// clean returns a path in its shortest form.
func clean(file string) string {
	if strings.ContainsAny(file, "/.") {
		return path.Clean(file)
	}
	return file
}

// fields returns the words that words of a line become, with their braces expanded.
func (p *parser) fields(words []*syntax.Word) []string {
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

// allWords is a word that may be any number of words.
var allWords = &syntax.Word{Parts: []syntax.WordPart{
	&syntax.ParamExp{Param: &syntax.Lit{Value: "@"}},
}}

// braces returns the words that the braces in a word make of it.
func (p *parser) braces(w *syntax.Word) []*syntax.Word {
	open := 0
	expands := false
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
			expands = expands || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	if open == 0 || !expands {
		return []*syntax.Word{w}
	}
	p.braced += open
	if open > maxOpen || p.braced > maxBraced {
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

// word returns what a word becomes. In quotes, or as input, nothing in it makes several words.
func (p *parser) word(w *syntax.Word, quoted bool) string {
	if w == nil {
		return ""
	}
	return p.parts(w.Parts, quoted)
}

func (p *parser) parts(parts []syntax.WordPart, quoted bool) string {
	var b strings.Builder
	for _, part := range parts {
		switch x := part.(type) {
		case *syntax.Lit:
			b.WriteString(literal(x.Value, quoted))
		case *syntax.DblQuoted:
			b.WriteString(p.parts(x.Parts, true))
		case *syntax.SglQuoted:
			b.WriteString(singleQuoted(x))
		case *syntax.ArithmExp:
			b.WriteString(oneWord)
		case *syntax.CmdSubst:
			b.WriteString(expanded(quoted))
		case *syntax.ParamExp:
			several := x.Param == nil || x.Param.Value == "@" || x.Excl
			if w, ok := x.Index.(*syntax.Word); ok && w.Lit() == "@" {
				several = true
			}
			b.WriteString(expanded(quoted && !several))
		default:
			b.WriteString(anything)
		}
	}
	return b.String()
}

// expanded is what an expansion becomes.
func expanded(one bool) string {
	if one {
		return oneWord
	}
	return anything
}

func singleQuoted(x *syntax.SglQuoted) string {
	text := x.Value
	if x.Dollar {
		var err error
		text, err = expand.Literal(&expand.Config{}, &syntax.Word{Parts: []syntax.WordPart{x}})
		if err != nil {
			return oneWord
		}
	}
	if known(text) != text {
		return oneWord
	}
	return text
}

// literal undoes the escapes of a literal, and marks what is a pattern of file names.
func literal(s string, quoted bool) string {
	if !strings.ContainsAny(s, "\\*?["+unknowns) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i++
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
			b.WriteByte(s[i])
		case c < byte(len(unknowns)):
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
