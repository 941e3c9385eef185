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
			if w, ok := x.X.(*syntax.Word); ok && assigns(x.Op) {
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
