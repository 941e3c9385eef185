package runner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// batch is what one event becomes: itself, unless it is withheld, and what was emitted on it.
type batch struct {
	events   []*session.Event
	seals    []*seal // of events
	withheld bool    // the first event was
	from     emitter // of what was emitted outside of OnEvent
	stop     *plugin.End
}

// emitter is who emits, and in which hook.
type emitter struct {
	author string
	hook   plugin.Hook
}

// put takes an event the one path: offered to the plugins from number from on, appended with what was
// emitted on it, yielded. After an error, and after a Stop, the invocation has ended.
func (x *run) put(ctx context.Context, e *session.Event, from int) (batch, error) {
	var b batch
	err := context.Cause(ctx)
	if err == nil {
		b.withheld, err = x.offer(ctx, &b, e, from)
	}
	if err == nil {
		err = x.commit(ctx, &b)
	}
	if err != nil {
		x.fail(ctx, err)
	}
	return b, err
}

// putAll is put for what a plugin emitted in another hook, on a branch, in an agent's place if any.
func (x *run) putAll(ctx context.Context, i int, hook plugin.Hook, out plugin.Outcome, branch, agent string) (batch, error) {
	b := batch{from: emitter{session.PluginPrefix + x.opt.Plugins[i].Name, hook}}
	if out.IsZero() {
		return b, nil
	}
	if out.Stop {
		b.stop = &plugin.End{Kind: plugin.EndStopped, Plugin: x.opt.Plugins[i].Name, Reason: out.Reason}
	}
	for _, e := range out.Emit {
		stamped, err := x.stamp(e, i, hook, branch, agent, out.Reason)
		if err == nil {
			_, err = x.offer(ctx, &b, stamped, i+1)
		}
		if err != nil {
			x.fail(ctx, err)
			return b, err
		}
	}
	err := x.commit(ctx, &b)
	if err != nil {
		x.fail(ctx, err)
	}
	return b, err
}

type emission struct {
	event *session.Event
	from  int // the first plugin it is offered to
}

// offer offers an event to the plugins from number from on, and then, one after the other, what they
// emitted on it. It adds what is left to the batch, in the order of the log, and reports whether the
// event itself was withheld.
func (x *run) offer(ctx context.Context, b *batch, e *session.Event, from int) (withheld bool, err error) {
	var emitted []emission
	var s *seal // once the event was offered
	e = plain(e)
	for i := from; i < len(x.opt.Plugins) && !withheld; i++ {
		p := x.opt.Plugins[i]
		switch {
		case p.OnEvent == nil || e.Partial && !p.Partials || !p.Filter.Match(e):
			continue
		case p.Observer:
			x.observe(ctx, i, plugin.OnEvent, hookArgs{event: e.Clone()})
			continue
		}
		if s == nil || s.of != e {
			s = sealed(e)
		}
		out, err := x.call(ctx, i, plugin.OnEvent, hookArgs{event: e, seal: s})
		if err != nil {
			return false, err
		}
		if out.IsZero() {
			continue
		}
		for _, m := range out.Emit {
			stamped, err := x.stamp(m, i, plugin.OnEvent, e.Branch, speaker(e), out.Reason)
			if err != nil {
				return false, err
			}
			emitted = append(emitted, emission{stamped, i + 1})
		}
		if out.Replace != nil {
			if e, err = replaced(e, out.Replace, p.Name, out.Reason); err != nil {
				return false, &plugin.Error{Plugin: p.Name, Hook: plugin.OnEvent, Err: err}
			}
			e = plain(e)
		}
		if out.Unchecked != "" {
			e = marked(e, plugin.Note{Plugin: p.Name, Hook: plugin.OnEvent})
		}
		if out.Stop && b.stop == nil {
			b.stop = &plugin.End{Kind: plugin.EndStopped, Plugin: p.Name, Reason: out.Reason}
		}
		withheld = out.Withhold
	}
	if !withheld {
		if marked := x.markLasting(e); marked != e {
			e = marked
			s = sealed(e)
		}
		b.events, b.seals = append(b.events, e), append(b.seals, s)
	}
	for _, m := range emitted {
		if _, err := x.offer(ctx, b, m.event, m.from); err != nil {
			return withheld, err
		}
	}
	return withheld, nil
}

