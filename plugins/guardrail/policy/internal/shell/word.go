package shell

import (
	"path"
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

// textOf returns what a word becomes. In quotes, or as input, nothing in it makes several words.
func textOf(w *syntax.Word, quoted bool) string {
	if w == nil {
		return ""
	}
	if !quoted && hasBraces(w) {
		return anything
	}
	return textOfParts(w.Parts, quoted)
}

// hasBraces reports whether braces may make several words of a word, as in {a,b}.
func hasBraces(w *syntax.Word) bool {
	var literals strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			literals.WriteString(lit.Value)
		}
	}
	_, behind, opens := strings.Cut(literals.String(), "{")
	return opens && (strings.Contains(behind, ",") || strings.Contains(behind, ".."))
}

func textOfParts(parts []syntax.WordPart, quoted bool) string {
	var b strings.Builder
	for _, part := range parts {
		switch x := part.(type) {
		case *syntax.Lit:
			b.WriteString(literal(x.Value, quoted))
		case *syntax.DblQuoted:
			b.WriteString(textOfParts(x.Parts, true))
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
