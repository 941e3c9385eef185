package runner

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner/internal/lent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// pending is an event on its way into the log. It is prepared once: it begins as a copy of the run's
// own, stamped by who made it (prepare for the input, fromAgent, emission). Then it is offered to one
// plugin after the other, and what a plugin makes of it takes its place. A hook must not change it in
// place: changed tells whether one has.
type pending struct {
	event *session.Event
	// offered says that hooks have seen event and may hold it. print is its fingerprint from before.
	offered bool
	print   lent.Fingerprint
}

// newPending returns a pending event. The event must be the run's own: nobody else may hold it. Its
// free values become what plugins find in the log, in process and out of it: numbers are float64.
func newPending(e *session.Event) *pending {
	valuesAsStored(e)
	return &pending{event: e}
}

// valuesAsStored makes an event's state delta, output and route what they are once they were written and read.
func valuesAsStored(e *session.Event) {
	e.Actions.StateDelta = store.AsStored(e.Actions.StateDelta)
	e.Actions.Route = store.ValueAsStored(e.Actions.Route)
	e.Output = store.ValueAsStored(e.Output)
}

// offer returns the event as a hook gets it.
func (p *pending) offer() *session.Event {
	if !p.offered {
		p.offered = true
		p.print = lent.FingerprintOf(p.event)
	}
	return p.event
}

// changed reports whether a hook has changed the event in place since it was offered.
func (p *pending) changed() bool {
	return p.offered && lent.FingerprintOf(p.event) != p.print
}

// become puts another event, of which nobody else holds any part, in the event's place.
func (p *pending) become(e *session.Event) {
	p.event = e
	p.offered = false
}

// swap puts a copy of the event with other notes, or with fewer parts, in its place. The copy shares
// what it points to with the event, which hooks may hold.
func (p *pending) swap(e *session.Event) {
	p.event = e
	if p.offered {
		p.print = lent.FingerprintOf(e)
	}
}

// replace puts a plugin's replacement in the event's place. The event keeps its identity, the node run of a workflow
// that it belongs to or ends, what its compaction covers, and what other plugins have written into their own state keys; the plugin is noted.
func (p *pending) replace(by *session.Event, name, reason string, owners plugin.StateOwners) error {
	was := p.event
	refuse := func(what string) error { return fmt.Errorf("%w: the replacement %s", plugin.ErrOutcome, what) }
	notes := plugin.NotesOf(was)
	notes.Changed = append(slices.Clone(notes.Changed), plugin.Note{Plugin: name, Reason: reason})
	e := notes.With(by.Clone())

	// The identity is that of the event before.
	e.ID = was.ID
	e.Seq = 0
	e.InvocationID = was.InvocationID
	e.Author = was.Author
	e.Branch = was.Branch
	e.Timestamp = was.Timestamp
	e.Partial = was.Partial
	e.NodeInfo = sameNode(was.NodeInfo, e.NodeInfo)

	// Nobody changes what a rewind voids or a compaction covers, nor makes an event into one.
	if was.Actions.Rewind != nil {
		return refuse("is of a rewind, which nobody changes")
	}
	if e.Actions.Rewind != nil {
		return refuse("adds a rewind")
	}
	if was.Marker() != e.Marker() {
		return refuse("adds or takes away a compaction")
	}
	if was.Marker() {
		before := was.Actions.Compaction
		c := *e.Actions.Compaction
		if len(before.Branches) > 0 && partCount(c.Content) != partCount(before.Content) {
			return refuse("changes how many parts a compaction has, and which branch sees which depends on that; change what is in them")
		}
		c.Through = before.Through
		c.Keep = before.Keep
		c.Frontier = before.Frontier
		c.Branches = before.Branches
		e.Actions.Compaction = &c
	}

	valuesAsStored(e)
	if err := keepOwned(was, e, name, owners); err != nil {
		return refuse(err.Error())
	}
	p.become(e)
	return nil
}

// sameNode returns what a replacement says of its node: what the event before says, with the replacement's unknown keys.
func sameNode(was, by *session.NodeInfo) *session.NodeInfo {
	if was == nil {
		return nil
	}
	n := *was
	n.OutputFor = slices.Clone(was.OutputFor)
	n.Extra = nil
	if by != nil {
		n.Extra = by.Extra
	}
	return &n
}

func partCount(c *genai.Content) int {
	if c == nil {
		return 0
	}
	return len(c.Parts)
}

// noteUnchecked notes on the event that a plugin let it pass unchecked.
func (p *pending) noteUnchecked(note plugin.Note) {
	notes := plugin.NotesOf(p.event)
	if slices.Contains(notes.Unchecked, note) {
		return
	}
	notes.Unchecked = append(slices.Clone(notes.Unchecked), note)
	p.swap(notes.With(p.event))
}

// entry returns what of the event is appended, nil if nothing is, and what is yielded. temp has its
// "temp:" keys, which are not stored. media says that the event's content is live media, which is
// yielded but not appended.
func (p *pending) entry(media bool) (appended, yielded *session.Event, temp map[string]any) {
	e := p.event
	empty := e.UsageMetadata == nil && e.Output == nil && reflect.ValueOf(e.Actions).IsZero()
	if e.Partial || media && empty {
		return nil, e, nil
	}
	temp, rest := store.SplitTemp(e.Actions.StateDelta)
	if p.offered || media || temp != nil {
		// The append sets the position, and hooks may hold the event that they were offered.
		c := *e
		c.Actions.StateDelta = rest
		e = &c
	}
	if media {
		e.Content = nil
		return e, p.event, temp
	}
	return e, e, temp
}

// emission makes an event that plugin number i emits one of this invocation: with the invocation, the
// author and the time of now, an ID and the branch where it has none, and a note of the reason. agent is
// the agent in whose place function calls are made.
func (x *run) emission(m *session.Event, i int, hook plugin.Hook, branch, agent, reason string) (*pending, error) {
	name := x.opt.Plugins[i].Name
	if m.ID != "" && m.ID == x.inputID {
		// Even if the input was withheld: a retry of the input would look answered.
		err := fmt.Errorf("it emits event %q: %w: the input; leave the ID empty, or answer Replace", m.ID, session.ErrIDReused)
		return nil, &plugin.Error{Plugin: name, Hook: hook, Err: err}
	}
	notes := plugin.Notes{Reason: reason}
	if len(m.FunctionCalls()) > 0 {
		notes.Agent = agent
	}
	e := notes.With(m.Clone())
	e.Seq = 0
	e.InvocationID = x.id
	e.Author = session.PluginPrefix + name
	e.Timestamp = time.Now().UTC()
	if e.ID == "" {
		e.ID = session.NewID()
	}
	switch {
	case e.Marker():
		e.Branch = "" // it changes what everybody sees
	case e.Branch == "":
		e.Branch = branch
	}
	if err := x.owners.CheckEvent(e); err != nil {
		return nil, &plugin.Error{Plugin: name, Hook: hook, Err: fmt.Errorf("%w: %w", plugin.ErrOutcome, err)}
	}
	return newPending(e), nil
}

// agentOf returns the agent that an event is of, "" if it is of none.
func agentOf(e *session.Event) string {
	switch {
	case e.Author == session.User:
		return ""
	case e.FromAgent():
		return e.Author
	}
	return plugin.NotesOf(e).Agent
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
