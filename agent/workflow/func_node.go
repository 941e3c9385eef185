package workflow

import (
	"context"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// function is a node of a Go function.
type function struct {
	binding *binding
	wrong   error // what is wrong with its types
	output  *jsonschema.Schema
	// bind returns the function with its parameters.
	bind func(s *task) (func(context.Context, *Run) (any, error), error)
}

func (f *function) agents() []agent.Agent { return nil }
func (f *function) schemas() (input, output *jsonschema.Schema) {
	return f.binding.input(), f.output
}

func (f *function) attempt(ctx context.Context, t *task) result {
	// It is called again when all of its questions, and those of its children, are answered.
	switch {
	case !t.closeLate():
		return result{outcome: stopped}
	case t.invocation.waits(t.path):
		return result{outcome: waits}
	}
	bound, err := f.bind(t)
	if err != nil {
		return t.failedForGood(NodeInput, err)
	}
	all, _, _ := t.invocation.failures(t.path)
	r := t.newRun(all + 1)
	do := func() (any, error) { return bound(ctx, r) }
	if t.node.Once {
		return t.once(ctx, t.node.Name, argsOf(t.input), func(context.Context, *session.Call) (effect, error) {
			out, err := safely(do)
			return effect{output: out, actions: r.Actions}, err
		})
	}
	out, err := safely(do)
	if res, ok := t.unfinished(ctx, err); ok {
		return res
	}
	if err := t.checkTime(ctx); err != nil {
		return t.failed(NodeFailed, err)
	}
	end := ending{output: out, actions: r.Actions}
	if r.delegate != "" {
		child := t.invocation.ended(r.delegate)
		if child == nil { // it was rewound
			return result{outcome: stopped}
		}
		end.output = child.Output
		end.of = r.delegate
	}
	return t.finish(end)
}

// unfinished returns the result of an attempt whose function has not come to its end.
func (t *task) unfinished(ctx context.Context, err error) (result, bool) {
	open := t.invocation.waits(t.path)
	switch {
	case errors.Is(err, agent.ErrEnded):
		return result{outcome: stopped}, true
	case errors.Is(err, ErrWaits) && open:
		return result{outcome: waits}, true
	case errors.Is(err, ErrWaits):
		return t.failed(NodeFailed, errors.New("it returned ErrWaits, and no question is open")), true
	case err == nil && open:
		return t.failed(NodeFailed, errors.New("it returned an output while a question is open; return the error of Ask or Do")), true
	case errors.Is(err, ErrDeadline) && !errors.As(err, new(*Error)): // else it is a child's
		return t.failedForGood(NodeTimeout, err), true
	case errors.Is(err, errWithheld):
		return t.withheld("the question"), true
	case errors.Is(err, ErrNameMissing), errors.Is(err, ErrOtherInput): // and would be so again
		return t.failedForGood(NodeFailed, err), true
	case err != nil:
		return t.failed(NodeFailed, err), true
	}
	return result{}, false
}
