package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// Variables are not followed: what stands in one is not known. This file notes where that matters
// although no word of a command shows it. Bash evaluates a variable in arithmetic once more, and
// runs the command in an index that stands in it: x='a[$(rm y)]'; echo $((x)). And many variables
// name a program, or an option, of the commands that get them.

// variables notes what a part of a line does with variables that may run a command.
func (l *reading) variables(node syntax.Node) {
	switch x := node.(type) {
	case *syntax.ArithmExp:
		l.arithmetic(x.X)
	case *syntax.ArithmCmd:
		l.arithmetic(x.X)
	case *syntax.ArrayElem:
		l.arithmetic(x.Index)
	case *syntax.CStyleLoop, *syntax.LetClause:
		l.unresolved("arithmetic of let and for may run a command")
	case *syntax.BinaryTest:
		if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
			l.arithmetic(x.X)
			l.arithmetic(x.Y)
		}
	case *syntax.UnaryTest:
		word, isWord := x.X.(*syntax.Word)
		switch {
		case x.Op == syntax.TsVarSet, x.Op == syntax.TsRefVar:
			l.word(lookup("*"), variable, textOf(word, true))
		case isWord && x.Op != syntax.TsEmpStr && x.Op != syntax.TsNempStr:
			l.use(use{path: textOf(word, true), reads: yes})
		}
	case *syntax.ParamExp:
		if !plainExpansion.MatchString(l.sourceOf(x)) {
			l.unresolved("an expansion such as %s may set a variable, or run a command", l.sourceOf(x))
		}
	case *syntax.Assign:
		l.arithmetic(x.Index)
		if x.Name != nil {
			l.assign(x.Name.Value, l.value(x), false)
		}
	case *syntax.WordIter:
		l.assign(x.Name.Value, oneWord, false)
	case *syntax.Redirect:
		if x.N != nil { // exec {NAME}<file
			l.assign(strings.Trim(x.N.Value, "{}"), oneWord, false)
		}
	case *syntax.DeclClause:
		l.declaration(x)
	}
}

var (
	// numeric are expressions of numbers, and of variables that bash makes numbers of.
	numeric = lazyregexp.New(`^(\$[#?$!]|\$\{#\w+\}|\b0[xX][0-9a-fA-F]+\b|[^$\x60\\'a-zA-Z_])*$`)

	// plainExpansion matches how an expansion of a variable begins that evaluates nothing but the words in it.
	plainExpansion = lazyregexp.New(`^\$(\w|[@*#?$!-]|\{#?(\w+|[@*#?$!-])(\[[0-9@*]+\])?` +
		`(\}|[#%/^,+?-]|:[?+-]|:[0-9: ]*\}|@[QUuL]\}))`)
)

// arithmetic notes an expression in which something else stands than numbers.
func (l *reading) arithmetic(x syntax.Node) {
	if x != nil && !numeric.MatchString(l.sourceOf(x)) {
		l.unresolved("a variable in arithmetic may run a command: it is not known to be a number")
	}
}

// sourceOf is a part of the line as it is written.
func (l *reading) sourceOf(node syntax.Node) string {
	return l.source[node.Pos().Offset():node.End().Offset()]
}

// declaration looks at declare, export and their like.
func (l *reading) declaration(x *syntax.DeclClause) {
	exports := x.Variant.Value == "export"
	for _, a := range x.Args {
		switch {
		case a.Name != nil:
			l.assign(a.Name.Value, l.value(a), exports)
		case !plainFlags.MatchString(textOf(a.Value, false)):
			l.unresolved("%s may make a number or a name of a text, which may run a command", x.Variant.Value)
		default:
			exports = exports || strings.Contains(l.sourceOf(a), "x")
		}
	}
}

var (
	// plainFlags are those of declare that do not change what a text means, as -i and -n do.
	plainFlags = lazyregexp.New(`^-[aAfFglprtux]+$`)
	// indexed matches the name of a variable, with no index but a number.
	indexed   = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_]*(\[[0-9@*]+\])?\+?$`)
	plainName = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// assignments assigns the NAME=value words at the beginning, and returns the words behind them.
func (l *reading) assignments(words []string) []string {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !plainName.MatchString(name) {
			break
		}
		l.assign(name, value, true)
		words = words[1:]
	}
	return words
}

// assign notes a variable that is set, and given to commands if it is exported, unless no command
// does anything else for it. The table says which variables these are.
func (l *reading) assign(name, value string, exported bool) {
	known := table()["NAME=value"]
	assignment := name + "=" + value
	switch {
	case known.holds("harmless", assignment):
	case known.holds("changing", name):
		l.unresolved("setting %s changes what commands do", shown(name))
	case exported && known.holds("telling", assignment):
		l.unresolved("setting %s may change what commands do", shown(name))
	}
}

// value is what a variable is set to; unknown if it is only named.
func (l *reading) value(a *syntax.Assign) string {
	if a.Naked || a.Array != nil {
		return oneWord
	}
	if a.Value == nil {
		return ""
	}
	if rest, ok := strings.CutPrefix(strings.TrimPrefix(l.sourceOf(a.Value), `"`), "$PATH:"); ok {
		return oneWord + ":" + rest
	}
	return textOf(a.Value, false)
}
