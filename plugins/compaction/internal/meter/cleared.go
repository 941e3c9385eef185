package meter

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/groups"
	"github.com/plughook/plughook/session"
)

// A result that is cleared stays in the live view and in the log. Only the prompt has a stub in its place:
// one line, which says how to read the whole. Which parts are cleared is written into the note of an event of
// this plugin, so a rewind to before that event brings the result back into the prompt.

// A Form is what the next prompt has of an event.
type Form string

const (
	Whole      Form = "whole"
	InPart     Form = "cleared"    // the event, with a line in place of each long result or argument
	Hidden     Form = "hidden"     // nothing, although it stays in the live view: a call that waits for an answer
	FirstLines Form = "lines"      // first lines in the summary, if it has room, with the positions at which recall reads the whole
	Summarized Form = "summarized" // what the summary takes up of it
)

// A Part names a part of an event: by the position of the event and the index of the part.
type Part struct {
	Seq   int64
	Index int
}

// positions is how a note lists parts: for each its position and its index.
type positions [][2]int64

// Cleared says where a prompt differs from the log: which parts are cleared, and which events are hidden.
type Cleared struct {
	Parts  map[Part]bool  // the parts that are cleared
	Hidden map[int64]bool // the positions of events that the prompt does not have at all: calls without an answer
	Saved  map[Part]bool  // true for a part that is saved as an artifact, false for one that is still to be saved
}

// clearedIn returns what the notes in a live view say is cleared.
func clearedIn(live []*session.Event) Cleared {
	c := Cleared{Parts: map[Part]bool{}, Hidden: map[int64]bool{}, Saved: map[Part]bool{}}
	for _, e := range live {
		n := NoteOf(e)
		if n == nil {
			continue
		}
		for _, p := range n.Cleared {
			c.Parts[Part{Seq: p[0], Index: int(p[1])}] = true
		}
		for _, p := range n.Saved {
			c.Saved[Part{Seq: p[0], Index: int(p[1])}] = true
		}
		for _, seq := range n.Hidden {
			c.Hidden[seq] = true
		}
	}
	if len(c.Hidden) == 0 {
		return c
	}

	// A hidden call that has been answered since is shown again.
	hidden := map[int64]bool{}
	list, _ := groups.Of(live)
	for _, g := range list {
		for _, e := range g.Events {
			if g.Open && c.Hidden[e.Seq] {
				hidden[e.Seq] = true
			}
		}
	}
	c.Hidden = hidden
	return c
}

// Write writes into a note which parts are cleared. It leaves out events for which stays returns false.
func (c Cleared) Write(n *Note, stays func(seq int64) bool) {
	n.Cleared = listed(c.Parts, stays)
	n.Saved = listed(c.Saved, stays)
	n.Hidden = nil
	for seq := range c.Hidden {
		if stays(seq) {
			n.Hidden = append(n.Hidden, seq)
		}
	}
	slices.Sort(n.Hidden)
}

// listed returns the parts of the events that stay, in the order of the log.
func listed(parts map[Part]bool, stays func(seq int64) bool) (list positions) {
	for p := range parts {
		if stays(p.Seq) {
			list = append(list, [2]int64{p.Seq, int64(p.Index)})
		}
	}
	slices.SortFunc(list,
		func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return list
}

// Form returns what a prompt has of an event that stays.
func (c Cleared) Form(e *session.Event) Form {
	if c.Hidden[e.Seq] {
		return Hidden
	}
	if e.Content != nil {
		for i := range e.Content.Parts {
			if c.Parts[Part{Seq: e.Seq, Index: i}] {
				return InPart
			}
		}
	}
	return Whole
}

// ArtifactName returns the name of the artifact that a part is saved as.
func (p Part) ArtifactName() string { return fmt.Sprintf("results/%d-%d.json", p.Seq, p.Index) }

// A Result is a part of an event that can be cleared: the result of a call, or the arguments of one.
type Result struct {
	Part
	Gain  int // the tokens that clearing it saves
	event *session.Event
	saves bool // it is large enough to be saved as an artifact when it is cleared
}

// Clearable returns the result at a part of an event. It returns false if the result is cleared or hidden
// already, or if clearing it saves fewer tokens than least.
func (m *Meter) Clearable(e *session.Event, index, least int) (Result, bool) {
	r := Result{Part: Part{Seq: e.Seq, Index: index}, event: e}
	if m.Cleared.Parts[r.Part] || m.Cleared.Hidden[e.Seq] {
		return r, false
	}
	p := e.Content.Parts[index]
	alone := func(p *genai.Part) int {
		return m.Content(&genai.Content{Role: e.Content.Role, Parts: []*genai.Part{p}})
	}
	size := alone(p)
	r.saves = m.saveFrom > 0 && size >= m.saveFrom && p.FunctionResponse != nil
	r.Gain = size - alone(stub(r.Part, p, r.saves))
	return r, r.Gain >= least
}

// Clear marks a result as cleared, so that it is counted as its stub.
func (m *Meter) Clear(r Result) {
	m.Cleared.Parts[r.Part] = true
	if r.saves && !m.Cleared.Saved[r.Part] {
		m.Cleared.Saved[r.Part] = false
	}
	delete(m.estimates, r.event)
}

// Hide marks an event as hidden, so that it is not counted.
func (m *Meter) Hide(e *session.Event) {
	m.Cleared.Hidden[e.Seq] = true
	delete(m.estimates, e)
}
