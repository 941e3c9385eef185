package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// counts are variables that bash makes numbers of.
var counts = map[string]bool{"RANDOM": true, "SECONDS": true, "LINENO": true, "UID": true, "EUID": true, "PPID": true, "BASHPID": true, "?": true, "$": true, "#": true, "!": true}

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
