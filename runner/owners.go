package runner

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// State keys belong to the configured plugin of their name: plugin P alone writes "P:…", "user:P:…",
// "app:P:…" and "temp:P:…". So no agent, input or other plugin can take back what a policy has noted or
// counted there.

// ownedBy returns the configured plugin that a state key belongs to, "" if it belongs to none.
func (r *Runner) ownedBy(key string) string {
	owner := plugin.StateOwner(key)
	if owner == "" || !r.names[owner] {
		return ""
	}
	return owner
}

// checkOwners returns an error if the event writes a state key of a plugin that is neither the event's
// author nor, by the event's notes, one that has changed it.
func (x *run) checkOwners(e *session.Event) error {
	for _, key := range written(e) {
		owner := x.ownedBy(key)
		if owner == "" || e.Author == session.PluginPrefix+owner {
			continue
		}
		byOwner := func(n plugin.Note) bool { return n.Plugin == owner }
		if !slices.ContainsFunc(plugin.NotesOf(e).Changed, byOwner) {
			return ownedError(key, owner)
		}
	}
	return nil
}

// written returns the state keys that an event writes, in order.
func written(e *session.Event) []string {
	a := &e.Actions
	if len(a.StateDelta) == 0 && len(a.StateIncrement) == 0 {
		return nil
	}
	return append(slices.Sorted(maps.Keys(a.StateDelta)), slices.Sorted(maps.Keys(a.StateIncrement))...)
}

func ownedError(key, owner string) error {
	return fmt.Errorf("%w: state key %q belongs to plugin %s, which alone writes it; use a key without the prefix %q",
		session.ErrInvalid, key, owner, owner+":")
}

// keepOwned takes over into e, a replacement by plugin name, what other plugins have written into their
// state keys in was, the event before. It returns an error if e says something else there.
func keepOwned(was, e *session.Event, name string, ownedBy func(key string) string) error {
	for _, err := range []error{
		keepKeys(was.Actions.StateDelta, &e.Actions.StateDelta, name, ownedBy),
		keepKeys(was.Actions.StateIncrement, &e.Actions.StateIncrement, name, ownedBy),
		keepKeys(was.Actions.StateBound, &e.Actions.StateBound, name, ownedBy),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func keepKeys[V any](was map[string]V, now *map[string]V, name string, ownedBy func(key string) string) error {
	others := func(key string) bool {
		owner := ownedBy(key)
		return owner != "" && owner != name
	}
	for key, value := range *now {
		before, had := was[key]
		if others(key) && !(had && reflect.DeepEqual(before, value)) {
			return fmt.Errorf("writes state key %q, which belongs to plugin %s", key, ownedBy(key))
		}
	}
	for key, value := range was {
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

// checkInitial returns an error if the session was created with a state key of a plugin's.
func (x *run) checkInitial(s *session.Session) error {
	for key := range s.Initial {
		if owner := x.ownedBy(key); owner != "" {
			return &session.KeyError{Key: x.key, Err: fmt.Errorf("the session was created with this state: %w", ownedError(key, owner))}
		}
	}
	return nil
}

// shared reports whether a state key is one that other sessions change, too.
func shared(key string) bool {
	return strings.HasPrefix(key, session.AppPrefix) || strings.HasPrefix(key, session.UserPrefix)
}
