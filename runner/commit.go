package runner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// commit appends a batch to the log and takes it into the view.
func (x *run) commit(ctx context.Context, b *batch) error {
	if len(b.pending) == 0 {
		x.endOn(b.stop)
		return nil
	}

	// Nobody may have changed an event after its hook returned.
	for _, p := range b.pending {
		if p.print.Changed(p.event) {
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
	b.noteStop(x.outside != nil)
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
			b.namesInput = b.namesInput || p.notes != nil && p.notes.Input != nil && p.notes.Input.ID == x.inputID
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
	target := session.AppendTarget{Key: x.key, After: x.view.Position(), Fence: x.lease.Fence}
	began := time.Now()
	_, err := x.opt.Sessions.Append(ctx, target, log...)
	telemetry.Appended(ctx, began)
	if err != nil {
		b.refused = errors.Is(err, session.ErrBound)
		return b.blame(err)
	}
	x.stale = false
	if b.namesInput {
		x.unlogged = nil
	}
	for _, e := range log {
		if e.ID == x.inputID && e.Author == session.User { // an agent outside may offer an event, too
			x.input = e
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

// noteStop marks the last event of a batch with the name of the plugin that stopped the run, if nothing
// in the batch answers. What an agent says in a branch does not answer: it may leave calls of others open.
// always says that it is marked even so: an agent outside would go on.
func (b *batch) noteStop(always bool) {
	answered := func(p *pending) bool {
		e := p.event
		return e.Branch == "" && isAnswer(e) && len(e.FunctionCalls()) == 0
	}
	if b.stop == nil || !always && slices.ContainsFunc(b.pending, answered) {
		return
	}
	for _, p := range slices.Backward(b.pending) {
		if p.inLiveView() {
			notes := p.changeNotes()
			notes.Stopped = b.stop.Plugin
			notes.unwritten = true
			return
		}
	}
}

// noteInput notes the run's input, if the log does not get it, on the first event that the log gets of the
// run.
func (x *run) noteInput(b *batch) {
	i := slices.IndexFunc(b.pending, (*pending).inLiveView)
	if x.unlogged == nil || i < 0 {
		return
	}
	notes := b.pending[i].changeNotes()
	notes.Input = &plugin.InputNote{ID: x.inputID, Digest: x.digest(x.unlogged)}
	notes.unwritten = true
}

// leaveOutSuperseded leaves out every response to a call that a later event of the batch answers, too.
// An event that is left with nothing is left out, unless it is the input; one that is left with
// something has a note of who answered in its place.
func (b *batch) leaveOutSuperseded(inputID string) {
	if len(b.pending) < 2 {
		return
	}

	// Which event has the last word on each call?
	var last map[string]*pending
	for _, p := range b.pending {
		for _, part := range p.event.Parts() {
			if call := answeredCall(part); call != "" {
				if last == nil {
					last = map[string]*pending{}
				}
				last[call] = p
			}
		}
	}
	if last == nil {
		return
	}

	// The others lose their responses.
	b.pending = slices.DeleteFunc(b.pending, func(p *pending) bool {
		superseded := func(part *genai.Part) bool {
			call := answeredCall(part)
			return call != "" && last[call] != p
		}
		all := p.event.Parts()
		parts := slices.DeleteFunc(slices.Clone(all), superseded)
		switch {
		case len(parts) == len(all):
			return false
		case len(parts) == 0 && p.event.ID != inputID && onlyContent(p.event):
			return true
		}
		c := *p.event
		c.Content = nil
		if len(parts) > 0 {
			content := *p.event.Content
			content.Parts = parts
			c.Content = &content
		}
		p.event = &c
		for _, part := range all {
			if !superseded(part) {
				continue
			}
			name, _ := last[answeredCall(part)].event.Plugin()
			note := plugin.Note{Plugin: name, Reason: "it answered the call"}
			notes := p.changeNotes()
			if !slices.Contains(notes.Changed, note) {
				notes.Changed = append(slices.Clone(notes.Changed), note)
				notes.unwritten = true
			}
		}
		return false
	})
}

// onlyContent reports whether an event carries nothing beside its content. What says how the content
// came about and how it ended (model, finish reason, error code, the runner's notes) goes with it.
func onlyContent(e *session.Event) bool {
	return e.UsageMetadata == nil && e.GroundingMetadata == nil && e.CitationMetadata == nil &&
		e.Output == nil && (e.NodeInfo == nil || !e.NodeInfo.Ended) &&
		len(e.LongRunningToolIDs) == 0 && len(e.Extra) == 0 && reflect.ValueOf(e.Actions).IsZero() &&
		plugin.Notes{}.With(e).CustomMetadata == nil
}

// answeredCall names the call that a part answers, "" if it answers none.
func answeredCall(p *genai.Part) string {
	switch {
	case p.FunctionResponse == nil:
		return ""
	case p.FunctionResponse.ID != "":
		return "id " + p.FunctionResponse.ID
	}
	return "name " + p.FunctionResponse.Name
}
