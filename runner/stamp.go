package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// speaker returns the agent that an event is of, "" if it is of none.
func speaker(e *session.Event) string {
	switch {
	case e.Author == session.User:
		return ""
	case strings.HasPrefix(e.Author, session.PluginPrefix):
		return plugin.NotesOf(e).Agent
	}
	return e.Author
}

// stamp makes a plugin's emission an event of this invocation. A compaction or a rewind is of no branch: it
// changes what everybody sees. The input's ID is the caller's: under it nobody else speaks, though the input
// was withheld, or the caller who asks again would be told that it was answered.
func (x *run) stamp(m *session.Event, i int, hook plugin.Hook, branch, agent, reason string) (*session.Event, error) {
	if m.ID != "" && m.ID == x.inputID {
		return nil, &plugin.Error{Plugin: x.opt.Plugins[i].Name, Hook: hook, Err: fmt.Errorf("it emits event %q: %w: the input; leave the ID empty, or answer Replace", m.ID, session.ErrIDReused)}
	}
	notes := plugin.Notes{Reason: reason}
	if len(m.FunctionCalls()) > 0 {
		notes.Agent = agent
	}
	e := notes.With(m.Clone())
	e.Seq, e.InvocationID, e.Author, e.Timestamp = 0, x.id, session.PluginPrefix+x.opt.Plugins[i].Name, time.Now().UTC()
	if e.ID == "" {
		e.ID = session.NewID()
	}
	switch {
	case e.Marker():
		e.Branch = ""
	case e.Branch == "":
		e.Branch = branch
	}
	return e, nil
}

// replaced returns the event that a plugin's replacement leaves: with the identity of the one before,
// what its compaction covers, and a note of the plugin.
func replaced(was, by *session.Event, name, reason string) (*session.Event, error) {
	bad := func(what string) error { return fmt.Errorf("%w: the replacement %s", plugin.ErrOutcome, what) }
	notes := plugin.NotesOf(was)
	notes.Changed = append(slices.Clone(notes.Changed), plugin.Note{Plugin: name, Reason: reason})
	e := notes.With(by.Clone())
	e.ID, e.Seq, e.InvocationID, e.Author, e.Branch, e.Timestamp, e.Partial = was.ID, 0, was.InvocationID, was.Author, was.Branch, was.Timestamp, was.Partial
	if was.Actions.Rewind != nil {
		return nil, bad("is of a rewind, which nobody changes")
	}
	if e.Actions.Rewind != nil {
		return nil, bad("adds a rewind")
	}
	if was.Marker() != e.Marker() {
		return nil, bad("adds or takes away a compaction")
	}
	if was.Marker() {
		c := *e.Actions.Compaction
		before := was.Actions.Compaction
		if len(before.Branches) > 0 && partCount(c.Content) != partCount(before.Content) {
			return nil, bad("changes how many parts a compaction has, and which branch sees which depends on that; change what is in them")
		}
		c.Through, c.Keep, c.Frontier, c.Branches = before.Through, before.Keep, before.Frontier, before.Branches
		e.Actions.Compaction = &c
	}
	return e, nil
}

func partCount(c *genai.Content) int {
	if c == nil {
		return 0
	}
	return len(c.Parts)
}

// marked returns the event with a note that a plugin let it pass unchecked.
func marked(e *session.Event, note plugin.Note) *session.Event {
	notes := plugin.NotesOf(e)
	if slices.Contains(notes.Unchecked, note) {
		return e
	}
	notes.Unchecked = append(slices.Clone(notes.Unchecked), note)
	return notes.With(e)
}

// plain returns the event with its state delta as plugins find it in the log, in process and out of it: numbers are float64.
func plain(e *session.Event) *session.Event {
	for _, v := range e.Actions.StateDelta {
		switch v.(type) {
		case nil, bool, string:
			continue
		}
		c := *e
		c.Actions.StateDelta = store.AsStored(e.Actions.StateDelta)
		return &c
	}
	return e
}

// markLasting returns the event with the notes of hooks that failed open before it was made.
func (x *run) markLasting(e *session.Event) *session.Event {
	for _, p := range x.opt.Plugins {
		for _, hook := range []plugin.Hook{plugin.BeforeRun, plugin.BeforeModel} {
			if note, ok := x.unchecked[p.Name][hook]; ok {
				e = marked(e, note)
			}
		}
	}
	return e
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
