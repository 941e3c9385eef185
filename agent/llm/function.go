package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/huandu/go-clone"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A function is what the model can call: a tool, or an agent.
type function struct {
	*tool.Tool             // without Run if callee is set
	callee     agent.Agent // the agent that is called, nil for a tool
	check      func(ctx context.Context, args map[string]any) error
}

func newFunction(t *tool.Tool) (*function, error) {
	check, err := t.Check()
	if err == nil && t.Run == nil {
		err = fmt.Errorf("tool %s: Run is nil", t.Name())
	}
	return &function{Tool: t, check: check}, err
}

// A result is the result of one call.
type result struct {
	response map[string]any // nil if there is none yet
	actions  session.Actions
	ask      *tool.Ask // the question to a human
	waits    bool      // the response, or another one, comes later
	ended    bool      // the invocation has ended
}

func failed(format string, args ...any) result {
	return result{response: map[string]any{"error": fmt.Sprintf(format, args...)}}
}

// execute executes the calls of one event and yields their responses as one event. It reports
// whether the loop goes on.
func (lp *loop) execute(calls []session.Call) bool {
	inv := lp.host.Now()
	results := make([]result, len(calls))
	if calls[0].Decision == nil { // a human limits how often calls are approved
		lp.executed++
	}
	if lp.executed > lp.agent.limit() {
		lp.fail(ModelCallLimit, fmt.Errorf("agent %s: functions were called %d times in this run, as often as its model may be", lp.agent.Name(), lp.agent.limit()))
		return false
	}
	for i := 0; i < len(calls); {
		n := i + 1
		for f := lp.functions[calls[i].Name]; n < len(calls) && !serial(f) &&
			!serial(lp.functions[calls[n].Name]); n++ {
		}
		if !lp.executeAll(inv, calls[i:n], results[i:n]) {
			return false
		}
		inv = after(inv, results[i:n])
		i = n
	}
	e := lp.event()
	e.Content = &genai.Content{Role: genai.RoleUser}
	for i, c := range calls {
		lp.started[keyOf(c)] = true
		r := &results[i]
		if r.waits {
			e.LongRunningToolIDs = append(e.LongRunningToolIDs, c.ID)
		}
		switch {
		case r.response != nil:
			e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID:       c.ID,
				Name:     c.Name,
				Response: r.response,
			}})
			merge(&e.Actions, r.actions)
		case r.ask != nil:
			e.Actions.Confirm(c.ID, session.Confirmation{Hint: r.ask.Hint, Payload: r.ask.Payload, Ask: r.ask.By})
		case r.waits:
			merge(&e.Actions, r.actions)
		}
	}
	if len(e.Content.Parts) == 0 {
		e.Content = nil
		if e.LongRunningToolIDs == nil && e.Actions.RequestedToolConfirmations == nil {
			return true
		}
	}
	return lp.yield(e, nil)
}

// after returns the invocation with the state that results have set, for the calls that are
// executed next.
func after(inv *session.Invocation, results []result) *session.Invocation {
	then := *inv
	then.State = maps.Clone(inv.State)
	for _, r := range results {
		for key, v := range r.actions.StateDelta {
			if v == nil {
				delete(then.State, key)
			} else {
				then.State = merged(then.State, map[string]any{key: asRead(v)})
			}
		}
	}
	return &then
}

// asRead returns a JSON value as it is once it was written and read. That it is one was checked.
func asRead(v any) (read any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		return v
	}
	return read
}

func serial(f *function) bool { return f != nil && f.callee == nil && f.Serial }

// executeAll executes calls concurrently. It reports whether the loop goes on.
func (lp *loop) executeAll(inv *session.Invocation, calls []session.Call, results []result) bool {
	if f := lp.functions[calls[0].Name]; len(calls) == 1 && (f == nil || f.callee == nil) {
		lp.run(lp.ctx, inv, calls[0], &results[0])
		return true
	}
	parts := make([]agent.Part, len(calls))
	for i, c := range calls {
		parts[i] = func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			if f := lp.functions[c.Name]; f != nil && f.callee != nil && !declined(c) {
				results[i] = lp.runCallee(ctx, host, yield, f, c)
				return
			}
			lp.run(ctx, inv, c, &results[i])
		}
	}
	return agent.Together(lp.ctx, lp.host, lp.yield, parts...) &&
		!slices.ContainsFunc(results, func(r result) bool { return r.ended })
}

