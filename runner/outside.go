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

// An Outside is an agent that runs in another program, on one session: a coding agent that calls hooks, or an agent of
// another kit. What it does comes here event by event, and takes the one path: the Runner's plugins judge it, and
// what they leave of it goes into the log. What they have made of it comes back, and the other program obeys.
//
// Each method holds the session's lease for as long as it runs. Many may run at once, in many processes; they take
// turns. All that lasts between them is in the log and the session's state.
//
// An invocation goes over many calls. It begins with an input that has content or a command, or else with what the agent
// does when no invocation is open; BeforeRun is called then. It ends with End, with a plugin's Stop, or when the next
// input finds it open (plugin.EndLeft); AfterRun is called then. After a Stop, and after an input that was withheld,
// whatever the agent does is refused until the next input: it is not asked about and not appended. Calls that are
// open at the next input get a response that says so, those that a human was asked about, too.
//
// A failure, of a plugin for example, ends the method with its error, and not the invocation: whether the other program
// goes on, it decides alone. The event at hand is not appended then; the program must take this as a refusal.
//
// An event with an ID may be offered again, by somebody who does not know whether it has arrived. If the live view has it,
// or an event in its place because a plugin has withheld it, nothing happens, and what has become of it comes back. So
// make IDs of what the other program calls it. Another event with the ID is session.ErrIDReused.
type Outside struct {
	Runner *Runner
	// Key names the session. It is made if it is not there.
	Key session.Key
	// Agent is the author of events that have none, a name as of an agent.Agent. It names the other program.
	Agent string
}

// Offered says what has become of something that was offered.
type Offered struct {
	// Invocation is the ID of the invocation that it belongs to.
	Invocation string
	// Event is the event as it is in the log, nil if it is not there.
	Event *session.Event
	// Events are Event and what plugins emitted on it, in the order of the log, and what else came into the log of the
	// same invocation: the runner's marks, and responses to calls that the agent has left open.
	Events []*session.Event
	// Calls are the function calls of Event, with what has become of them. One without a Response may be executed,
	// unless it is Held and not Approved. One with a Response may not: that is its result.
	Calls []session.Call
	// Withheld is the plugin that has withheld the event or the model request, and why; nil if none has.
	Withheld *plugin.Note
	// Repeated says that it was offered before: nobody was asked again.
	Repeated bool
	// End is how the invocation has ended, nil if it goes on. Kind is plugin.EndStopped if the agent must stop.
	End *plugin.End
}

// Offer offers a whole event: an input if its author is session.User, or what the agent has said, calls or got as
// responses. The input begins an invocation, unless it has neither content nor a command: a decision about calls, or a
// change of state. Agents within the agent have names and branches of their own in the event.
//
// A response to a call that is not open is ErrNotWaiting. If the call was made all the same, offer it first.
//
// A partial event is judged and its text comes back in Events; it is not appended. Plugins that keep something of a
// stream need the same Runner for all of it; see Stream.
func (o Outside) Offer(ctx context.Context, e *session.Event) (*Offered, error) {
	if e == nil {
		return nil, fmt.Errorf("runner: outside: %w: the event is nil", session.ErrInvalid)
	}
	p := &offering{id: e.ID}
	if e.Author == session.User {
		return o.call(ctx, e, p)
	}
	p.events = func(yield func(*session.Event, error) bool) { yield(e, nil) }
	return o.call(ctx, nil, p)
}

// Ask offers a model request to BeforeModel before the agent sends it. It returns the request to send, which is a changed
// copy, or nil if the model is not to be called: then Events has what stands in for the answer.
func (o Outside) Ask(ctx context.Context, req *model.Request) (*model.Request, *Offered, error) {
	p := &offering{request: req}
	result, err := o.call(ctx, nil, p)
	return p.allowed, result, err
}

// Stream offers an answer as it is made: partial events, then the whole, all with one ID. It yields what may be shown.
// If the whole never comes, what was shown goes into the log, as in a run. It holds the lease until the events end.
func (o Outside) Stream(ctx context.Context, events iter.Seq2[*session.Event, error]) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if _, err := o.run(ctx, nil, &offering{events: events, stream: true}, yield); err != nil {
			yield(nil, err)
		}
	}
}

// End ends the open invocation. A zero Kind is plugin.EndDone. The mark in the log that says so is an event like
// others: if a plugin withholds it, the invocation goes on, and so should the agent. Without an open invocation nothing
// happens.
func (o Outside) End(ctx context.Context, end plugin.End) (*Offered, error) {
	if end.Kind == "" {
		end.Kind = plugin.EndDone
	}
	return o.call(ctx, nil, &offering{end: &end})
}

func (o Outside) call(ctx context.Context, input *session.Event, p *offering) (*Offered, error) {
	return o.run(ctx, input, p, func(e *session.Event, _ error) bool {
		p.result.Events = append(p.result.Events, e)
		if e.ID == p.id && p.id != "" && !e.Partial {
			p.result.Event = e
		}
		return true
	})
}

func (o Outside) run(ctx context.Context, input *session.Event, p *offering, yield func(*session.Event, error) bool) (*Offered, error) {
	if err := agent.Check(agent.Outside(o.Agent, "")); err != nil {
		return nil, fmt.Errorf("runner: outside: %w", err)
	}
	p.agent = o.Agent
	x := newRun(o.Runner, o.Key, input, session.RunConfig{Create: true, Streaming: session.SSE}, yield)
	x.outside = p
	x.then = x.noteResult
	err := x.task(ctx)
	if err != nil {
		return nil, err
	}
	return &p.result, nil
}

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
	for key, field := range o.fields() {
		*field, _ = value[key].(string)
	}
	return o
}

func (o *openInvocation) fields() map[string]*string {
	return map[string]*string{
		"invocation": &o.invocation, "input": &o.input, "agent": &o.agent, "phase": &o.phase, "plugin": &o.plugin, "reason": &o.reason,
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
	for key, field := range o.fields() {
		if *field != "" {
			value[key] = *field
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

// offeredStages takes what an agent outside offers through its stages.
func (x *run) offeredStages(ctx context.Context) {
	o := x.outside
	o.open = openIn(x.view.State())
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
