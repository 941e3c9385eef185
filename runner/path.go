package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// batch is what one event becomes: itself, unless it is withheld, and what plugins emitted on it.
type batch struct {
	// pending are the events in the order of the log; events are the same once they are in the log.
	pending  []*pending
	events   []*session.Event
	withheld bool             // the event at hand was
	stop     *plugin.End      // how the invocation ends once the batch is in the log, nil if it goes on
	author   string           // who emitted it, where that was in another hook than OnEvent
	hook     plugin.Hook      // that hook
	observed []observation    // what observers are told
	temps    []map[string]any // the "temp:" keys of the events
	refused  bool             // the append was refused because a state value would have passed its bound
}

// offerLimit is how often an event is offered before the run fails, if the append is refused each time
// because a state value would pass its bound.
const offerLimit = 8

// put takes an event the one path: it is offered to the plugins from number from on, appended together
// with what they emitted on it, and delivered to the caller. After an error, and after a Stop, the
// invocation has ended.
func (x *run) put(ctx context.Context, p *pending, from int) (batch, error) {
	if x.sharedReaders {
		p.offer() // so that nobody can change it between two tries, unseen
	}
	original := *p
	for offers := 1; ; offers++ {
		b, err := x.try(ctx, p, from)
		if x.offerAgain(&b, offers) {
			// Another session was faster. With the state as it is by now, plugins may answer otherwise.
			*p = original
			continue
		}
		if err == nil {
			x.forgetShown(original.event)
		}
		return b, x.settle(ctx, &b, err)
	}
}

// try offers an event and appends what becomes of it.
func (x *run) try(ctx context.Context, p *pending, from int) (b batch, err error) {
	if err := context.Cause(ctx); err != nil {
		return b, err
	}
	// Plugins judge by the invocation, which an agent or a tool may hold, too.
	if err := x.checkSnapshot(); err != nil {
		return b, err
	}
	b.withheld, err = x.offer(ctx, &b, p, from)
	if p.event.ID == x.inputID {
		x.unlogged = nil
		if b.withheld {
			x.unlogged = x.given
		}
	}
	if err == nil {
		err = x.commit(ctx, &b)
	}
	return b, err
}

// offerAgain reports whether the append was refused because of a bound, and a plugin that reads shared state
// may answer otherwise at the next try.
func (x *run) offerAgain(b *batch, offers int) bool {
	return b.refused && x.sharedReaders && offers < offerLimit
}

// settle tells the observers what they saw, and delivers a batch that is in the log. If it is not, the
// invocation fails.
func (x *run) settle(ctx context.Context, b *batch, err error) error {
	for _, o := range b.observed {
		x.observers.add(&x.tasks, o)
	}
	if err != nil {
		x.unlogged = nil // the input is judged again when it is sent again
		x.fail(ctx, err)
		return err
	}
	for _, e := range b.events {
		if !e.Partial || x.partials {
			x.deliver(e)
		}
	}
	return nil
}

// offer offers an event to the plugins from number from on, and then, one after the other, what they
// emitted on it. It adds what is left to the batch, in the order of the log, and reports whether the
// event itself was withheld.
func (x *run) offer(ctx context.Context, b *batch, at *pending, from int) (withheld bool, err error) {
	type emitted struct {
		event *pending
		from  int // the first plugin it is offered to
	}
	var emissions []emitted
	fresh := false // the shared state was read for this event
	for i := from; i < len(x.opt.Plugins) && !withheld; i++ {
		p := x.opt.Plugins[i]

		// Does the plugin take this event at all?
		if p.OnEvent == nil || at.event.Partial && !p.Partials || !p.Filter.Match(at.event) {
			continue
		}

		// An observer gets a copy of its own, and is called later.
		if p.Observer {
			args := hookArgs{event: at.event.Clone()}
			b.observed = append(b.observed, x.observation(ctx, i, plugin.OnEvent, args))
			continue
		}

		// The plugin answers, on the state of now if it reads what other sessions change.
		if p.SharedState && !fresh && !at.event.Partial {
			if err := x.readShared(ctx); err != nil {
				return false, err
			}
			fresh = true
		}
		out, err := x.call(ctx, i, plugin.OnEvent, hookArgs{event: at.offer(), pending: at})
		if err != nil {
			return false, err
		}
		if out.IsZero() {
			continue
		}

		// What it emits waits until everybody was asked about the event at hand.
		for _, m := range out.Emit {
			e, err := x.emission(m, i, plugin.OnEvent, at.event.Branch, agentOf(at.event), out.Reason)
			if err != nil {
				return false, err
			}
			emissions = append(emissions, emitted{event: e, from: i + 1})
		}

		// The plugins after it see the event as it leaves it.
		if out.Replace != nil {
			if err := at.replace(out.Replace, p.Name, out.Reason, x.owners); err != nil {
				return false, &plugin.Error{Plugin: p.Name, Hook: plugin.OnEvent, Err: err}
			}
		}
		if out.Unchecked != "" {
			at.noteUnchecked(plugin.Note{Plugin: p.Name, Hook: plugin.OnEvent})
		}

		// The first stop is the one that counts; the others are asked all the same.
		if out.Stop && b.stop == nil {
			b.stop = &plugin.End{Kind: plugin.EndStopped, Plugin: p.Name, Reason: out.Reason}
		}
		withheld = out.Withhold
	}

	// The event stands before what was emitted on it.
	if !withheld {
		x.noteLasting(at)
		b.pending = append(b.pending, at)
	}
	for _, m := range emissions {
		if _, err := x.offer(ctx, b, m.event, m.from); err != nil {
			return withheld, err
		}
	}
	return withheld, nil
}

