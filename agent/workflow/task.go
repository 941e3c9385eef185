package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/session"
)

// An invocation is what the tasks of one invocation share.
type invocation struct {
	ledger
	key     session.Key
	writing sync.Mutex     // held from the look at the state until an event that sets it is in the log
	began   int64          // the position of the log when the invocation began
	content *genai.Content // the message that the workflow began with
}

// A task is the work of one invocation on one run of a node, or of a workflow by itself.
type task struct {
	invocation   *invocation
	graph        *graph // the workflow that the node is in, the innermost
	host         *agent.Host
	yield        func(*session.Event, error) bool
	node         *Node
	path         string
	around       *task  // that of the run around it, nil for the outermost
	input        any    // a JSON value, or the content that the workflow began with
	digest       string // of the input, if a later call must not have another one
	triggeredBy  string
	predecessors []string
	caught       bool               // an edge leads on from its failure, which ends its run
	cause        *cause             // of a node of a graph: what it comes after
	slow         error              // the cause with which the attempt's context ends when its time is over
	inTurn       bool               // of a child: it comes after what was in the log when it began
	began        int64              // the position then
	reduce       map[string]Reducer // by state key
	state        *State             // what the node may set, nil if that is anything
	outputFor    []string           // the runs whose output this run's is, too (see NodeInfo.OutputFor); nil if it is its own alone
}

// below returns the task of a run within the run: run is its number or its name.
func (t *task) below(n *Node, run string, input any) *task {
	return &task{
		invocation: t.invocation,
		graph:      t.graph,
		host:       t.host,
		yield:      t.yield,
		node:       n,
		path:       t.pathBelow(n, run),
		around:     t,
		input:      input,
		state:      inherit(n.State, t.state),
		reduce:     t.reduce,
	}
}

// pathBelow returns the path of a node's run within the run: under the name under which it has begun.
func (t *task) pathBelow(n *Node, run string) string {
	path := t.path + "/" + n.Name + "@" + run
	for _, was := range n.Was {
		earlier := t.path + "/" + was + "@" + run
		if t.invocation.firstOf(earlier) != nil && t.invocation.firstOf(path) == nil {
			return earlier
		}
	}
	return path
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
func (t *task) event() *session.Event {
	return &session.Event{
		Author:   t.graph.Name(),
		Branch:   t.host.Branch,
		NodeInfo: &session.NodeInfo{Path: t.path, Inputs: t.newDigests()},
	}
}

// callEvent returns an event with a function call of the run.
func (t *task) callEvent(id, name string, args map[string]any) *session.Event {
	e := t.event()
	call := &genai.FunctionCall{ID: id, Name: name, Args: args}
	e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}}
	return e
}

// put yields an event. The ledger has taken in what became of it when put returns. It reports whether
// the invocation goes on.
func (t *task) put(e *session.Event) bool { return t.yield(e, nil) }

// failed returns the result of an attempt that has failed.
func (t *task) failed(code string, err error) result {
	return result{outcome: hasFailed, err: &Error{Path: t.path, Code: code, Err: err}}
}

// failedForGood is failed for what is not worth another attempt.
func (t *task) failedForGood(code string, err error) result {
	res := t.failed(code, err)
	res.final = true
	return res
}

// withheld returns the result of an attempt of which a plugin has withheld an event that must be in the log.
func (t *task) withheld(what string) result {
	return t.failedForGood(NodeWithheld, fmt.Errorf("a plugin has withheld %s", what))
}

