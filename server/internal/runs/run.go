package runs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
)

// A Run is one run of this process, waiting, running or ended.
type Run struct {
	// Invocation is the ID of the invocation, Input that of its input event, "" if it has none. Two runs with
	// the same input are one.
	Invocation, Input string
	Key               session.Key

	request Request
	debt    *debt // nil if nobody is told of the run
	hold    *limits.Hold
	budget  *limits.Process
	cancel  context.CancelCauseFunc
	begun   chan struct{} // closed when the run has yielded something
	done    chan struct{} // closed when the run has ended

	mu sync.Mutex
	// items are what the run has yielded: events of the log, and partial events. A partial event is nil as
	// soon as its whole event is there.
	items     []*session.Event
	elsewhere map[string]bool  // the IDs of items that another process has appended
	partials  map[string][]int // by the ID of the whole event: where its partial events are in items
	followers map[*RunFollower]struct{}
	leaves    bool // the run is cancelled when its last follower has left
	ended     bool
	end       End
	known     bool           // waiting is set: the run has ended in this process with a live view
	waiting   []session.Call // the calls that wait for an answer from outside after the run
}

// An End is how a run ended.
type End struct {
	Kind Kind
	// Plugin is the plugin that stopped the run or failed, if one did, and Reason why it stopped it.
	Plugin, Reason string
	// Err is why it failed or was cancelled.
	Err error
}

// A Kind is a way for a run to end.
type Kind string

// The ways to end.
const (
	Done      Kind = "done"      // the agent has said all that it had to say
	Waiting   Kind = "waiting"   // so far: calls wait for an answer from outside; a Run's End is Done then
	Denied    Kind = "denied"    // a plugin refused by policy: an event has the error code session.Denied
	Stopped   Kind = "stopped"   // a plugin ended the run without an answer
	Failed    Kind = "failed"    // the agent, a plugin or the store failed
	Cancelled Kind = "cancelled" // somebody cancelled it, or it took too long
	CutOff    Kind = "cut_off"   // the store or this server went away: the same input, sent again, goes on
)

// cutOff reports whether an error is none of the run's own: its store cannot be reached, another process has its
// session, or the server is shut down.
func cutOff(err error) bool {
	return errors.Is(err, session.ErrUnavailable) || errors.Is(err, session.ErrFenced) ||
		errors.Is(err, session.ErrConflict) || errors.Is(err, session.ErrClosed)
}

// ErrTooLong is the cause of a run's end that took longer than Limits.Length.
var ErrTooLong = fmt.Errorf("the run was %w: it took longer than the server allows", session.ErrCancelled)

// Ended returns a run that has appended an event, and has ended before.
func Ended(key session.Key, e *session.Event) *Run {
	r := &Run{Key: key, Invocation: e.InvocationID, items: []*session.Event{e}, done: make(chan struct{}), ended: true}
	close(r.done)
	r.end.note(e)
	r.end.Kind = cmp.Or(r.end.Kind, Done)
	return r
}

// Done returns a channel that is closed when the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// End returns how the run ended. It is meaningful when Done is closed.
func (r *Run) End() End {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// Begun returns a channel that is closed when the run has yielded something.
func (r *Run) Begun() <-chan struct{} { return r.begun }

// Began reports whether the run has yielded something. Before that it may be waiting for the session.
func (r *Run) Began() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.items) > 0
}

// HasEnded reports whether Done is closed.
func (r *Run) HasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Events returns the events of the log that the run has yielded so far.
func (r *Run) Events() []*session.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []*session.Event
	for _, e := range r.items {
		if e != nil && !e.Partial {
			events = append(events, e)
		}
	}
	return events
}

// Cancel ends the run. cause is what it ends with; nil is session.ErrCancelled.
func (r *Run) Cancel(cause error) {
	if cause == nil {
		cause = &session.KeyError{Key: r.Key, Err: session.ErrCancelled}
	}
	r.cancel(cause)
}

