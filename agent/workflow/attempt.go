package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// work is what all runs of one invocation's work on a workflow share.
type work struct {
	ledger
	key     session.Key
	began   int64          // the position of the log when the invocation began
	content *genai.Content // the message that the workflow began with
}

// A site is where a run of a node is made.
type site struct {
	work         *work
	graph        *graph // the workflow that the node is in, the innermost
	host         *agent.Host
	yield        func(*session.Event, error) bool
	node         *Node
	path         string
	input        any // a JSON value, or the content that the workflow began with
	by           string
	predecessors []string
	state        *State   // that the node sets, nil if it is free
	outputFor    []string // whose output the run's is, if not its own alone (see NodeInfo.OutputFor)
}

// below returns where a run of a node within the run is made: run is its number or its name.
func (s *site) below(n *Node, run string, input any) *site {
	return &site{
		work:  s.work,
		graph: s.graph,
		host:  s.host,
		yield: s.yield,
		node:  n,
		path:  s.path + "/" + n.Name + "@" + run,
		input: input,
		state: inherit(n.State, s.state),
	}
}

// An outcome is how the work on a run has ended.
type outcome int

const (
	hasEnded  outcome = iota // its end is in the log
	hasFailed                // it has failed, and is not tried again now
	waits                    // it waits for an answer
	stopped                  // the invocation has ended, or a plugin has rewound the session
)

// A result is the outcome of the work on a run, or of an attempt.
type result struct {
	outcome outcome
	err     *Error // if it has failed
	final   bool   // it is not worth another attempt
	// response answers the call that has failed, in the event that says so; nil if there is none.
	response *genai.Content
}

// event returns an event of the run.
func (s *site) event() *session.Event {
	return &session.Event{
		Author:   s.graph.Name(),
		Branch:   s.host.Branch,
		NodeInfo: &session.NodeInfo{Path: s.path},
	}
}

// put yields an event. The ledger has taken in what became of it when put returns. It reports whether
// the invocation goes on.
func (s *site) put(e *session.Event) bool { return s.yield(e, nil) }

// failed returns the result of an attempt that has failed.
func (s *site) failed(code string, err error) result {
	return result{outcome: hasFailed, err: &Error{Path: s.path, Code: code, Err: err}}
}

// failedForGood is failed for what is not worth another attempt.
func (s *site) failedForGood(code string, err error) result {
	res := s.failed(code, err)
	res.final = true
	return res
}

// withheld returns the result of an attempt of which a plugin has withheld an event that must be in the log.
func (s *site) withheld(what string) result {
	return s.failedForGood(NodeWithheld, fmt.Errorf("a plugin has withheld %s", what))
}

