package lent

import (
	"hash/maphash"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// printedEvents are events of a live view, each with its fingerprint from before anybody was lent it.
type printedEvents struct {
	events []*session.Event
	prints []Fingerprint
	ids    []uint32      // hashes of the events' IDs: to look through them is fast
	inputs []absentInput // those that events name
}

// An absentInput is an input that is not in the log, and is named there by an event.
type absentInput struct {
	id    string
	index int // the index of the event that names it
}

// add adds an event at the end. The elements before it stay as they are, for those who hold them.
func (p *printedEvents) add(e *session.Event, print Fingerprint) {
	notes, _ := e.CustomMetadata[session.NotesKey].(map[string]any)
	if notes["input"] != nil { // in most events it is not, and their notes need not be decoded
		if input := plugin.NotesOf(e).Input; input != nil {
			p.inputs = append(p.inputs, absentInput{id: input.ID, index: len(p.events)})
		}
	}
	p.events = append(p.events, e)
	p.prints = append(p.prints, print)
	p.ids = append(p.ids, hashOfID(e.ID))
}

func hashOfID(id string) uint32 { return uint32(maphash.String(hashSeed, id)) }

// changed reports whether event i is not the same as when it was added.
func (p *printedEvents) changed(i int) bool { return FingerprintOf(p.events[i]) != p.prints[i] }

// firstChanged returns the first changed event from index from up to index to, nil if there is none.
func (p *printedEvents) firstChanged(from, to int) *session.Event {
	for i := from; i < to; i++ {
		if p.changed(i) {
			return p.events[i]
		}
	}
	return nil
}

// inputIndex returns the index of the input with an ID, or else of the event that names it, -1 if there is
// neither.
func (p *printedEvents) inputIndex(id string) int {
	hash := hashOfID(id)
	for i, other := range p.ids {
		if other == hash && p.events[i].ID == id {
			return i
		}
	}
	i := slices.IndexFunc(p.inputs, func(input absentInput) bool { return input.id == id })
	if i < 0 {
		return -1
	}
	return p.inputs[i].index
}
