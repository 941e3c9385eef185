package compaction

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/session"
)

// A result that is cleared stays in the live view and in the log. Only the prompt has a stub in its place: one line, which
// says how to read the whole. Which parts are cleared is written into the note of an event of this plugin, so a rewind to
// before that event brings the result back into the prompt.

// Clear says which results of tools are cleared: the prompt has a stub in place of each.
type Clear struct {
	Trigger int      `yaml:"trigger" json:"trigger,omitempty" jsonschema:"clears old results of tools when the live view has so many tokens, before anything is summarized; never if not set"`
	Keep    int      `yaml:"keep" json:"keep,omitempty" jsonschema:"how many of the latest results stay; 3 if not set"`
	Except  []string `yaml:"except" json:"except,omitempty" jsonschema:"tools whose results stay"`
	Min     int      `yaml:"min" json:"min,omitempty" jsonschema:"tokens from which on a result is cleared; 128 if not set"`
	// Artifacts counts for all results that are cleared, also for those that a compaction clears because the prompt has no
	// room for them. It needs Config.Artifacts.
	Artifacts int `yaml:"artifacts" json:"artifacts,omitempty" jsonschema:"tokens from which on a result that is cleared is also saved as an artifact, as JSON, for people and tools; never if not set"`
}

// A place is a part of an event: its position and the index of the part.
type place struct {
	seq  int64
	part int
}

// places is how a note lists parts: for each its position and its index.
type places [][2]int64

// cleared says what the prompt of a live view does not have as it is in the log.
type cleared struct {
	parts  map[place]bool // the parts that are cleared
	hidden map[int64]bool // the positions of events that the prompt does not have at all: calls without an answer
	saved  map[place]bool // true for a part that is saved as an artifact, false for one that is still to be saved
}

// clearedIn returns what the notes in a live view say is cleared.
func clearedIn(live []*session.Event) cleared {
	c := cleared{parts: map[place]bool{}, hidden: map[int64]bool{}, saved: map[place]bool{}}
	for _, e := range live {
		n := noteOf(e)
		if n == nil {
			continue
		}
		for _, p := range n.Cleared {
			c.parts[place{seq: p[0], part: int(p[1])}] = true
		}
		for _, p := range n.Saved {
			c.saved[place{seq: p[0], part: int(p[1])}] = true
		}
		for _, seq := range n.Hidden {
			c.hidden[seq] = true
		}
	}
	if len(c.hidden) == 0 {
		return c
	}

	// A hidden call that has been answered since is shown again.
	hidden := map[int64]bool{}
	groups, _ := grouped(live)
	for _, g := range groups {
		for _, e := range g.events {
			if g.open && c.hidden[e.Seq] {
				hidden[e.Seq] = true
			}
		}
	}
	c.hidden = hidden
	return c
}

// write writes into a note what is cleared in the events for whose positions stays returns true.
func (c cleared) write(n *note, stays func(seq int64) bool) {
	n.Cleared = listed(c.parts, stays)
	n.Saved = listed(c.saved, stays)
	n.Hidden = nil
	for seq := range c.hidden {
		if stays(seq) {
			n.Hidden = append(n.Hidden, seq)
		}
	}
	slices.Sort(n.Hidden)
}

// listed returns the parts of such events in the order of the log.
func listed(parts map[place]bool, stays func(seq int64) bool) (list places) {
	for p := range parts {
		if stays(p.seq) {
			list = append(list, [2]int64{p.seq, int64(p.part)})
		}
	}
	slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return list
}

// form returns what a prompt has of an event that stays.
func (c cleared) form(e *session.Event) Form {
	if c.hidden[e.Seq] {
		return Hidden
	}
	if e.Content != nil {
		for i := range e.Content.Parts {
			if c.parts[place{seq: e.Seq, part: i}] {
				return Cleared
			}
		}
	}
	return Whole
}

// artifactName returns the name of the artifact that a part is saved as.
func (p place) artifactName() string { return fmt.Sprintf("results/%d-%d.json", p.seq, p.part) }

// save saves the results that are still to be saved as artifacts, and notes their versions in the event that says what is
// cleared. It only warns of a result that cannot be saved, since the log has it anyway.
func (k *compactor) save(ctx context.Context, inv *session.Invocation, c cleared, e *session.Event) {
	for _, event := range inv.Live {
		if event.Content == nil {
			continue
		}
		for i, p := range event.Content.Parts {
			at := place{seq: event.Seq, part: i}
			isSaved, asked := c.saved[at]
			if isSaved || !asked {
				continue
			}
			data := []byte(told.JSON(p.FunctionResponse.Response))
			blob := &genai.Part{InlineData: &genai.Blob{MIMEType: "application/json", Data: data}}
			version, err := k.Artifacts.Save(ctx, inv.Key, at.artifactName(), blob)
			if err != nil {
				delete(c.saved, at)
				k.Log.WarnContext(ctx, "a result of a tool was not saved as an artifact", "session", inv.Key, "position", at.seq, "error", err)
				continue
			}
			c.saved[at] = true
			if e.Actions.ArtifactDelta == nil {
				e.Actions.ArtifactDelta = map[string]int64{}
			}
			e.Actions.ArtifactDelta[at.artifactName()] = version
		}
	}
}

// A result is a part of an event that can be cleared: the result of a call, or the arguments of one.
type result struct {
	place
	event *session.Event
	group *group
	gain  int  // the tokens that clearing it saves
	saves bool // it is large enough to be saved as an artifact when it is cleared
}

// clearable returns the result at a part of an event. It returns false if the result is cleared or hidden already, or if
// clearing it saves fewer tokens than least.
func (m *meter) clearable(g *group, e *session.Event, part, least int) (result, bool) {
	r := result{place: place{seq: e.Seq, part: part}, event: e, group: g}
	if m.cleared.parts[r.place] || m.cleared.hidden[e.Seq] {
		return r, false
	}
	p := e.Content.Parts[part]
	one := func(p *genai.Part) int {
		return m.content(&genai.Content{Role: e.Content.Role, Parts: []*genai.Part{p}})
	}
	size := one(p)
	r.saves = m.saveFrom > 0 && size >= m.saveFrom && p.FunctionResponse != nil
	r.gain = size - one(stub(r.place, p, r.saves))
	return r, r.gain >= least
}

// clear marks a result as cleared, so that it is counted as its stub.
func (m *meter) clear(r result) {
	m.cleared.parts[r.place] = true
	if r.saves && !m.cleared.saved[r.place] {
		m.cleared.saved[r.place] = false
	}
	delete(m.of, r.event)
}

// hide marks an event as hidden, so that it is not counted.
func (m *meter) hide(e *session.Event) {
	m.cleared.hidden[e.Seq] = true
	delete(m.of, e)
}

// clearEvent returns the event that says what is cleared.
func (k *compactor) clearEvent(ctx context.Context, m meter, inv *session.Invocation, p *Plan) *session.Event {
	e := &session.Event{ID: fmt.Sprintf("%s:clear:%d", Name, inv.Position)}
	k.save(ctx, inv, m.cleared, e)
	n := &note{Trigger: p.Trigger, By: "offline", Before: p.Before, After: p.After}
	m.cleared.write(n, func(int64) bool { return true })
	e.CustomMetadata = map[string]any{noteKey: n.value()}
	return e
}
