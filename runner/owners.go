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

// addOwner notes which state keys are a plugin's: those of its name, and those of its StateName.
func (r *Runner) addOwner(p *plugin.Plugin) {
	r.owners[p.Name] = append(r.owners[p.Name], p.Name)
	if p.StateName != "" && p.StateName != p.Name {
		r.owners[p.StateName] = append(r.owners[p.StateName], p.Name)
	}
}

// ownedBy returns the configured plugins that may write a state key, none if everybody may. There are
// several if one program is configured under several names.
func (r *Runner) ownedBy(key string) []string {
	return r.owners[plugin.StateOwner(key)]
}

// checkOwners returns an error if the event writes a state key of a plugin that is neither the event's
// author nor, by the event's notes, one that has changed it.
func (x *run) checkOwners(e *session.Event) error {
	for _, key := range written(e) {
		owners := x.ownedBy(key)
		author, emitted := strings.CutPrefix(e.Author, session.PluginPrefix)
		if len(owners) == 0 || emitted && slices.Contains(owners, author) {
			continue
		}
		byOwner := func(n plugin.Note) bool { return slices.Contains(owners, n.Plugin) }
		if !slices.ContainsFunc(plugin.NotesOf(e).Changed, byOwner) {
			return ownedError(key, owners)
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

func ownedError(key string, owners []string) error {
	return fmt.Errorf("%w: state key %q belongs to plugin %s, which alone writes it; use a key without the prefix %q",
		session.ErrInvalid, key, strings.Join(owners, " or "), plugin.StateOwner(key)+":")
}

// keepOwned takes over into e, a replacement by plugin name, what other plugins have written into their
// state keys in was, the event before. It returns an error if e says something else there.
func keepOwned(was, e *session.Event, name string, ownedBy func(key string) []string) error {
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

func keepKeys[V any](was map[string]V, now *map[string]V, name string, ownedBy func(key string) []string) error {
	others := func(key string) bool {
		owners := ownedBy(key)
		return len(owners) > 0 && !slices.Contains(owners, name)
	}
	for key, value := range *now {
		before, had := was[key]
		if others(key) && !(had && reflect.DeepEqual(before, value)) {
			return fmt.Errorf("writes state key %q, which belongs to plugin %s", key, strings.Join(ownedBy(key), " or "))
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
		if owners := x.ownedBy(key); len(owners) > 0 {
			return &session.KeyError{Key: x.key, Err: fmt.Errorf("the session was created with this state: %w", ownedError(key, owners))}
		}
	}
	return nil
}

// shared reports whether a state key is one that other sessions change, too.
func shared(key string) bool {
	return strings.HasPrefix(key, session.AppPrefix) || strings.HasPrefix(key, session.UserPrefix)
}
