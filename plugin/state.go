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
// of plugins; there are several if one program is configured under several names (see Plugin.StateName).
type StateOwners map[string][]string

// OwnersOf returns the owners of the plugins' state keys.
func OwnersOf(plugins ...*Plugin) StateOwners {
	o := StateOwners{}
	for _, p := range plugins {
		o[p.Name] = append(o[p.Name], p.Name)
		if p.StateName != "" && p.StateName != p.Name {
			o[p.StateName] = append(o[p.StateName], p.Name)
		}
	}
	return o
}

// Of returns the plugins that alone may write a state key, none if everybody may.
func (o StateOwners) Of(key string) []string { return o[prefixOf(key)] }

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

// CheckEvent returns an error, which is session.ErrInvalid, if the event writes a state key of plugins none of
// which is the event's author or, by the event's Notes, has changed it.
func (o StateOwners) CheckEvent(e *session.Event) error {
	for _, key := range writtenKeys(e) {
		owners := o.Of(key)
		author, emitted := strings.CutPrefix(e.Author, session.PluginPrefix)
		if len(owners) == 0 || emitted && slices.Contains(owners, author) {
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
// key of a plugin's.
func (o StateOwners) CheckInitial(state map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if len(o.Of(key)) > 0 {
			return fmt.Errorf("the session was created with this state: %w", o.refuse(key))
		}
	}
	return nil
}

func (o StateOwners) refuse(key string) error {
	return fmt.Errorf("%w: state key %q belongs to plugin %s, which alone writes it; use a key without the prefix %q",
		session.ErrInvalid, key, strings.Join(o.Of(key), " or "), prefixOf(key)+":")
}
