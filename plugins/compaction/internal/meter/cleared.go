package meter

import (
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/groups"
	"github.com/plughook/plughook/session"
)

// A part that is shortened stays whole in the live view and in the log. Only the prompt has its beginning in its
// place, and how to read on: a result that is cleared has one line, and what has no room is cut to the room.
// Which parts are shortened is written into the note of an event of this plugin, so a rewind to before that
// event brings the whole part back into the prompt.

// A Form is what the next prompt has of an event.
type Form string

const (
	Whole      Form = "whole"
	InPart     Form = "cleared"    // the event, with the beginnings of long results, arguments or texts
	Hidden     Form = "hidden"     // nothing, although it stays in the live view: a call that waits for an answer
	FirstLines Form = "lines"      // first lines in the summary, if it has room, with the positions at which recall reads the whole
	Summarized Form = "summarized" // what the summary takes up of it
)

// A Part names a part of an event: by the position of the event and the index of the part.
type Part struct {
	Seq   int64
	Index int
}

// positions is how a note lists parts: for each its position, its index, and how many characters are shown of
// it, if that is not line.
type positions [][]int64

// each calls f with the parts and the characters that are shown of them.
func (list positions) each(f func(p Part, shown int)) {
	for _, n := range list {
		switch len(n) {
		case 2:
			f(Part{Seq: n[0], Index: int(n[1])}, line)
		case 3:
			f(Part{Seq: n[0], Index: int(n[1])}, int(n[2]))
		}
	}
}

// Cleared says where a prompt differs from the log: which parts are shortened, and which events are hidden.
type Cleared struct {
	Parts  map[Part]int   // the parts that are shortened, and how many characters are shown of them
	Hidden map[int64]bool // the positions of events that the prompt does not have at all: calls without an answer
	Saved  map[Part]bool  // true for a part that is saved as an artifact, false for one that is still to be saved
}

// ClearedIn returns what the notes in a live view say is cleared.
func ClearedIn(live []*session.Event) Cleared {
	c := Cleared{Parts: map[Part]int{}, Hidden: map[int64]bool{}, Saved: map[Part]bool{}}
	for _, e := range live {
		n := NoteOf(e)
		if n == nil {
			continue
		}
		n.Cleared.each(func(p Part, shown int) { c.Parts[p] = shown })
		n.Saved.each(func(p Part, _ int) { c.Saved[p] = true })
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
	for i, p := range n.Cleared {
		shown := c.Parts[Part{Seq: p[0], Index: int(p[1])}]
		if shown != line {
			n.Cleared[i] = append(p, int64(shown))
		}
	}
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
func listed[V any](parts map[Part]V, stays func(seq int64) bool) (list positions) {
	for p := range parts {
		if stays(p.Seq) {
			list = append(list, []int64{p.Seq, int64(p.Index)})
		}
	}
	slices.SortFunc(list, slices.Compare[[]int64])
	return list
}

// Form returns what a prompt has of an event that stays.
func (c Cleared) Form(e *session.Event) Form {
	if c.Hidden[e.Seq] {
		return Hidden
	}
	if e.Content != nil {
		for i := range e.Content.Parts {
			if c.Parts[Part{Seq: e.Seq, Index: i}] > 0 {
				return InPart
			}
		}
	}
	return Whole
}

// ArtifactName returns the name of the artifact that a part is saved as.
func (p Part) ArtifactName() string { return fmt.Sprintf("results/%d-%d.json", p.Seq, p.Index) }

// A Result is a part of an event that can be shortened: the result of a call, the arguments of one, a text or
// a file.
type Result struct {
	Part
	Size  int // the tokens that a prompt has of it now
	Gain  int // the tokens that clearing it, or the deepest cut, saves
	event *session.Event
	saves bool // it is large enough to be saved as an artifact when it is shortened
}

// Clearable returns the result at a part of an event. It returns false if the result is cleared or hidden
// already, or if clearing it saves fewer tokens than least.
func (m *Meter) Clearable(e *session.Event, index, least int) (Result, bool) {
	r, ok := m.resultAt(e, index, line)
	return r, ok && r.Gain >= least
}

// Cuttable returns the result at a part of an event, as Clearable does, if cutting it saves a token. Its Gain is
// what the deepest cut saves.
func (m *Meter) Cuttable(e *session.Event, index int) (Result, bool) {
	r, ok := m.resultAt(e, index, line)
	deepest, canBeDeeper := m.resultAt(e, index, leastShown)
	if !ok || deepest.Gain > r.Gain {
		r, ok = deepest, canBeDeeper
	}
	return r, ok && r.Gain > 0
}

// resultAt returns the result at a part of an event, with what is gained if so many characters of it are shown. It
// returns false if no more are shown already.
func (m *Meter) resultAt(e *session.Event, index, characters int) (Result, bool) {
	r := Result{Part: Part{Seq: e.Seq, Index: index}, event: e}
	shown, isShort := m.Cleared.Parts[r.Part]
	if isShort && shown <= characters || m.Cleared.Hidden[e.Seq] {
		return r, false
	}
	p := e.Content.Parts[index]
	r.Size = m.alone(e, p)
	r.saves = m.saveFrom > 0 && r.Size >= m.saveFrom && p.FunctionResponse != nil
	_, isSaved := m.Cleared.Saved[r.Part]
	short := newCut(e, index, r.saves || isSaved)
	if isShort {
		r.Size = m.alone(e, short.showing(shown))
	}
	r.Gain = r.Size - m.alone(e, short.showing(characters))
	return r, true
}

// alone returns the tokens of a part of an event.
func (m *Meter) alone(e *session.Event, p *genai.Part) int {
	return m.Content(&genai.Content{Role: e.Content.Role, Parts: []*genai.Part{p}})
}

// Clear shortens a result to a line.
func (m *Meter) Clear(r Result) { m.shorten(r, line) }

// Cut shortens a result to the largest part of its beginning that has at most so many tokens, or to a line if
// not even the least fits. It returns the tokens that the result has then, which are never more than before.
func (m *Meter) Cut(r Result, tokens int) int {
	short := newCut(r.event, r.Index, r.saves)
	most := utf8.RuneCountInString(short.text)
	if before, ok := m.Cleared.Parts[r.Part]; ok {
		most = min(most, before)
	}
	tooLong := func(more int) bool { return m.alone(r.event, short.showing(leastShown+more)) > tokens }
	shown := leastShown + max(0, sort.Search(max(0, most-leastShown), tooLong)-1)
	size := m.alone(r.event, short.showing(shown))
	if cleared := m.alone(r.event, short.showing(line)); size > tokens && size > cleared {
		shown = line
		size = cleared
	}
	if size >= r.Size {
		return r.Size
	}
	m.shorten(r, shown)
	return size
}

// shorten marks a result as shortened, so that it is counted as what is shown of it.
func (m *Meter) shorten(r Result, shown int) {
	m.Cleared.Parts[r.Part] = shown
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