// run works on a run of a node until it has ended, waits, or has failed as often as it may.
func (t *task) run(ctx context.Context) (res result) {
	if t.invocation.ended(t.path) != nil {
		return result{outcome: hasEnded}
	}
	ctx, span := telemetry.Node(ctx, t.node.Name, t.path)
	defer func() {
		failure := ""
		if res.err != nil {
			failure = res.err.Code
		}
		span.End(failure)
	}()
	attempts := max(1, t.node.Retry.Attempts)
	_, before, last := t.invocation.failures(t.path)
	if before >= attempts || before > 0 && last.NodeInfo.Final {
		return result{outcome: hasFailed, err: &Error{Path: t.path, Code: last.ErrorCode, Err: errors.New(last.ErrorMessage)}}
	}
	for failed := before + 1; ; failed++ {
		res := t.limited(ctx)
		if res.outcome != hasFailed {
			return res
		}
		if ctx.Err() != nil && res.response == nil { // it was cancelled, which is no failure of its own
			return result{outcome: stopped}
		}
		retry := t.node.Retry
		final := res.final || failed >= attempts || retry.If != nil && !retry.If(res.err)
		if !t.tell(res, final) {
			return result{outcome: stopped}
		}
		if final && t.invocation.ended(t.path) != nil { // an edge leads on from it
			return result{outcome: hasEnded}
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
func (t *task) tell(res result, final bool) bool {
	ends := final && t.caught && res.err.Code != NodeGone
	if ends && !t.closeCalls(t.path, res.response, "the run that has made the call has failed") {
		return false
	}
	e := t.event()
	e.ID = session.NewID()
	var below *Error
	if !errors.As(res.err.Err, &below) { // else the run below has told
		panicked.Log(t.host.Log, "node panicked", res.err.Err, "run", t.path, "event", e.ID)
	}
	e.NodeInfo.Final = final
	e.NodeInfo.Ended = ends
	e.ErrorCode = res.err.Code
	e.ErrorMessage = res.err.Err.Error()
	e.Content = res.response
	return t.put(e)
}

// closeCalls answers the open calls of a run, and of those within it, with an error: nobody waits for the
// responses any more. answer is the content of a response that comes by itself.
func (t *task) closeCalls(path string, answer *genai.Content, why string) bool {
	answered := map[string]bool{}
	for _, r := range (&session.Event{Content: answer}).FunctionResponses() {
		answered[r.ID] = true
	}
	for _, c := range t.invocation.openCalls(path) {
		if answered[c.ID] {
			continue
		}
		if !t.putError(&c, map[string]any{"error": why, "interrupted": true}) {
			return false
		}
	}
	return true
}

// putError answers a call, of the run or of one within it, with an error.
func (t *task) putError(c *session.Call, response map[string]any) bool {
	e := &session.Event{Author: c.Event.Author, Branch: c.Event.Branch, NodeInfo: &session.NodeInfo{Path: pathOf(c)}}
	e.Content = respond(c, response)
	return t.put(e)
}

// limited makes one attempt, within its time.
func (t *task) limited(ctx context.Context) result {
	if t.node.Input != nil {
		made, err := safely(func() (any, error) { return t.node.Input(t.input, t.host.Now().State) })
		if err == nil {
			made, err = plainInput(made)
		}
		if err != nil {
			return t.failedForGood(NodeInput, err)
		}
		given := *t
		given.input = made
		t = &given
	}
	if t.node.Timeout == 0 {
		return t.node.kind.attempt(ctx, t)
	}
	slow := fmt.Errorf("it did not finish within %s", t.node.Timeout)
	limited, cancel := context.WithTimeoutCause(ctx, t.node.Timeout, slow)
	defer cancel()
	timed := *t
	timed.slow = slow
	res := t.node.kind.attempt(limited, &timed)
	late := context.Cause(limited) == slow && ctx.Err() == nil
	if !late || res.outcome == hasEnded || res.outcome == waits {
		return res
	}
	if res.outcome == stopped {
		return t.failed(NodeTimeout, slow)
	}
	if res.err != nil && res.err.Path == t.path {
		res.err = &Error{Path: t.path, Code: NodeTimeout, Err: fmt.Errorf("%w: %w", slow, res.err.Err)}
	}
	return res
}

// checkTime returns an error if the time of the attempt is over: what returns then has failed, whatever it returns.
func (t *task) checkTime(ctx context.Context) error {
	if t.slow == nil || context.Cause(ctx) != t.slow {
		return nil
	}
	return errors.New("it returned after that")
}

// An ending is what a run ends with.
type ending struct {
	output  any // any value
	actions session.Actions
	content *genai.Content
	of      string // the path of the run whose output is that of this one, "" for none
}

// finish puts the end of the run into the log.
func (t *task) finish(end ending) result {
	e, err := t.ending(end)
	if err != nil {
		return t.failed(NodeFailed, err)
	}
	before := t.invocation.foldedAnew()
	if !t.closeCalls(t.path, end.content, "the run that has made the call has ended") {
		return result{outcome: stopped}
	}
	goesOn, err := t.write(e)
	switch {
	case err != nil:
		res := t.failedForGood(NodeState, err)
		res.response = end.content // the call that it ends has run
		return res
	case t.invocation.ended(t.path) != nil:
		return result{outcome: hasEnded}
	case !goesOn, t.invocation.foldedAnew() != before: // it was rewound, or compacted
		return result{outcome: stopped}
	}
	return t.withheld("the event that ends the run")
}

// ending returns the event that ends the run.
func (t *task) ending(end ending) (*session.Event, error) {
	e := t.event()
	e.NodeInfo.Ended = true
	e.NodeInfo.OutputFor = t.outputFor
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
	if t.node != nil && t.node.OutputKey != "" && value != nil {
		delta := map[string]any{t.node.OutputKey: value}
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
	asSet := maps.Clone(e.Actions.StateDelta)
	maps.DeleteFunc(asSet, func(key string, _ any) bool { return t.reduce[key] != nil }) // checked when it is reduced
	if err := t.state.check(asSet); err != nil {
		return nil, err
	}

	// The route.
	if end.actions.Route == Default {
		return nil, errors.New("it has chosen the route Default, which only an edge can have; choose another route or none")
	}
	e.Actions.Route, err = plainRoute(end.actions.Route)
	return e, err
}

// safely calls a function. A panic becomes an error.
func safely[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked.Recovered(p)
		}
	}()
	return f()
}
