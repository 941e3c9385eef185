package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changes are variables that change what commands do, or which are run.
var changes = regexp.MustCompile(`^(PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|GIT_.*(SSH|COMMAND|DIFF|PAGER|EDITOR|ASKPASS|CONFIG|PROXY|EXEC_PATH).*|.*PAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PYTHON(STARTUP|PATH|HOME)|NODE_OPTIONS|RUBY(OPT|LIB)|JAVA_TOOL_OPTIONS|MAKEFLAGS|BASH_FUNC_.*|SHELL|TAR_OPTIONS|CC|CXX|GOFLAGS|GOENV|GOTOOLCHAIN|GOROOT|CGO_.*|RUSTC.*|RIPGREP_CONFIG_PATH|IFS|GIT_DIR|GIT_EXTERNAL_DIFF|MANOPT|LESS|LESSKEY.*|PERL5.*|HOSTALIASES)$`)

// set notes an assignment that changes what runs.
func (p *parse) set(name, value string) {
	switch {
	case !changes.MatchString(name):
	case name == "PATH" && strings.HasPrefix(value, oneWord+":"): // what was there comes first
	case strings.HasSuffix(name, "PAGER") && (value == "cat" || value == "" || value == "less"):
	case strings.HasSuffix(name, "EDITOR") && (value == "true" || value == ":"):
	default:
		p.unresolved("setting %s changes what commands do", name)
	}
}

func (p *parse) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	value := p.word(a.Value, false)
	if a.Value != nil && len(a.Value.Parts) > 1 {
		if first, ok := a.Value.Parts[0].(*syntax.ParamExp); ok && first.Param != nil && first.Param.Value == "PATH" && first.Exp == nil {
			if rest, ok := a.Value.Parts[1].(*syntax.Lit); ok && strings.HasPrefix(rest.Value, ":") {
				value = oneWord + ":"
			}
		}
	}
	if q, ok := quotedPath(a.Value); ok {
		value = q
	}
	p.set(a.Name.Value, value)
}

// quotedPath is the same within double quotes.
func quotedPath(w *syntax.Word) (string, bool) {
	if w == nil || len(w.Parts) != 1 {
		return "", false
	}
	q, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(q.Parts) < 2 {
		return "", false
	}
	first, ok := q.Parts[0].(*syntax.ParamExp)
	rest, lit := q.Parts[1].(*syntax.Lit)
	return oneWord + ":", ok && lit && first.Param != nil && first.Param.Value == "PATH" && first.Exp == nil && strings.HasPrefix(rest.Value, ":")
}

// declared looks at the arguments of declare and its like.
func (p *parse) declared(x *syntax.DeclClause) {
	for _, a := range x.Args {
		if !a.Naked || a.Value == nil {
			continue
		}
		word := p.word(a.Value, false)
		switch {
		case strings.HasPrefix(word, "-") && (strings.ContainsAny(word, "in") || known(word) != word):
			p.unresolved("%s %s may make a number or a name of a text, which may run a command", x.Variant.Value, shown(word))
		case strings.HasPrefix(word, "-"):
		default:
			name, value, _ := strings.Cut(word, "=")
			p.variable(x.Variant.Value, name)
			p.set(name, value)
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
			return
		case "unset", "read", "mapfile", "readarray":
			p.variable(name, a)
		default: // as in command declare x=y
			key, value, _ := strings.Cut(a, "=")
			p.variable(name, key)
			p.set(key, value)
		}
	}
}
