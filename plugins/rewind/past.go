package rewind

import (
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// past is what a command is about: the events that count, those that a summary stands for included as far
// as they are known.
type past struct {
	events []*session.Event // no compactions, no rewinds
	// covered is the position up to which a summary stands for events that are not known, 0 if there are none.
	covered  int64
	position int64 // of the last event
	undo     int64 // of the last rewind in force, 0 if there is none, -1 if that is not known
	// gone has the invocations that a rewind took back, with that rewind's position; nil if that is not known.
	gone map[string]int64
}

// viewed returns what the live view says.
func viewed(inv *session.Invocation) *past {
	p := &past{events: inv.Live, position: inv.Position, undo: inv.Frontier}
	if len(inv.Live) > 0 && inv.Live[0].Marker() {
		head := inv.Live[0]
		p.events, p.covered = inv.Live[1:], head.Actions.Compaction.Through
		if p.undo == head.Seq { // else the last compaction or rewind is a rewind
			p.undo = -1
		}
	}
	return p
}

// whole returns what a log says.
func whole(log []*session.Event) *past {
	p := &past{position: int64(len(log)), gone: map[string]int64{}}
	var fates session.Statuses
	for _, e := range log {
		fates.Add(e)
	}
	for _, e := range log {
		switch fate := fates.Of(e); {
		case fate.Void != 0:
			p.gone[e.InvocationID] = fate.Void
		case e.Actions.Rewind != nil:
			p.undo = e.Seq
		case !e.Marker():
			p.events = append(p.events, e)
		}
	}
	return p
}

// start returns the first event of an invocation, nil if it is not known.
func (p *past) start(id string) *session.Event {
	at := slices.IndexFunc(p.events, func(e *session.Event) bool { return e.InvocationID == id })
	if at < 0 {
		return nil
	}
	// An input is its invocation's first event; something else right after what is covered may have been preceded.
	if e := p.events[at]; p.covered == 0 || e.Author == session.User || e.Seq > p.covered+1 {
		return e
	}
	return nil
}

// turns returns the positions of the messages with which invocations began, as far as they are all known.
func (p *past) turns() (starts []int64) {
	seen := map[string]bool{}
	for _, e := range p.events {
		if e.Seq > p.covered && !seen[e.InvocationID] && message(e) {
			starts = append(starts, e.Seq)
		}
		seen[e.InvocationID] = true
	}
	return starts
}

// message reports whether the user says something in the event, rather than answer a call.
func message(e *session.Event) bool {
	return e.Author == session.User && e.Content != nil &&
		slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionResponse == nil })
}