// commit appends a batch to the log and takes it into the view.
func (x *run) commit(ctx context.Context, b *batch) error {
	if len(b.pending) == 0 {
		x.endOn(b.stop)
		return nil
	}

	// Nobody may have changed an event after its hook returned.
	for _, p := range b.pending {
		if p.changed() {
			return fmt.Errorf("runner: event %q: %w. It was changed after it was offered", p.event.ID, plugin.ErrInPlace)
		}
	}
	changesState := func(p *pending) bool {
		return len(p.event.Actions.StateDelta)+len(p.event.Actions.StateIncrement) > 0
	}
	if slices.ContainsFunc(b.pending, changesState) {
		if err := x.loan.CheckState(); err != nil {
			x.stale = true
			return err
		}
	}

	// What is in the log says who stopped the run, and each call has one response.
	b.noteStop()
	x.noteInput(b)
	b.leaveOutSuperseded(x.inputID)

	// If an earlier append may have failed halfway, read the session again: this one must follow its end.
	if x.stale {
		if err := x.load(ctx); err != nil {
			return err
		}
	}
	log := x.entries(b)
	if len(log) > 0 {
		if err := x.append(ctx, b, log); err != nil {
			return err
		}
	}
	x.endOn(b.stop)
	return nil
}

// endOn ends the invocation with a plugin's stop, if there is one and it has not ended.
func (x *run) endOn(stop *plugin.End) {
	if stop != nil && !x.ended {
		x.ended = true
		x.end = *stop
	}
}

// entries returns what of a batch is appended. It fills b.events with what is yielded.
func (x *run) entries(b *batch) []*session.Event {
	log := make([]*session.Event, 0, len(b.pending))
	b.events = make([]*session.Event, 0, len(b.pending))
	for _, p := range b.pending {
		appended, yielded, temp := p.entry(x.liveMedia(p.event))
		b.events = append(b.events, yielded)
		if appended != nil {
			log = append(log, appended)
		}
		if temp != nil {
			b.temps = append(b.temps, temp)
		}
	}
	return log
}

// append appends events under the lease and lets the view follow the log.
func (x *run) append(ctx context.Context, b *batch, log []*session.Event) error {
	x.stale = true // until it is known how the append ended
	at := session.AppendTarget{Key: x.key, After: x.view.Position(), Fence: x.lease.Fence}
	if _, err := x.opt.Sessions.Append(ctx, at, log...); err != nil {
		b.refused = errors.Is(err, session.ErrBound)
		return b.blame(err)
	}
	x.stale = false
	for _, e := range log {
		if e.ID == x.inputID {
			x.input = e
		}
		if p := plugin.NotesOf(e).Input; p != nil && p.ID == x.inputID {
			x.unlogged = nil
		}
		if e.Seq <= x.view.Position() {
			continue // it was in the log already
		}
		if !x.view.Append(e) {
			x.stale = true // a rewind: what it revives has to be read
			continue
		}
		x.loan.Append(e, x.view.Live())
	}
	if x.stale {
		if err := x.load(ctx); err != nil {
			return err
		}
	}
	for _, temp := range b.temps {
		x.view.Set(temp)
	}
	x.snapshot.Lend(nil)
	return nil
}

// noteStop marks the last event of a batch with the name of the plugin that stopped the run, if nothing
// in the batch answers. What is said in a branch does not answer: it may leave calls of others open.
func (b *batch) noteStop() {
	answered := func(p *pending) bool {
		e := p.event
		return e.Branch == "" && isAnswer(e) && len(e.FunctionCalls()) == 0
	}
	if b.stop == nil || slices.ContainsFunc(b.pending, answered) {
		return
	}
	for _, p := range slices.Backward(b.pending) {
		if p.event.Partial || p.event.Marker() {
			continue // it is not in the live view
		}
		notes := plugin.NotesOf(p.event)
		notes.Stopped = b.stop.Plugin
		p.swap(notes.With(p.event))
		return
	}
}

// blame returns the error of an append. It is a plugin's if the store refused what the plugin emitted.
func (b *batch) blame(err error) error {
	var refused *session.EventError
	if !errors.As(err, &refused) {
		return err
	}
	for _, p := range b.pending {
		name, emitted := p.event.Plugin()
		if p.event.ID != refused.ID || !emitted {
			continue
		}
		hook := plugin.OnEvent
		if p.event.Author == b.author { // nothing is offered to its author, so it was emitted in b.hook
			hook = b.hook
		}
		return &plugin.Error{Plugin: name, Hook: hook, Err: err}
	}
	return err
}

// deliver yields an event to the caller, if there is one.
func (x *run) deliver(e *session.Event) {
	if x.left || x.inLoopBody || x.yield == nil {
		return
	}
	x.noteShown(e)
	x.inLoopBody = true // a panic in there comes out of yield, and leaves it so
	goesOn := x.yield(e, nil)
	x.inLoopBody = false
	if goesOn {
		return
	}
	x.left = true
	if !x.ended {
		x.ended = true
		x.end = plugin.End{Kind: plugin.EndLeft}
	}
}
