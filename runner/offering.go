package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// An offering is what an agent outside offers in one call.
type offering struct {
	agent   string
	id      string                           // of the event, "" if it is not known yet
	events  iter.Seq2[*session.Event, error] // of the agent, if it is something that the agent does
	stream  bool                             // the events are a stream
	request *model.Request                   // if it is a model request
	end     *plugin.End                      // if it is the invocation's end
	open    openInvocation                   // the session's last one
	allowed *model.Request                   // what is left of request
	over    bool                             // the invocation has ended: AfterRun is called
	result  Offered
}

// offeredStages takes what an agent outside offers through its stages.
func (x *run) offeredStages(ctx context.Context) {
	o := x.outside
	o.open = openIn(x.view.State())
	if o.open.agent == "" && slices.ContainsFunc(x.view.Live(), (*session.Event).FromAgent) {
		x.fail(ctx, fmt.Errorf("runner: outside: %w", ErrOwnSession))
		return
	}
	if o.open.phase == began {
		x.findStop()
	}
	input := x.input
	x.input = nil
	switch {
	case input != nil:
		x.offeredInput(ctx, input)
	case o.end != nil:
		x.offeredEnd(ctx)
	case o.request != nil:
		x.offeredRequest(ctx)
	default:
		x.loop(ctx, o.events)
		if !o.stream {
			x.shown = nil // more of it comes in another call
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		x.fail(ctx, cause)
	}
}

// offeredInput takes an input. One with content or a command begins an invocation.
func (x *run) offeredInput(ctx context.Context, input *session.Event) {
	o := x.outside
	_, command := input.Command()
	begins := command || input.Content != nil
	if last, repeated := x.findOffered(input); repeated {
		// It goes on if it is the last that happened, and BeforeRun was not called to its end.
		if begins && last && x.input != nil && o.open.invocation != x.id && !x.ended {
			x.beginOffered(ctx)
		}
		return
	}
	if err := x.checkAnswers(input); err != nil {
		x.fail(ctx, err)
		return
	}
	switch {
	case begins && (o.open.phase == began || o.open.unmarked):
		x.endPrevious(ctx)
	case !begins && o.open.phase == began:
		input.InvocationID = o.open.invocation
		x.goOn()
	}
	if x.ended {
		return
	}
	b := x.putNew(ctx, input)
	switch {
	case b.withheld:
		o.result.Withheld = &b.withheldBy
		if begins {
			x.stop(b.withheldBy.Plugin, b.withheldBy.Reason)
		}
	case begins && !x.ended:
		x.beginOffered(ctx)
	}
}

// beginOffered begins the invocation of an input that is in the log, or one without an input.
func (x *run) beginOffered(ctx context.Context) {
	x.begin(ctx)
	if x.ended {
		return
	}
	b, err := x.mark(ctx, began, plugin.End{})
	switch {
	case err != nil || x.ended: // put has ended the run
	case b.withheld:
		x.stop(b.withheldBy.Plugin, b.withheldBy.Reason)
	case x.input != nil:
		x.answerInterrupted(ctx)
	}
}

// ready reports whether the agent may do something: it makes the run one of the open invocation, or begins one.
func (x *run) ready(ctx context.Context) bool {
	open := &x.outside.open
	switch open.phase {
	case began:
		if x.id != open.invocation {
			x.goOn()
		}
	case string(plugin.EndStopped):
		x.id = open.invocation
		x.stop(open.plugin, open.reason)
	default:
		x.id = session.NewID()
		x.beginOffered(ctx)
	}
	return !x.ended
}

// putOffered puts what the agent does. given says that the event had an ID.
func (x *run) putOffered(ctx context.Context, e *session.Event, given bool) {
	o := x.outside
	if given && !e.Partial {
		x.given = e
		x.inputID = e.ID
		x.unlogged = nil
		if _, repeated := x.findOffered(e); repeated {
			return
		}
	}
	if !x.ready(ctx) {
		return
	}
	e.InvocationID = x.id
	open := x.invocation().CallsSince(x.view.Position())
	for _, r := range e.FunctionResponses() {
		waits := func(c session.Call) bool { return c.ID == r.ID && (r.ID != "" || c.Name == r.Name) }
		if !slices.ContainsFunc(open, waits) {
			x.fail(ctx, fmt.Errorf("runner: outside: the event responds to %q (%s): %w: it was answered before, or never was "+
				"offered; offer the call first", r.ID, r.Name, ErrNotWaiting))
			return
		}
	}
	o.id = e.ID
	if b := x.putNew(ctx, e); b.withheld {
		o.result.Withheld = &b.withheldBy
	}
}

// offeredRequest offers a model request.
func (x *run) offeredRequest(ctx context.Context) {
	o := x.outside
	if !x.ready(ctx) {
		return
	}
	build := func(*session.Invocation) (*model.Request, error) { return o.request.Clone(), nil }
	req, err := x.beforeModel(ctx, ctx, build)
	if err != nil && !errors.Is(err, agent.ErrEnded) {
		x.fail(ctx, err)
	}
	o.allowed = req
}

// offeredEnd ends the open invocation.
func (x *run) offeredEnd(ctx context.Context) {
	o := x.outside
	if o.open.phase != began {
		o.result.Repeated = true
		return
	}
	x.goOn()
	b, err := x.mark(ctx, string(o.end.Kind), *o.end)
	switch {
	case err != nil || x.ended:
	case b.withheld:
		o.result.Withheld = &b.withheldBy
	default:
		x.ended = true
		x.end = *o.end
		o.over = true
	}
}

// findOffered reports whether the log has an event that is offered, or one in its place. Then that is yielded, with what
// plugins emitted on it. last says that nothing else happened since.
func (x *run) findOffered(e *session.Event) (last, repeated bool) {
	o := x.outside
	first := x.loan.InputIndex(e.ID)
	if x.given == nil || first < 0 {
		return false, false
	}
	live := x.view.Live()
	was := live[first]
	if !x.repeats(was, e) {
		x.fail(context.Background(), &session.EventError{Key: x.key, ID: e.ID, Err: session.ErrIDReused})
		return false, true
	}
	x.id = was.InvocationID
	x.snapshot.Lend(nil)
	o.id = e.ID
	o.result.Repeated = true
	switch {
	case was.ID != e.ID:
		note := authorNote(was)
		if note.Plugin == "" && was.InvocationID == o.open.invocation { // a mark
			note = plugin.Note{Plugin: o.open.plugin, Reason: o.open.reason}
		}
		o.result.Withheld = &note
	case was.Author == session.User:
		x.input = was
	}
	emitted := live[first+1:]
	for i, e := range emitted {
		if _, ok := e.Plugin(); !ok || e.InvocationID != was.InvocationID || e.Marker() {
			emitted = emitted[:i]
			break
		}
	}
	x.deliver(was)
	for _, e := range emitted {
		x.deliver(e)
	}
	return first+1+len(emitted) == len(live), true
}

// authorNote returns the plugin that has emitted an event, and why.
func authorNote(e *session.Event) plugin.Note {
	name, _ := e.Plugin()
	return plugin.Note{Plugin: name, Reason: plugin.NotesOf(e).Reason}
}

// noteResult notes what has become of what was offered, as the session is at the end.
func (x *run) noteResult(inv *session.Invocation) {
	o := x.outside
	r := &o.result
	r.Invocation = x.id
	if r.Event != nil && len(r.Event.FunctionCalls()) > 0 {
		for _, c := range inv.CallsSince(r.Event.Seq) {
			if c.Event.ID == r.Event.ID {
				r.Calls = append(r.Calls, c)
			}
		}
	}
	switch {
	case x.ended && x.end.Err == nil && x.end.Kind != plugin.EndLeft:
		end := x.end
		r.End = &end
	case o.open.invocation == x.id && o.open.phase != began:
		r.End = &plugin.End{Kind: plugin.EndKind(o.open.phase), Plugin: o.open.plugin, Reason: o.open.reason}
	}
	for _, e := range r.Events {
		if note := authorNote(e); o.request != nil && o.allowed == nil && note.Plugin != "" {
			r.Withheld = &note
		}
	}
}
