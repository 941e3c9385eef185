package runner

import (
	"context"
	"errors"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// outsideState is the state key that says which invocation of an agent outside is open, and how the last one has ended.
// A compaction does not cover it, and a rewind takes it back.
const outsideState = plugin.RunnerState + ":outside"

// An openInvocation is the value of outsideState.
type openInvocation struct {
	invocation, input, agent string
	phase                    string // began, or how it ended
	plugin, reason           string // who stopped it
	unmarked                 bool   // the log has the stop, and no mark of it: the process ended before
}

const began = "began"

// AgentOutside returns the name of the agent outside whose invocation is the last one in a session with this state, ""
// if there is none.
func AgentOutside(state map[string]any) string { return openIn(state).agent }

func openIn(state map[string]any) (o openInvocation) {
	value, _ := state[outsideState].(map[string]any)
	for _, f := range o.fields() {
		*f.value, _ = value[f.key].(string)
	}
	return o
}

type openField struct {
	key   string
	value *string
}

func (o *openInvocation) fields() []openField {
	return []openField{
		{"invocation", &o.invocation}, {"input", &o.input}, {"agent", &o.agent},
		{"phase", &o.phase}, {"plugin", &o.plugin}, {"reason", &o.reason},
	}
}

// mark puts an event into the log that says how far the invocation is. A plugin may withhold it.
func (x *run) mark(ctx context.Context, phase string, end plugin.End) (batch, error) {
	o := openInvocation{
		invocation: x.id,
		agent:      x.outside.agent,
		phase:      phase,
		plugin:     end.Plugin,
		reason:     end.Reason,
	}
	if x.input != nil {
		o.input = x.input.ID
	}
	value := map[string]any{}
	for _, f := range o.fields() {
		if *f.value != "" {
			value[f.key] = *f.value
		}
	}
	e := &session.Event{
		ID:           session.NewID(),
		InvocationID: x.id,
		Author:       x.outside.agent,
		Timestamp:    x.opt.Now().UTC(),
	}
	e.Actions.Set(outsideState, value)
	b, err := x.put(ctx, newPending(e), 0)
	if err == nil && !b.withheld {
		x.outside.open = o
	}
	return b, err
}

// findStop finds a stop of the open invocation of which the log has no mark: the process ended before.
func (x *run) findStop() {
	open := &x.outside.open
	for _, e := range slices.Backward(x.view.Live()) {
		if _, marks := e.Actions.StateDelta[outsideState]; marks {
			return
		}
		if notes := plugin.NotesOf(e); e.InvocationID == open.invocation && notes.Stopped != "" {
			open.phase = string(plugin.EndStopped)
			open.plugin = notes.Stopped
			open.reason = notes.Reason
			open.unmarked = true
			return
		}
	}
}

// goOn makes the run one of the open invocation.
func (x *run) goOn() {
	open := x.outside.open
	x.id = open.invocation
	x.input = x.liveEvent(open.input)
	x.snapshot.Lend(nil)
}

// liveEvent returns the event of the live view with an ID, nil if there is none.
func (x *run) liveEvent(id string) *session.Event {
	if i := x.loan.InputIndex(id); id != "" && i >= 0 && x.view.Live()[i].ID == id {
		return x.view.Live()[i]
	}
	return nil
}

// endPrevious ends the open invocation, which another input has found. Its caller is not there to be told.
func (x *run) endPrevious(ctx context.Context) {
	id, yield := x.id, x.yield
	x.yield = nil
	x.goOn()
	end := plugin.End{Kind: plugin.EndLeft}
	if open := x.outside.open; open.unmarked {
		end = plugin.End{Kind: plugin.EndStopped, Plugin: open.plugin, Reason: open.reason}
	}
	if _, err := x.mark(ctx, string(end.Kind), end); err != nil || x.ended {
		return
	}
	var errs []error
	x.ended = true
	x.end = end
	detached, cancel := x.tasks.detach(ctx)
	defer cancel()
	x.afterRun(detached, 0, &errs)
	if err := errors.Join(errs...); err != nil {
		x.opt.Log.Warn("AfterRun of an invocation that its agent has left failed", "session", x.key, "invocation", x.id, "error", err)
	}
	x.id, x.yield = id, yield
	x.input = nil
	x.ended = false
	x.unchecked = nil
	x.snapshot.Lend(nil)
}

// noteStopped marks in the log that a plugin has stopped the invocation of an agent outside, which therefore ends.
func (x *run) noteStopped(ctx context.Context) error {
	o := x.outside
	if o == nil || x.end.Kind != plugin.EndStopped || o.over {
		return nil
	}
	if o.open.invocation == x.id && o.open.phase == string(plugin.EndStopped) && !o.open.unmarked {
		return nil // it was stopped before
	}
	o.over = true
	ctx, cancel, err := x.afterTheEnd(ctx)
	defer cancel()
	if err == nil {
		_, err = x.mark(ctx, string(plugin.EndStopped), x.end)
	}
	return err
}
