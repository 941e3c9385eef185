package runner

import (
	"context"
	"fmt"
	"iter"

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
// A session is of one or the other: one in which the Runner's own agent has run is refused with ErrOwnSession, and in one of
// an Outside the Runner's agent does not run: Run takes answers and commands there, and refuses messages (agent.Outside).
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
	x.then = func(inv *session.Invocation, _ error) { x.noteResult(inv) }
	err := x.task(ctx)
	if err != nil {
		return nil, err
	}
	return &p.result, nil
}