// commit appends a batch, takes it into the view and yields it.
func (x *run) commit(ctx context.Context, b *batch) error {
	for i, s := range b.seals {
		if s != nil && s.of == b.events[i] && s.broken() {
			return fmt.Errorf("runner: event %q: %w: it was changed after it was offered", b.events[i].ID, plugin.ErrInPlace)
		}
	}
	b.noteStop()
	b.events = withoutSuperseded(b.events, x.inputID)
	if x.stale {
		if err := x.load(ctx); err != nil {
			return err
		}
	}
	var log []*session.Event
	var temps []map[string]any
	for i, e := range b.events {
		c := *e // hooks may hold the event that they were offered
		media := x.liveMedia(e)
		if media { // what else the event says is appended
			c.Content = nil
		}
		if e.Partial || media && c.UsageMetadata == nil && reflect.ValueOf(c.Actions).IsZero() {
			continue
		}
		if temp, rest := store.SplitTemp(e.Actions.StateDelta); temp != nil {
			temps, c.Actions.StateDelta = append(temps, temp), rest
		}
		log = append(log, &c)
		if !media {
			b.events[i] = &c
		}
	}
	if len(log) > 0 {
		x.stale = true // until we know better
		if _, err := x.opt.Sessions.Append(ctx, session.At{Key: x.key, After: x.view.Position(), Fence: x.turn.Fence}, log...); err != nil {
			return b.blame(err)
		}
		x.stale = false
		for _, e := range log {
			if e.ID == x.inputID {
				x.input = e
			}
			if e.Seq <= x.view.Position() { // it was in the log already
				continue
			}
			if !x.view.Append(e) {
				x.stale = true
			}
		}
		if x.stale {
			if err := x.load(ctx); err != nil {
				return err
			}
		}
		for _, temp := range temps {
			x.view.Set(temp)
		}
		x.now = nil
	}
	if b.stop != nil && !x.ended {
		x.ended, x.end = true, *b.stop
	}
	for _, e := range b.events {
		if e.Partial && !x.partials {
			continue
		}
		x.deliver(e)
	}
	return nil
}

// noteStop notes a stop on what it was at, if nobody says anything there: what is said in a branch may leave calls of others open.
func (b *batch) noteStop() {
	if b.stop == nil || slices.ContainsFunc(b.events, func(e *session.Event) bool { return e.Branch == "" && answers(e) && len(e.FunctionCalls()) == 0 }) {
		return
	}
	for i, e := range slices.Backward(b.events) {
		if !e.Partial && !e.Marker() { // a marker is not in the live view
			notes := plugin.NotesOf(e)
			notes.Stopped = b.stop.Plugin
			b.events[i] = notes.With(e)
			return
		}
	}
}

// blame returns the error of an append, which is a plugin's if the store refused what that has emitted.
func (b *batch) blame(err error) error {
	var refused *session.EventError
	if !errors.As(err, &refused) {
		return err
	}
	for _, e := range b.events {
		name, emitted := strings.CutPrefix(e.Author, session.PluginPrefix)
		if e.ID != refused.ID || !emitted {
			continue
		}
		hook := plugin.OnEvent
		if e.Author == b.from.author { // what it emits is not offered to itself
			hook = b.from.hook
		}
		return &plugin.Error{Plugin: name, Hook: hook, Err: err}
	}
	return err
}

// deliver yields an event to the caller, if there is one.
func (x *run) deliver(e *session.Event) {
	if x.left || x.body || x.yield == nil {
		return
	}
	x.body = true // a panic in there comes out of yield, and leaves it so
	x.left = !x.yield(e, nil)
	if x.body = false; x.left && !x.ended {
		x.ended, x.end = true, plugin.End{Kind: plugin.EndLeft}
	}
}
