package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declared looks at the arguments of declare and its like.
func (p *parse) declared(x *syntax.DeclClause) {
	exports := x.Variant.Value == "export"
	for _, a := range x.Args {
		if a.Name != nil {
			if exports {
				p.exported(a.Name.Value, p.value(a))
			}
			continue
		}
		if a.Value == nil {
			continue
		}
		word := p.word(a.Value, false)
		switch {
		case strings.HasPrefix(word, "-") && (strings.ContainsAny(word, "in") || known(word) != word):
			p.unresolved("%s %s may make a number or a name of a text, which may run a command", x.Variant.Value, shown(word))
		case strings.HasPrefix(word, "-"):
			exports = exports || strings.Contains(word, "x")
		default:
			name, value, given := strings.Cut(word, "=")
			p.variable(x.Variant.Value, name)
			p.set(name, value)
			if exports && given {
				p.exported(name, value)
			} else if exports {
				p.exported(name, oneWord)
			}
		}
	}
}

// tested looks at the tests that evaluate their operands.
func (p *parse) tested(node syntax.Node) {
	switch x := node.(type) {
	case *syntax.UnaryTest:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			p.variable("[[ -v", p.word(w, true))
		}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					p.arithmetic(w)
				}
			}
		}
	}
}

var indexed = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*(\[[0-9@*]+\])?\+?$`)

// variable notes a name that a command takes for a variable's, if it may hold an index that runs a command.
func (p *parse) variable(by, name string) {
	if !indexed.MatchString(name) {
		p.unresolved("which variable %s is given is not known: an index may run a command", by)
	}
}

// takesNames are builtins that take names of variables: options with a value, and those whose value is one.
var takesNames = map[string]struct{ value, name string }{
	"read": {"dinNptu", "a"}, "printf": {"", "v"}, "unset": {}, "mapfile": {"dnOsuCc", ""}, "readarray": {"dnOsuCc", ""}, "wait": {"", "p"}, "getopts": {}, "local": {}, "export": {}, "readonly": {}, "declare": {}, "typeset": {}, "let": {},
}

// names looks at the names that builtins are given.
func (p *parse) names(name string, args []string) {
	if name == "test" || name == "[" {
		for i, a := range args {
			next := ""
			if i+1 < len(args) {
				next = args[i+1]
			}
			switch {
			case strings.Contains(a, anything), a == oneWord && (strings.Contains(next, "[") || next == oneWord):
				p.unresolved("what %s tests is not known: an index may run a command", name)
				return
			case a == "-v" || a == "-R":
				p.variable(name, next)
			}
		}
		return
	}
	takes, ok := takesNames[name]
	if !ok {
		return
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) > 1 && a[0] == '-' {
			if known(a) != a {
				p.unresolved("an option of %s is not known: an index may run a command", name)
				return
			}
			for k := 1; k < len(a); k++ {
				if strings.IndexByte(takes.value+takes.name, a[k]) < 0 {
					continue
				}
				value := a[k+1:]
				if value == "" && i+1 < len(args) {
					i++
					value = args[i]
				}
				if strings.IndexByte(takes.name, a[k]) >= 0 {
					p.variable(name, value)
					p.set(value, oneWord)
				}
				break
			}
			continue
		}
		switch name {
		case "printf", "wait":
			if i == 0 && (strings.Contains(a, anything) || a != "" && strings.Contains(unsteady, a[:1])) && len(args) > 1 {
				p.unresolved("whether %s is given an option is not known", name)
			}
			return
		case "getopts":
			if i == 0 {
				continue
			}
			p.variable(name, a)
			p.set(a, oneWord)
			return
		case "unset":
			p.variable(name, a)
		case "read", "mapfile", "readarray":
			p.variable(name, a)
			p.set(a, oneWord)
		default: // as in command declare x=y
			key, value, given := strings.Cut(a, "=")
			p.variable(name, key)
			if !given {
				value = oneWord
			}
			p.set(key, value)
			p.exported(key, value)
		}
	}
}
