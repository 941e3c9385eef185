package runner

import (
	"context"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// batch is what one event becomes: itself, unless it is withheld, and what plugins emitted on it.
type batch struct {
	// pending are the events in the order of the log; events are the same once they are in the log.
	pending    []*pending
	events     []*session.Event
	original   *session.Event   // the event as it was put, nil if a plugin emitted the batch in another hook than OnEvent
	withheld   bool             // that event was
	withheldBy plugin.Note      // who did, and why
	author     string           // the plugin that emitted the batch, if original is nil
	hook       plugin.Hook      // the hook in which it did
	stop       *plugin.End      // how the invocation ends once the batch is in the log, nil if it goes on
	observed   []observation    // what observers are told
	temps      []map[string]any // the "temp:" keys of the events
	namesInput bool             // an event has a note of the run's input
	refused    bool             // the append was refused because a state value would have passed its bound
}

// offerLimit is how often an event is offered before the run fails, if the append is refused each time
// because a state value would pass its bound.
const offerLimit = 8

// put takes an event the one path: it is offered to the plugins from number from on, appended together
// with what they emitted on it, and delivered to the caller. After an error, and after a Stop, the
// invocation has ended.
func (x *run) put(ctx context.Context, p *pending, from int) (batch, error) {
	if x.sharedReaders {
		p.lend() // so that nobody can change it between two tries, unseen
	}
	original := *p
	for offers := 1; ; offers++ {
		b, err := x.try(ctx, p, from)
		if x.offerAgain(&b, offers) {
			// Another session was faster. With the state as it is by now, plugins may answer otherwise.
			*p = original
			continue
		}
		b.original = original.event
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

// takes reports whether a plugin takes an event at all.
func takes(p *plugin.Plugin, e *session.Event) bool {
	return p.OnEvent != nil && (!e.Partial || p.Partials) && p.Filter.Match(e)
}

// offer offers an event to the plugins from number from on, and then, one after the other, what they
// emitted on it. It adds what is left to the batch, in the order of the log, and reports whether the
// event itself was withheld.
func (x *run) offer(ctx context.Context, b *batch, p *pending, from int) (withheld bool, err error) {
	type emitted struct {
		event *pending
		from  int // the first plugin it is offered to
	}
	var emissions []emitted
	fresh := false // the shared state was read for this event
	for i := from; i < len(x.opt.Plugins) && !withheld; i++ {
		asked := x.opt.Plugins[i]
		if !takes(asked, p.event) {
			continue
		}

		// An observer gets a copy of its own, and is called later.
		if asked.Observer {
			args := plugin.Args{Hook: plugin.OnEvent, Event: p.event.Clone()}
			b.observed = append(b.observed, x.observation(ctx, i, args))
			continue
		}

		// The plugin answers, on the state of now if it reads what other sessions change.
		if asked.SharedState && !fresh && !p.event.Partial {
			if err := x.readShared(ctx); err != nil {
				return false, err
			}
			fresh = true
		}
		args := plugin.Args{Hook: plugin.OnEvent, Event: p.lend()}
		out, err := x.call(ctx, i, args, p.print)
		if err != nil {
			return false, err
		}
		if out.IsZero() {
			continue
		}

		// What it emits waits until everybody was asked about the event at hand.
		for _, m := range out.Emit {
			e, err := x.emission(m, i, plugin.OnEvent, p.event.Branch, p.agent(), out.Reason)
			if err != nil {
				return false, err
			}
			emissions = append(emissions, emitted{event: e, from: i + 1})
		}

		// The plugins after it see the event as it leaves it.
		if out.Replace != nil {
			if err := p.replace(out.Replace, asked.Name, out.Reason, x.owners); err != nil {
				return false, &plugin.Error{Plugin: asked.Name, Hook: plugin.OnEvent, Err: err}
			}
		}
		if out.Unchecked != "" {
			p.noteUnchecked(plugin.Note{Plugin: asked.Name, Hook: plugin.OnEvent})
		}

		// The first stop is the one that counts; the others are asked all the same.
		if out.Stop && b.stop == nil {
			b.stop = &plugin.End{Kind: plugin.EndStopped, Plugin: asked.Name, Reason: out.Reason}
		}
		withheld = out.Withhold
		if withheld && b.withheldBy.Plugin == "" { // else it is what was emitted on the event
			b.withheldBy = plugin.Note{Plugin: asked.Name, Reason: out.Reason}
		}
	}

	// The event stands before what was emitted on it.
	if !withheld {
		x.noteLasting(p)
		b.pending = append(b.pending, p)
	}
	for _, m := range emissions {
		if _, err := x.offer(ctx, b, m.event, m.from); err != nil {
			return withheld, err
		}
	}
	return withheld, nil
}