// Follow returns a reader of the run's events: those of the log behind position after, and the partial
// events. A run that was started with Request.LeaveCancels is cancelled when its last Follower is closed.
func (r *Run) Follow(after int64) *RunFollower {
	f := &RunFollower{run: r, after: after, wake: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers[f] = struct{}{}
	return f
}

// add adds what the run has yielded, and wakes its followers. elsewhere says that another process has appended
// the event for the run's input: when this process yields it, too, it is left out.
func (r *Run) add(e *session.Event, elsewhere bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.Partial && r.elsewhere[e.ID] {
		return
	}
	if elsewhere {
		if r.elsewhere == nil {
			r.elsewhere = map[string]bool{}
		}
		r.elsewhere[e.ID] = true
	}
	if !e.Partial {
		n := limits.Weight(e)
		r.hold.AddJSON(n)
		if !elsewhere {
			r.budget.Grown(r.Key, n)
		}
	}
	if e.Partial {
		if r.partials == nil {
			r.partials = map[string][]int{}
		}
		r.partials[e.ID] = append(r.partials[e.ID], len(r.items))
	} else {
		for _, i := range r.partials[e.ID] {
			r.items[i] = nil
		}
		delete(r.partials, e.ID)
		r.end.note(e)
	}
	if len(r.items) == 0 {
		close(r.begun)
	}
	r.items = append(r.items, e)
	r.wake()
}

// note updates the end by an event: it may say that a plugin has stopped or denied the run, or that it was
// cancelled.
func (end *End) note(e *session.Event) {
	if by := plugin.NotesOf(e).Stopped; by != "" {
		*end = End{Kind: Stopped, Plugin: by, Reason: plugin.NotesOf(e).Reason}
	}
	if e.ErrorCode == session.Cancelled && e.Author == session.User {
		*end = End{Kind: Cancelled, Reason: e.ErrorMessage}
	}
	// The denial of a tool call is a function response. It does not end the run: the agent goes on.
	if name, why, ok := plugin.Denial(e); ok && len(e.FunctionResponses()) == 0 {
		*end = End{Kind: Denied, Plugin: name, Reason: why}
	}
}

// EndIn returns how a run has ended as far as its events tell, which are those of the log. The Kind is empty
// if they tell nothing: the run is done, or it was cut off.
func EndIn(events []*session.Event) End {
	var end End
	for _, e := range events {
		end.note(e)
	}
	return end
}

// endBy returns how the run ends with an error, or without one.
func (r *Run) endBy(ctx context.Context, err error) End {
	var failed *plugin.Error
	switch {
	case err != nil && errors.Is(context.Cause(ctx), session.ErrClosed):
		return End{Kind: CutOff, Err: context.Cause(ctx)}
	case err != nil && cutOff(err):
		return End{Kind: CutOff, Err: err}
	case err != nil && context.Cause(ctx) != nil:
		return End{Kind: Cancelled, Err: context.Cause(ctx)}
	case errors.Is(err, session.ErrCancelled):
		return End{Kind: Cancelled, Err: err}
	case errors.As(err, &failed):
		return End{Kind: Failed, Plugin: failed.Plugin, Err: err}
	case err != nil:
		return End{Kind: Failed, Err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.end
	end.Kind = cmp.Or(end.Kind, Done)
	return end
}

// finish ends the run.
func (r *Run) finish(ctx context.Context, err error) {
	end := r.endBy(ctx, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = end
	r.ended = true
	r.hold.Ended()
	if len(r.followers) == 0 {
		r.hold.Release()
	}
	close(r.done)
	r.wake()
}

// wake wakes the followers. r.mu is held.
func (r *Run) wake() {
	for f := range r.followers {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// leave takes out a follower. The last one to leave a run that nobody else wants cancels it.
func (r *Run) leave(f *RunFollower) {
	r.mu.Lock()
	delete(r.followers, f)
	alone := r.leaves && len(r.followers) == 0 && !r.ended
	if r.ended && len(r.followers) == 0 {
		r.hold.Release() // nobody reads any more what it has said
	}
	r.mu.Unlock()
	if alone {
		r.Cancel(nil)
	}
}

// same reports whether an input says what the run's does: content, actions, metadata, but not who sends a yes or
// no, which the runner writes. What an input has said that a plugin has changed is not known: each with its ID does.
func (r *Run) same(input *session.Event) bool {
	if r.request.changed {
		return true
	}
	effect := func(e *session.Event) []byte {
		said := (&session.Event{Content: e.Content, Actions: e.Actions}).Clone()
		for id, c := range said.Actions.RequestedToolConfirmations {
			c.Name, c.Roles, c.Ask = "", nil, nil
			said.Actions.RequestedToolConfirmations[id] = c
		}
		if len(e.CustomMetadata) > 0 {
			said.CustomMetadata = e.CustomMetadata
		}
		data, err := said.MarshalJSON()
		if err != nil {
			return nil
		}
		return data
	}
	was := effect(r.request.Input)
	return was != nil && bytes.Equal(was, effect(input))
}

// left notes which calls wait after the run: inv is the session as the run leaves it.
func (r *Run) left(inv *session.Invocation) {
	calls := session.Calls(inv.Live)
	calls = slices.DeleteFunc(calls, func(c session.Call) bool { return !c.Waits() })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = true
	r.waiting = slices.Clip(calls)
}

// Waiting returns the calls of the session that waited for an answer from outside when the run ended. ok is
// false if that is not known.
func (r *Run) Waiting() (calls []session.Call, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting, r.known
}

// Outside returns those of the calls that wait which somebody outside is to answer: not those that an agent answers.
func Outside(calls []session.Call) []session.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c session.Call) bool {
		answeredByAgent := func(other session.Call) bool { return c.Conversation(other.Event.Branch) }
		return (c.Held == nil || c.Decision != nil) && slices.ContainsFunc(calls, answeredByAgent)
	})
}

// Request returns what the run was started with.
func (r *Run) Request() Request { return r.request }
