package runner

import (
	"fmt"
	"reflect"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

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
	role := genai.RoleModel
	if len(e.FunctionResponses()) > 0 {
		role = genai.RoleUser
	}
	giveRole(e, role)
	e.Seq = 0
	e.InvocationID = x.id
	e.Author = session.PluginPrefix + name
	e.Timestamp = x.opt.Now().UTC()
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
	valuesAsStored(e)
	return &pending{event: e, notes: &pendingNotes{Notes: notes}}, nil
}

// replace puts a plugin's replacement in the event's place, and notes the plugin. The event keeps what a
// plugin does not change: its identity, the node run of a workflow that it belongs to or ends, what its
// compaction covers, and what other plugins have written into their own state keys.
func (p *pending) replace(by *session.Event, name, reason string, owners plugin.StateOwners) error {
	before := p.event
	refuse := func(what string) error { return fmt.Errorf("%w: the replacement %s", plugin.ErrOutcome, what) }
	notes := p.changeNotes()
	notes.Changed = append(slices.Clone(notes.Changed), plugin.Note{Plugin: name, Reason: reason})
	e := notes.With(by.Clone())

	// The identity is that of the event before.
	e.KeepIdentity(before)
	e.Seq = 0
	e.Partial = before.Partial
	if before.Content != nil {
		giveRole(e, before.Content.Role)
	}
	e.NodeInfo = sameNode(before.NodeInfo, e.NodeInfo)

	// Nobody changes what a rewind voids or a compaction covers, nor makes an event into one.
	switch {
	case before.Actions.Rewind != nil:
		return refuse("is of a rewind, which nobody changes")
	case e.Actions.Rewind != nil:
		return refuse("adds a rewind")
	case before.Marker() != e.Marker():
		return refuse("adds or takes away a compaction")
	case e.Marker():
		covers := before.Actions.Compaction
		c := *e.Actions.Compaction
		if len(covers.Branches) > 0 && partCount(c.Content) != partCount(covers.Content) {
			return refuse("changes how many parts a compaction has, and which branch sees which depends on that; change what is in them")
		}
		c.Through = covers.Through
		c.Keep = covers.Keep
		c.Frontier = covers.Frontier
		c.Branches = covers.Branches
		e.Actions.Compaction = &c
	}

	// Other plugins' state keys stay.
	valuesAsStored(e)
	for _, err := range []error{
		keepKeys(before.Actions.StateDelta, &e.Actions.StateDelta, name, owners),
		keepKeys(before.Actions.StateIncrement, &e.Actions.StateIncrement, name, owners),
		keepKeys(before.Actions.StateBound, &e.Actions.StateBound, name, owners),
	} {
		if err != nil {
			return refuse(err.Error())
		}
	}
	p.event = e
	p.print = 0
	return nil
}

// giveRole gives the content of an event, which is a clone, a role if it has none. Agents would take an answer without
// one for something that they are told, and ask their models again.
func giveRole(e *session.Event, role string) {
	if e.Content != nil && e.Content.Role == "" {
		e.Content.Role = role
	}
}

// sameNode returns what a replacement says of its node: what the event before says, with the replacement's
// unknown keys.
func sameNode(before, by *session.NodeInfo) *session.NodeInfo {
	if before == nil {
		return nil
	}
	n := *before
	n.OutputFor = slices.Clone(before.OutputFor)
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

// keepKeys takes over into now, the keys of a replacement by plugin name, those that the event had before and
// that are another plugin's. It returns an error if the replacement has something else in such a key.
func keepKeys[V any](before map[string]V, now *map[string]V, name string, owners plugin.StateOwners) error {
	others := func(key string) bool {
		of, owned := owners.Of(key)
		return owned && !slices.Contains(of, name)
	}
	for key, value := range *now {
		old, had := before[key]
		if others(key) && !(had && reflect.DeepEqual(old, value)) {
			return fmt.Errorf("writes state key %q, which belongs to %s", key, owners.NameOwners(key))
		}
	}
	for key, value := range before {
		if _, has := (*now)[key]; has || !others(key) {
			continue
		}
		if *now == nil {
			*now = map[string]V{}
		}
		(*now)[key] = value
	}
	return nil
}