// run works on a run of a node until it has ended, waits, or has failed as often as it may.
func (s *site) run(ctx context.Context) result {
	if s.work.ended(s.path) != nil {
		return result{outcome: hasEnded}
	}
	attempts := max(1, s.node.Retry.Attempts)
	_, before, last := s.work.failures(s.path)
	if before >= attempts || before > 0 && last.NodeInfo.Final {
		return result{outcome: hasFailed, err: &Error{Path: s.path, Code: last.ErrorCode, Err: errors.New(last.ErrorMessage)}}
	}
	for failed := before + 1; ; failed++ {
		res := s.limited(ctx)
		if res.outcome != hasFailed {
			return res
		}
		if ctx.Err() != nil && res.response == nil { // it was cancelled, which is no failure of its own
			return result{outcome: stopped}
		}
		retry := s.node.Retry
		final := res.final || failed >= attempts || retry.If != nil && !retry.If(res.err)
		if !s.tell(res, final) {
			return result{outcome: stopped}
		}
		if final {
			return res
		}
		if d := retry.delay(failed); d > 0 {
			timer := time.NewTimer(d)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		if ctx.Err() != nil {
			return result{outcome: stopped}
		}
	}
}

// tell puts the failure of an attempt into the log: final says that no other one follows.
func (s *site) tell(res result, final bool) bool {
	e := s.event()
	e.NodeInfo.Final = final
	e.ErrorCode = res.err.Code
	e.ErrorMessage = res.err.Err.Error()
	e.Content = res.response
	return s.put(e)
}

// limited makes one attempt, within its time.
func (s *site) limited(ctx context.Context) result {
	if s.node.Input != nil {
		made, err := safely(func() (any, error) { return s.node.Input(s.input, s.host.Now().State) })
		if err == nil {
			made, err = plainInput(made)
		}
		if err != nil {
			res := s.failed(NodeInput, err)
			res.final = true
			return res
		}
		given := *s
		given.input = made
		s = &given
	}
	if s.node.Timeout == 0 {
		return s.node.kind.attempt(ctx, s)
	}
	slow := fmt.Errorf("it did not finish within %s", s.node.Timeout)
	limited, cancel := context.WithTimeoutCause(ctx, s.node.Timeout, slow)
	defer cancel()
	res := s.node.kind.attempt(limited, s)
	late := context.Cause(limited) == slow && ctx.Err() == nil
	if !late || res.outcome == hasEnded || res.outcome == waits {
		return res
	}
	if res.outcome == stopped {
		return s.failed(NodeTimeout, slow)
	}
	if res.err != nil && res.err.Path == s.path {
		res.err = &Error{Path: s.path, Code: NodeTimeout, Err: fmt.Errorf("%w: %w", slow, res.err.Err)}
	}
	return res
}

// An ending is what a run ends with.
type ending struct {
	output  any // any value
	actions session.Actions
	content *genai.Content
	of      string // the path of the run whose output is that of this one, "" for none
}

// finish puts the end of the run into the log.
func (s *site) finish(end ending) result {
	e, err := s.ending(end)
	if err != nil {
		return s.failed(NodeFailed, err)
	}
	before := s.work.foldedAnew()
	goesOn := s.put(e)
	switch {
	case s.work.ended(s.path) != nil:
		return result{outcome: hasEnded}
	case !goesOn, s.work.foldedAnew() != before: // it was rewound, or compacted
		return result{outcome: stopped}
	}
	return s.withheld("the event that ends the run")
}

// ending returns the event that ends the run.
func (s *site) ending(end ending) (*session.Event, error) {
	e := s.event()
	e.NodeInfo.Ended = true
	e.NodeInfo.OutputFor = s.outputFor
	e.Content = end.content
	e.Actions = end.actions

	// The output, or whose it is.
	value, err := plain(end.output)
	if err != nil {
		return nil, fmt.Errorf("the output: %w", err)
	}
	e.Output = value
	if end.of != "" {
		e.NodeInfo.OutputOf = end.of
		e.Output = nil
	}

	// The state.
	if s.node != nil && s.node.OutputKey != "" && value != nil {
		delta := map[string]any{s.node.OutputKey: value}
		maps.Copy(delta, end.actions.StateDelta)
		e.Actions.StateDelta = delta
	}
	for key, v := range e.Actions.StateDelta {
		if key == "" {
			return nil, errors.New("it has set a state key without a name")
		}
		switch v.(type) {
		case nil, string, bool, float64:
			continue
		}
		if _, err := json.Marshal(v); err != nil {
			return nil, fmt.Errorf("it has set the state key %q to a value that JSON does not have: %w", key, err)
		}
	}
	if err := s.state.check(e.Actions.StateDelta); err != nil {
		return nil, err
	}

	// The route.
	if end.actions.Route == Default {
		return nil, errors.New("it has chosen Default, which is the route of an edge and nobody's to choose")
	}
	e.Actions.Route, err = plainRoute(end.actions.Route)
	return e, err
}

// safely calls a function. A panic becomes an error.
func safely[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// function is a node of a Go function.
type function struct {
	binding *binding
	wrong   error // what is wrong with its types
	output  *jsonschema.Schema
	// bind returns the function with its parameters.
	bind func(s *site) (func(context.Context, *Run) (any, error), error)
}

func (f *function) agents() []agent.Agent { return nil }
func (f *function) schemas() (input, output *jsonschema.Schema) {
	return f.binding.input(), f.output
}

func (f *function) attempt(ctx context.Context, s *site) result {
	// It is called again when all of its questions, and those of its children, are answered.
	if s.work.waits(s.path) {
		return result{outcome: waits}
	}
	bound, err := f.bind(s)
	if err != nil {
		return s.failedForGood(NodeInput, err)
	}
	all, _, _ := s.work.failures(s.path)
	r := s.newRun(all + 1)
	do := func() (any, error) { return bound(ctx, r) }
	if s.node.Once {
		return s.once(ctx, s.node.Name, argsOf(s.input), func(context.Context, *session.Call) (effect, error) {
			out, err := safely(do)
			return effect{output: out, actions: r.Actions}, err
		})
	}
	out, err := safely(do)
	if res, ok := s.unfinished(ctx, err); ok {
		return res
	}
	end := ending{output: out, actions: r.Actions}
	if r.delegate != "" {
		child := s.work.ended(r.delegate)
		if child == nil { // it was rewound
			return result{outcome: stopped}
		}
		end.output = child.Output
		end.of = r.delegate
	}
	return s.finish(end)
}

// unfinished returns the result of an attempt whose function has not come to its end.
func (s *site) unfinished(ctx context.Context, err error) (result, bool) {
	open := s.work.waits(s.path)
	switch {
	case errors.Is(err, agent.ErrEnded):
		return result{outcome: stopped}, true
	case errors.Is(err, ErrWaits) && open:
		return result{outcome: waits}, true
	case errors.Is(err, ErrWaits):
		return s.failed(NodeFailed, errors.New("it returned ErrWaits, and no question is open")), true
	case err == nil && open:
		return s.failed(NodeFailed, errors.New("it returned an output while a question is open; return the error of Ask or Do")), true
	case errors.Is(err, errWithheld):
		return s.withheld("the question"), true
	case err != nil:
		return s.failed(NodeFailed, err), true
	}
	return result{}, false
}
