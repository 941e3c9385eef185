package runner

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner/internal/lent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// pending is an event on its way into the log. It begins as a copy of the run's own, stamped for whom it is
// of (prepare for the input, fromAgent, emission). Then it is offered to one plugin after the other, and what
// a plugin makes of it takes its place. A hook must not change it in place: the fingerprint tells whether one
// has.
type pending struct {
	event *session.Event
	// print is the event's fingerprint from before hooks have seen it. It is 0 until then: nobody else holds
	// the event.
	print lent.Fingerprint
	notes *pendingNotes // nil if there are none; to change them, see changeNotes
}

// pendingNotes are the runner's notes on a pending event. What changes them while plugins are asked writes
// them into the event, too. What changes them after that sets unwritten, and entry writes them.
type pendingNotes struct {
	plugin.Notes
	unwritten bool
}

// newPending returns a pending event. The event must be the run's own: nobody else may hold it. Its
// free values become what plugins find in the log, in process and out of it: numbers are float64.
func newPending(e *session.Event) *pending {
	valuesAsStored(e)
	p := &pending{event: e}
	if e.CustomMetadata[session.NotesKey] != nil {
		p.notes = &pendingNotes{Notes: plugin.NotesOf(e)}
	}
	return p
}

// changeNotes returns a copy of the notes, which is theirs from now on: another pending event may have the old ones.
func (p *pending) changeNotes() *pendingNotes {
	notes := pendingNotes{}
	if p.notes != nil {
		notes = *p.notes
	}
	p.notes = &notes
	return p.notes
}

// valuesAsStored makes an event's state delta, output and route what they are once they were written and
// read.
func valuesAsStored(e *session.Event) {
	e.Actions.StateDelta = store.AsStored(e.Actions.StateDelta)
	e.Actions.Route = store.ValueAsStored(e.Actions.Route)
	e.Output = store.ValueAsStored(e.Output)
}

// lend returns the event as a hook gets it.
func (p *pending) lend() *session.Event {
	if p.print == 0 {
		p.print = lent.FingerprintOf(p.event)
	}
	return p.event
}

// noteUnchecked notes on the event that a plugin let it pass unchecked. The event with the note shares what
// it points to with the event before, which hooks may hold.
func (p *pending) noteUnchecked(note plugin.Note) {
	if p.notes != nil && slices.Contains(p.notes.Unchecked, note) {
		return
	}
	notes := p.changeNotes()
	notes.Unchecked = append(slices.Clone(notes.Unchecked), note)
	p.event = notes.With(p.event)
	if p.print != 0 {
		p.print = lent.FingerprintOf(p.event)
	}
}

// noteLasting notes on an event the hooks that failed open before it was made.
func (x *run) noteLasting(p *pending) {
	if len(x.unchecked) == 0 {
		return
	}
	for _, pl := range x.opt.Plugins {
		for _, kind := range plugin.Hooks {
			note := plugin.Note{Plugin: pl.Name, Hook: kind.Name}
			if x.unchecked[note] {
				p.noteUnchecked(note)
			}
		}
	}
}

// inLiveView reports whether the event is one of the live view once it is appended.
func (p *pending) inLiveView() bool { return !p.event.Partial && !p.event.Marker() }

// entry returns what of the event is appended, nil if nothing is, and what is yielded. temp has its
// "temp:" keys, which are not stored. media says that the event's content is live media, which is
// yielded but not appended.
func (p *pending) entry(media bool) (appended, yielded *session.Event, temp map[string]any) {
	e := p.event
	unwritten := p.notes != nil && p.notes.unwritten
	if unwritten {
		e = p.notes.With(e) // a copy
	}
	empty := e.UsageMetadata == nil && e.Output == nil && reflect.ValueOf(e.Actions).IsZero()
	if e.Partial || media && empty {
		return nil, e, nil
	}
	yielded = e
	temp, rest := store.SplitTemp(e.Actions.StateDelta)
	if media || !unwritten && (p.print != 0 || temp != nil) {
		// The append sets the position, and hooks may hold the event that they were lent.
		c := *e
		e = &c
	}
	e.Actions.StateDelta = rest
	if media {
		e.Content = nil
		return e, yielded, temp
	}
	return e, e, temp
}

// agent returns the agent that the event is of, "" if it is of none.
func (p *pending) agent() string {
	if p.event.FromAgent() {
		return p.event.Author
	}
	if p.notes == nil {
		return ""
	}
	return p.notes.Agent
}

// liveMedia reports whether the event is a live session's audio or video that no user uploaded.
func (x *run) liveMedia(e *session.Event) bool {
	if x.cfg.Streaming != session.Bidi || e.Author == session.User || e.Content == nil || len(e.Content.Parts) == 0 {
		return false
	}
	return !slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
		return p == nil || p.InlineData == nil ||
			!strings.HasPrefix(p.InlineData.MIMEType, "audio/") && !strings.HasPrefix(p.InlineData.MIMEType, "video/")
	})
}