func declined(c session.Call) bool { return c.Decision != nil && !c.Approved() }

// run executes a call of a tool. It does so on its own goroutine, so a tool cannot damage the
// run's.
func (lp *loop) run(ctx context.Context, inv *session.Invocation, c session.Call, to *result) {
	// Not on the new goroutine, whose stack would have to grow. The check is bounded, and ends with
	// the context.
	if f := lp.functions[c.Name]; f != nil && !declined(c) {
		if err := f.check(ctx, c.Args); err != nil {
			*to = failed("%v", err)
			return
		}
	}
	ctx, span := telemetry.Tool(ctx, c.Name, c.ID, c.Args)
	defer func() {
		failure := ""
		if _, is := to.response["error"]; is {
			failure = "tool_error"
		}
		span.Result(to.response)
		span.End(failure)
	}()
	*to = failed("the function %s has failed: it has ended its goroutine", c.Name)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if err := panicked.Recovered(recover()); err != nil {
				panicked.Log(lp.host.Log, "tool panicked", err, "tool", c.Name, "event", c.Event.ID, "call", c.ID)
				*to = failed("the function %s has failed: %v", c.Name, err)
			}
		}()
		*to = lp.call(ctx, inv, c)
	}()
	<-done
}

func (lp *loop) call(ctx context.Context, inv *session.Invocation, c session.Call) result {
	f := lp.functions[c.Name]
	if declined(c) {
		no := map[string]any{"error": "declined: a human has said no to this call", "declined": true}
		if why := c.Decision.Actions.RequestedToolConfirmations[c.ID].Payload; why != nil {
			no["reason"] = why
		}
		return result{response: no}
	}
	if f == nil {
		return failed("there is no function %q; there are: %s", c.Name,
			strings.Join(slices.Sorted(maps.Keys(lp.functions)), ", "))
	}
	call := &tool.Call{
		ID:         c.ID,
		Name:       c.Name,
		Args:       map[string]any{},
		Agent:      lp.agent.Name(),
		Branch:     lp.host.Branch,
		Invocation: inv,
		Artifacts:  lp.agent.Artifacts,
	}
	if len(c.Args) > 0 {
		call.Args = clone.Clone(c.Args).(map[string]any) // those of the log must not be changed
	}
	// an approval that a plugin asked for does not count for the tool
	if c.Approved() && c.Held.Author == lp.agent.Name() {
		yes := c.Decision.Actions.RequestedToolConfirmations[c.ID]
		call.Confirmation = &yes
	}
	response, err := f.Run(ctx, call)
	var ask *tool.Ask
	switch {
	case errors.As(err, &ask) && c.ID == "":
		return failed("a human cannot be asked about a call without an ID")
	case errors.As(err, &ask):
		response = nil
		err = nil
	case response == nil && (!f.LongRunning || call.Final):
		response = map[string]any{}
	}
	r := result{
		response: response,
		actions:  call.Actions,
		ask:      ask,
		waits:    ask == nil && f.LongRunning && !call.Final,
	}
	if err == nil {
		err = storable(r)
	}
	if err != nil {
		return failed("%v", err)
	}
	return r
}

// storable returns an error if a result cannot be appended to the log.
func storable(r result) error {
	if _, err := json.Marshal(r.response); err != nil {
		return fmt.Errorf("the function returned a value that JSON does not have: %w", err)
	}
	if _, err := json.Marshal(r.actions.StateDelta); err != nil {
		return fmt.Errorf("the function set a state key to a value that JSON does not have: %w", err)
	}
	if _, ok := r.actions.StateDelta[""]; ok {
		return errors.New("the function set a state key without a name")
	}
	if r.ask != nil {
		if _, err := json.Marshal(r.ask.Payload); err != nil {
			return fmt.Errorf("the question of the function to a human has a value that JSON does not have: %w", err)
		}
	}
	return nil
}

// merge adds the actions of one call to those of all.
func merge(to *session.Actions, a session.Actions) {
	to.StateDelta = merged(to.StateDelta, a.StateDelta)
	to.ArtifactDelta = merged(to.ArtifactDelta, a.ArtifactDelta)
	for key, by := range a.StateIncrement {
		to.StateIncrement = merged(to.StateIncrement,
			map[string]float64{key: to.StateIncrement[key] + by})
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
