// Package expression compiles and computes the conditions that people write in policies and workflow files, in the
// language of expr-lang.org. What a condition meets is not its author's: a text of a hostile user is split, joined and
// searched. So each computation has a budget of memory and time, which is checked while it runs, and functions that
// only multiply are not there.
//
// A function that may return much more than it is given: disable it in options, or give it a bounded one there.
package expression

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// What one computation may use. Memory counts what has been made, also what is not needed any more.
const (
	maxNodes  = 500
	maxMemory = 64 << 20
	maxTime   = time.Second
)

// ErrBudget says that a computation was ended because it took too much memory or time.
var ErrBudget = errors.New("it takes more than 64 MiB of memory, or more than a second")

// A Meter measures one computation. The struct with the names of a condition embeds it.
type Meter struct {
	// Measured counts a value that the computation has made.
	Measured func(any) (any, error) `expr:" measured"` // no condition can write this name
}

// NewMeter returns the Meter of a computation that begins now.
func NewMeter() Meter {
	left := maxMemory
	end := time.Now().Add(maxTime)
	return Meter{Measured: func(v any) (any, error) {
		switch v := v.(type) {
		case string:
			left -= len(v)
		case bool, nil:
		default:
			if list := reflect.ValueOf(v); list.Kind() == reflect.Slice || list.Kind() == reflect.Map {
				left -= 16 * list.Len()
			}
		}
		if left < 0 || time.Now().After(end) {
			return nil, ErrBudget
		}
		return v, nil
	}}
}

// Compile compiles an expression about the names of env, a struct that embeds a Meter. checked is the expression as it
// is written; the program is computed in its place. Its errors are those of package expr.
func Compile(source string, env any, more ...expr.Option) (checked, program *vm.Program, err error) {
	options := append([]expr.Option{
		expr.Env(env),
		expr.MaxNodes(maxNodes),
		expr.DisableBuiltin("repeat"),
		expr.DisableBuiltin("uniq"), // its time is the square of the list's length
		expr.DisableBuiltin("replace"),
		expr.DisableBuiltin("join"),
		expr.Function("replace", replace, strings.ReplaceAll, replaceSome),
		expr.Function("join", join, joinPlain, joinWith, joinAny, joinAnyWith),
	}, more...)
	if checked, err = expr.Compile(source, options...); err != nil {
		return nil, nil, err
	}
	// Loops and what makes values are measured. AsBool and the like were checked, and cannot be once more: what is
	// measured has any type.
	program, err = expr.Compile(source, append(options, expr.AsAny(), expr.MaxNodes(0), expr.Patch(&measuring{}))...)
	return checked, program, err
}

// measuring measures each value that is made, and each step of a loop.
type measuring struct{}

// Visit implements ast.Visitor.
func (*measuring) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode, *ast.CallNode:
		ast.Patch(node, measured(*node))
	case *ast.BinaryNode:
		if n.Operator == "+" {
			ast.Patch(node, measured(n))
		}
	case *ast.PredicateNode:
		n.Node = measured(n.Node)
	}
}

func measured(node ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: " measured"}, Arguments: []ast.Node{node}}
}

// These are the forms in which replace and join can be called.
func replaceSome(_, _, _ string, _ int) string { return "" }
func joinPlain([]string) string                { return "" }
func joinWith([]string, string) string         { return "" }
func joinAny([]any) string                     { return "" }
func joinAnyWith([]any, string) string         { return "" }

// replace is strings.Replace with a bound.
func replace(args ...any) (any, error) {
	text, old, with := args[0].(string), args[1].(string), args[2].(string)
	n := -1
	if len(args) == 4 {
		n = args[3].(int)
	}
	found := strings.Count(text, old)
	if n >= 0 {
		found = min(found, n)
	}
	if len(text)+found*len(with) > maxMemory {
		return nil, ErrBudget
	}
	return strings.Replace(text, old, with, n), nil
}

// join is strings.Join with a bound.
func join(args ...any) (any, error) {
	glue := ""
	if len(args) == 2 {
		glue = args[1].(string)
	}
	var texts []string
	switch list := args[0].(type) {
	case []string:
		texts = list
	case []any:
		for _, element := range list {
			text, ok := element.(string)
			if !ok {
				return nil, fmt.Errorf("cannot join a %T", element)
			}
			texts = append(texts, text)
		}
	}
	size := 0
	for _, text := range texts {
		if size += len(text) + len(glue); size > maxMemory {
			return nil, ErrBudget
		}
	}
	return strings.Join(texts, glue), nil
}
