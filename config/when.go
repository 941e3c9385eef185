package config

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprfile "github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/expression"
	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/yamlfile"
)

// when is the condition of an edge, compiled. The language is that of the conditions of guardrail
// policies.
type when struct {
	source  string
	program *vm.Program
	reads   []string // state keys, see expression.Keys
}

// whenNames has what a condition can ask about.
type whenNames struct {
	expression.Meter
	Output any            `expr:"output"`
	State  map[string]any `expr:"state"`
}

var unknownName = lazyregexp.New(`^unknown name (\S+)$`)

// compileWhen compiles the condition that stands at path. Its error names the place.
func compileWhen(file *yamlfile.File, path, source string) (*when, error) {
	checked, program, err := expression.Compile(source, whenNames{}, expr.AsBool())
	if err != nil {
		var at *exprfile.Error
		if !errors.As(err, &at) {
			return nil, file.Errorf(path, "when: %w", err)
		}
		message := at.Message
		if m := unknownName.FindStringSubmatch(message); m != nil {
			message += yamlfile.Meant(m[1], []string{"output", "state"})
		}
		if strings.Contains(source, "\n") {
			return nil, file.Errorf(path, "when: %s, at its line %d, column %d", message, at.Line, at.Column+1)
		}
		return nil, file.ErrorInf(path, at.Column, "when: %s", message)
	}
	found := &ranges{}
	node := checked.Node()
	ast.Walk(&node, found)
	if found.any {
		return nil, file.Errorf(path, "when: ranges (a..b) are not supported, since they can take very long")
	}
	return &when{source: source, program: program, reads: expression.Keys(node, "state")}, nil
}

// ranges notes whether an expression has a range.
type ranges struct{ any bool }

// Visit implements ast.Visitor.
func (r *ranges) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.BinaryNode); ok && n.Operator == ".." {
		r.any = true
	}
}

// holds reports whether the condition is true.
func (w *when) holds(output any, state map[string]any) (bool, error) {
	result, err := expr.Run(w.program, whenNames{Meter: expression.NewMeter(), Output: output, State: state})
	yes, ok := result.(bool)
	if errors.Is(err, expression.ErrBudget) {
		return false, fmt.Errorf("the condition %q: %w with the values that it met", w.source, expression.ErrBudget)
	}
	if err != nil || !ok {
		// The message may quote a value, so that only the condition is told.
		return false, fmt.Errorf("the condition %q cannot be computed, or is neither true nor false, with the values that it met; compare values, as in output == \"yes\"; a key that may be missing is written as state?.key ?? 0", w.source)
	}
	return yes, nil
}

// A decider is the node behind a node with conditions on its edges. Its route is the list of those
// that hold, and its output is that of the node. What it decided is in the log, so that a later
// change of the state does not change the way that was taken.
type decider struct {
	made       *workflow.Node
	conditions []*when
	otherwise  bool // there is an edge for when none of the conditions holds
}

// otherwise is the route of the edges that lead on if no condition of the same node holds. It is no condition:
// there is no such name in one.
const otherwise = "otherwise"

func (d *decider) node(behind *workflow.Node) *workflow.Node {
	d.made = workflow.Func(behind.Name+eventtext.DeciderMark, func(_ context.Context, r *workflow.Run, output any) (any, error) {
		var holds []any
		state := r.Invocation().State
		for _, c := range d.conditions {
			yes, err := c.holds(output, state)
			if err != nil {
				return nil, err
			}
			if yes {
				holds = append(holds, c.source)
			}
		}
		if len(holds) == 0 && d.otherwise {
			holds = append(holds, otherwise)
		}
		if len(holds) > 0 {
			r.Route(holds)
		}
		return output, nil
	})
	for _, was := range behind.Was {
		d.made.Was = append(d.made.Was, was+eventtext.DeciderMark)
	}
	return d.made
}
