package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bash evaluates the value of a variable in arithmetic once more, and runs the command in an index that stands in it:
// x='a[$(rm y)]'; echo $((x)). So a variable is let into arithmetic only if all that the line sets it to are numbers.

var (
	number = regexp.MustCompile(`^-?[0-9]+$`)
	plain  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// counts are variables that bash makes numbers of.
var counts = map[string]bool{"RANDOM": true, "SECONDS": true, "LINENO": true, "UID": true, "EUID": true, "PPID": true, "BASHPID": true, "?": true, "$": true, "#": true, "!": true}

// sets notes what a line sets variables to, before it is judged.
func (p *parse) sets(file *syntax.File) {
	note := func(name string, isNumber bool) {
		if isNumber && !p.texts[name] {
			p.numbers[name] = true
		}
		if !isNumber {
			p.texts[name] = true
		}
	}
	for node := range syntax.Preorder(file) {
		switch x := node.(type) {
		case *syntax.Assign:
			if x.Name != nil && !x.Naked {
				p.assigned[x.Name.Value] = true
				note(x.Name.Value, x.Array == nil && numeric(x.Value))
			}
		case *syntax.WordIter:
			p.assigned[x.Name.Value] = true
			for _, w := range x.Items {
				note(x.Name.Value, numeric(w))
			}
			if len(x.Items) == 0 {
				note(x.Name.Value, false)
			}
		case *syntax.BinaryArithm:
			if w, ok := x.X.(*syntax.Word); ok && x.Op.String() != "==" && x.Op.String() != "!=" && x.Op.String() != "<=" && x.Op.String() != ">=" && strings.HasSuffix(x.Op.String(), "=") {
				note(w.Lit(), true)
			}
		case *syntax.UnaryArithm:
			if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
				note(w.Lit(), true)
			}
		case *syntax.CallExpr: // read x
			for _, w := range x.Args {
				p.named(w)
			}
		case *syntax.DeclClause: // declare "x=…"
			for _, a := range x.Args {
				if a.Naked && a.Value != nil {
					p.named(a.Value)
				}
			}
		case *syntax.ParamExp:
			if x.Exp != nil && x.Param != nil && (x.Exp.Op == syntax.AssignUnset || x.Exp.Op == syntax.AssignUnsetOrNull) {
				p.assigned[x.Param.Value] = true
				note(x.Param.Value, numeric(x.Exp.Word))
			}
		}
	}
}

// named notes a variable that an argument may name: a command may set it to anything.
func (p *parse) named(w *syntax.Word) {
	expanded := map[*syntax.Lit]bool{} // names of what is expanded, which the walk comes to later
	for node := range syntax.Preorder(w) {
		text := ""
		switch x := node.(type) {
		case *syntax.ParamExp:
			expanded[x.Param] = true
		case *syntax.Lit:
			if !expanded[x] {
				text = x.Value
			}
		case *syntax.SglQuoted:
			text = x.Value
		}
		if name := text[:len(text)-len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"))]; name != "" {
			p.texts[name] = true
			p.assigned[name] = true
		}
	}
}

// numeric says whether a word is a number, or what arithmetic makes one.
func numeric(w *syntax.Word) bool {
	if w == nil {
		return true // empty counts as 0
	}
	if lit := w.Lit(); lit != "" {
		return number.MatchString(lit) || braceNumbers.MatchString(lit)
	}
	if len(w.Parts) != 1 {
		return false
	}
	switch x := w.Parts[0].(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return x.Length || x.Param != nil && counts[x.Param.Value] && x.Exp == nil && x.Repl == nil
	case *syntax.SglQuoted:
		return number.MatchString(x.Value)
	case *syntax.DblQuoted:
		return numeric(&syntax.Word{Parts: x.Parts})
	}
	return false
}

var braceNumbers = regexp.MustCompile(`^\{-?[0-9]+\.\.-?[0-9]+\}$`)

// isNumber says whether a variable is a number as far as the line has been read; Parse looks once more at its end.
func (p *parse) isNumber(name string) bool {
	if counts[name] && !p.texts[name] && !(p.assigned[name] && !p.numbers[name]) {
		return true
	}
	if p.numbers[name] && !p.texts[name] {
		p.relied[name] = true
		return true
	}
	return false
}

// arithmetic notes what bash would evaluate once more in an expression.
func (p *parse) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		p.arithmetic(x.X)
		p.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		p.arithmetic(x.X)
	case *syntax.ParenArithm:
		p.arithmetic(x.X)
	case *syntax.Word:
		for _, part := range x.Parts {
			if !p.evaluated(part, len(x.Parts) == 1) {
				p.unresolved("a variable in arithmetic may run a command: it is not known to be a number")
				return
			}
		}
	}
}

// evaluated says whether a part of a word in arithmetic is a number.
func (p *parse) evaluated(part syntax.WordPart, alone bool) bool {
	switch x := part.(type) {
	case *syntax.Lit:
		if alone && plain.MatchString(x.Value) {
			return p.isNumber(x.Value)
		}
		return strings.Trim(x.Value, "0123456789#xXabcdefABCDEF@") == "" && x.Value != "" && x.Value[0] >= '0' && x.Value[0] <= '9'
	case *syntax.ParamExp:
		if x.Length {
			return true
		}
		if x.Param == nil || x.Exp != nil || x.Repl != nil || x.Excl || x.Slice != nil {
			return false
		}
		return x.Index == nil && p.isNumber(x.Param.Value)
	case *syntax.ArithmExp:
		return true // looked at by itself
	case *syntax.DblQuoted:
		for _, inner := range x.Parts {
			if !p.evaluated(inner, len(x.Parts) == 1) {
				return false
			}
		}
		return len(x.Parts) > 0
	case *syntax.SglQuoted:
		return number.MatchString(x.Value)
	}
	return false
}

// index looks at what stands in brackets after the name of an array.
func (p *parse) index(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") || x == nil {
		return
	}
	p.arithmetic(x)
}

// expansion looks at what an expansion of a variable evaluates once more.
func (p *parse) expansion(x *syntax.ParamExp) {
	p.index(x.Index)
	if x.Slice != nil {
		p.arithmetic(x.Slice.Offset)
		p.arithmetic(x.Slice.Length)
	}
	if x.Excl && x.Names == 0 {
		if w, ok := x.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
			p.unresolved("an expansion of the variable that a variable names may run a command")
		}
	}
	if x.Exp != nil && x.Exp.Op == syntax.OtherParamOps {
		if op := x.Exp.Word.Lit(); op == "" || !strings.Contains("QUuL", op) {
			p.unresolved("an expansion with @%s may run a command", op)
		}
	}
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
