package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// StateOwners says which plugins may write which state keys. State keys belong to the configured plugin of
// their name: plugin P alone writes "P:…", "user:P:…", "app:P:…" and "temp:P:…". So no agent, input or other
// plugin can take back what a policy has noted or counted there. It maps what a key begins with to the names
// of plugins; there are several if one program is configured under several names (see Plugin.StateName), and
// none if several programs want the same keys.
type StateOwners map[string][]string

// RunnerState is what the runner's own state keys begin with, before a ':'. No plugin has this name.
const RunnerState = "runner"

// OwnersOf returns the owners of the plugins' state keys. A plugin always owns the keys of its Name. It owns
// those of its StateName unless another program has that name, or calls itself so, too: what a program says of
// itself takes nothing from others.
func OwnersOf(plugins ...*Plugin) StateOwners {
	o := StateOwners{}
	for _, p := range plugins {
		o[p.Name] = append(o[p.Name], p.Name)
	}
	for _, p := range plugins {
		if p.StateName == "" || p.StateName == p.Name {
			continue
		}
		rival := func(q *Plugin) bool {
			return q.Program != p.Program && (q.Name == p.StateName || q.StateName == p.StateName)
		}
		owners := o[p.StateName]
		if !slices.ContainsFunc(plugins, rival) {
			owners = append(owners, p.Name)
		}
		o[p.StateName] = owners
	}
	o[RunnerState] = nil
	return o
}

// Of returns the plugins that alone may write a state key. If owned is false, everybody may; if it is true
// and there are no plugins, nobody may.
func (o StateOwners) Of(key string) (plugins []string, owned bool) {
	plugins, owned = o[prefixOf(key)]
	return plugins, owned
}

// prefixOf returns the part of a state key before the first ':', after the prefix "app:", "user:" or "temp:".
func prefixOf(key string) string {
	for _, scope := range []string{session.AppPrefix, session.UserPrefix, session.TempPrefix} {
		rest, ok := strings.CutPrefix(key, scope)
		if ok {
			key = rest
			break
		}
	}
	prefix, _, _ := strings.Cut(key, ":")
	return prefix
}

// remotePrefix begins the state keys of agents that run elsewhere: "a2a.NAME", and "a2a.NAME@BRANCH".
// Agent NAME alone writes them. They name a conversation of the remote agent, and that serves all
// users of this program as one: who could write them could go on with somebody else's conversation.
const remotePrefix = "a2a."

// remoteAgent returns the agent that alone writes a state key; ok is false if it is no such key.
func remoteAgent(key string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(key, remotePrefix)
	name, _, _ = strings.Cut(rest, "@")
	return name, ok
}

// CheckEvent returns an error, which is session.ErrInvalid, if the event writes a state key of plugins none of
// which is the event's author or, by the event's Notes, has changed it; or a key of an agent that runs elsewhere
// and is not the event's author.
func (o StateOwners) CheckEvent(e *session.Event) error {
	for _, key := range writtenKeys(e) {
		if name, ok := remoteAgent(key); ok && e.Author != name {
			return refuseRemote(key, name)
		}
		owners, owned := o.Of(key)
		author, emitted := e.Plugin()
		if !owned || emitted && slices.Contains(owners, author) {
			continue
		}
		byOwner := func(n Note) bool { return slices.Contains(owners, n.Plugin) }
		if !slices.ContainsFunc(NotesOf(e).Changed, byOwner) {
			return o.refuse(key)
		}
	}
	return nil
}

// writtenKeys returns the state keys that an event writes, in order.
func writtenKeys(e *session.Event) []string {
	a := &e.Actions
	if len(a.StateDelta) == 0 && len(a.StateIncrement) == 0 {
		return nil
	}
	return append(slices.Sorted(maps.Keys(a.StateDelta)), slices.Sorted(maps.Keys(a.StateIncrement))...)
}

// CheckInitial returns an error, which is session.ErrInvalid, if a state that a session is created with has a
// key of a plugin's, or of an agent that runs elsewhere.
func (o StateOwners) CheckInitial(state map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if name, ok := remoteAgent(key); ok {
			return fmt.Errorf("the session was created with this state: %w", refuseRemote(key, name))
		}
		if _, owned := o.Of(key); owned {
			return fmt.Errorf("the session was created with this state: %w", o.refuse(key))
		}
	}
	return nil
}

func refuseRemote(key, name string) error {
	return fmt.Errorf("%w: state key %q belongs to the agent %s, which runs elsewhere and alone writes it; use a key "+
		"without the prefix %q", session.ErrInvalid, key, name, remotePrefix)
}

func (o StateOwners) refuse(key string) error {
	return fmt.Errorf("%w: state key %q belongs to %s, which alone writes it; use a key without the prefix %q",
		session.ErrInvalid, key, o.NameOwners(key), prefixOf(key)+":")
}

// NameOwners says in words who owns a state key that has owners, for an error message.
func (o StateOwners) NameOwners(key string) string {
	plugins, _ := o.Of(key)
	if prefixOf(key) == RunnerState {
		return "the runner"
	}
	if len(plugins) == 0 {
		return fmt.Sprintf("the plugin %s, but several programs call themselves so", prefixOf(key))
	}
	return "plugin " + strings.Join(plugins, " or ")
}
