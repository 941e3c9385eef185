package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// function is what the model can call: a tool, or an agent.
type function struct {
	*tool.Tool             // its Run is nil if there is a callee
	callee     agent.Agent // nil if it is a tool
	check      func(args map[string]any) error
}

func newFunction(t *tool.Tool) (*function, error) {
	check, err := t.Check()
	if err == nil && t.Run == nil {
		err = fmt.Errorf("tool %s: Run is nil", t.Name())
	}
	return &function{Tool: t, check: check}, err
}

// result is what became of one call.
type result struct {
	response map[string]any // nil if there is none yet
	actions  session.Actions
	ask      *tool.Ask // a human is asked
	waits    bool      // what the call has started waits for an answer
	ended    bool      // the invocation has
}

func failed(format string, args ...any) result {
	return result{response: map[string]any{"error": fmt.Sprintf(format, args...)}}
}

// execute runs the calls of one event and yields their responses as one event. It reports whether the
// turn goes on.
func (t *turn) execute(calls []session.Call) bool {
	inv := t.host.Now()
	results := make([]result, len(calls))
	for i := 0; i < len(calls); {
		n := i + 1
		for f := t.functions[calls[i].Name]; n < len(calls) && !serial(f) && !serial(t.functions[calls[n].Name]); n++ {
		}
		if !t.executeAll(inv, calls[i:n], results[i:n]) {
			return false
		}
		i = n
	}
	if t.over() {
		return t.expired()
	}
	e := t.event()
	e.Content = &genai.Content{Role: genai.RoleUser}
	for i, c := range calls {
		t.started[keyOf(c)] = true
		r := &results[i]
		switch {
		case r.response != nil:
			e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: r.response}})
			merge(&e.Actions, r.actions)
		case r.ask != nil:
			if e.Actions.RequestedToolConfirmations == nil {
				e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{}
			}
			e.Actions.RequestedToolConfirmations[c.ID] = session.Confirmation{Hint: r.ask.Hint, Payload: r.ask.Payload}
		case r.waits && !c.LongRunning:
			e.LongRunningToolIDs = append(e.LongRunningToolIDs, c.ID)
		}
	}
	if len(e.Content.Parts) == 0 {
		e.Content = nil
		if e.LongRunningToolIDs == nil && e.Actions.RequestedToolConfirmations == nil {
			return true
		}
	}
	return t.yield(e, nil)
}

func serial(f *function) bool { return f != nil && f.callee == nil && f.Serial }

// executeAll runs calls at once. It reports whether the turn goes on.
func (t *turn) executeAll(inv *session.Invocation, calls []session.Call, results []result) bool {
	if f := t.functions[calls[0].Name]; len(calls) == 1 && (f == nil || f.callee == nil) {
		results[0] = t.run(t.ctx, inv, calls[0])
		return true
	}
	parts := make([]agent.Part, len(calls))
	for i, c := range calls {
		parts[i] = func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			if f := t.functions[c.Name]; f != nil && f.callee != nil && !declined(c) {
				results[i] = t.runCallee(ctx, host, yield, f, c)
				return
			}
			results[i] = t.run(ctx, inv, c)
		}
	}
	return agent.Together(t.ctx, t.host, t.yield, parts...) && !slices.ContainsFunc(results, func(r result) bool { return r.ended })
}

func declined(c session.Call) bool { return c.Verdict != nil && !c.Approved() }

// run runs a call of a tool.
func (t *turn) run(ctx context.Context, inv *session.Invocation, c session.Call) (r result) {
	f := t.functions[c.Name]
	if declined(c) {
		return result{response: map[string]any{"error": "declined: a human has said no to this call", "declined": true}}
	}
	if f == nil {
		return failed("there is no function %q; there are: %s", c.Name, strings.Join(slices.Sorted(maps.Keys(t.functions)), ", "))
	}
	if err := f.check(c.Args); err != nil {
		return failed("%v", err)
	}
	call := &tool.Call{ID: c.ID, Name: c.Name, Args: c.Args, Agent: t.agent.Name(), Branch: t.host.Branch, Invocation: inv, Artifacts: t.agent.Artifacts}
	if c.Approved() {
		yes := c.Verdict.Actions.RequestedToolConfirmations[c.ID]
		call.Confirmation = &yes
	}
	if call.Args == nil {
		call.Args = map[string]any{}
	}
	returned := false
	defer func() {
		if p := recover(); !returned && p != nil {
			r = failed("the function %s has failed: panic: %v", c.Name, p)
		}
	}()
	response, err := f.Run(ctx, call)
	returned = true
	var ask *tool.Ask
	switch {
	case errors.As(err, &ask):
		if c.ID == "" {
			return failed("a human cannot be asked about a call without an id")
		}
		return result{ask: ask}
	case err != nil:
		return failed("%v", err)
	case response == nil && f.LongRunning:
		return result{waits: true, actions: call.Actions}
	case response == nil:
		response = map[string]any{}
	}
	if _, err := json.Marshal(response); err != nil {
		return failed("the function %s has returned what is no JSON: %v", c.Name, err)
	}
	return result{response: response, actions: call.Actions}
}

// merge adds the actions of one call to those of the batch.
func merge(to *session.Actions, a session.Actions) {
	to.StateDelta = merged(to.StateDelta, a.StateDelta)
	to.ArtifactDelta = merged(to.ArtifactDelta, a.ArtifactDelta)
	for key, by := range a.StateIncrement {
		to.StateIncrement = merged(to.StateIncrement, map[string]float64{key: to.StateIncrement[key] + by})
	}
	to.SkipSummarization = to.SkipSummarization || a.SkipSummarization
	to.Escalate = to.Escalate || a.Escalate
	if a.TransferToAgent != "" {
		to.TransferToAgent = a.TransferToAgent
	}
}

func merged[V any](to, from map[string]V) map[string]V {
	if len(from) == 0 {
		return to
	}
	if to == nil {
		to = map[string]V{}
	}
	maps.Copy(to, from)
	return to
}
