package kitstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
	"github.com/plughook/plughook/session/store"
)

// states are what a kit's database says of state: what sessions, apps and users have now. What a session
// was created with is stored nowhere; the recording gets the keys that no event sets.
type states struct {
	sessions map[session.Key]map[string]any
	owners   map[string]map[string]any  // state of apps and users, with the prefixes, by owner
	set      map[string]map[string]bool // the keys that events set, by owner
	replayed map[string]map[string]any  // what the sessions so far leave behind, by owner
}

func newStates() *states {
	return &states{
		sessions: map[session.Key]map[string]any{},
		owners:   map[string]map[string]any{},
		set:      map[string]map[string]bool{},
		replayed: map[string]map[string]any{},
	}
}

// readStates reads the three tables that hold state.
func (d *Database) readStates(ctx context.Context) (*states, error) {
	s := newStates()
	tables := []struct {
		name    string
		columns []string
		prefix  string
	}{
		{"sessions", []string{"app_name", "user_id", "id", "state"}, ""},
		{"user_states", []string{"app_name", "user_id", "state"}, session.UserPrefix},
		{"app_states", []string{"app_name", "state"}, session.AppPrefix},
	}
	for _, table := range tables {
		there, err := d.from.columns(ctx, table.name)
		if err != nil {
			return nil, err
		}
		if !there["state"] {
			continue
		}
		query := "SELECT " + d.list(table.name, "t", table.columns...) + " FROM " + table.name + " t"
		for r, err := range d.from.each(ctx, query, len(table.columns)) {
			if err != nil {
				return nil, err
			}
			last := len(r) - 1
			var key session.Key
			key.App = string(r[0])
			if last > 1 {
				key.User = string(r[1])
			}
			if last > 2 {
				key.ID = string(r[2])
			}
			state, err := decodeState(r[last])
			if err != nil {
				d.left = append(d.left, fmt.Sprintf("a state in the table %s, of %s, is left out: %v", table.name, key, err))
			}
			if table.prefix == "" {
				s.sessions[key] = state
				continue
			}
			shared := map[string]any{}
			for name, value := range state {
				shared[table.prefix+name] = value
			}
			s.owners[store.Owner(key, table.prefix)] = shared
		}
	}
	return s, nil
}

func decodeState(data []byte) (map[string]any, error) {
	value, _, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	v, err := codec.DecodeValue(value)
	if err != nil || v == nil {
		return nil, err
	}
	state, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is no JSON object")
	}
	return state, nil
}

// shared reports whether apps or users have any state.
func (s *states) shared() bool {
	for _, state := range s.owners {
		if len(state) > 0 {
			return true
		}
	}
	return false
}

// note takes in which keys of its app and user a session's events set.
func (s *states) note(one *Session) {
	for _, e := range one.Events {
		for key := range e.Actions.StateDelta {
			owner := store.Owner(one.Key, key)
			if owner == "" {
				continue
			}
			if s.set[owner] == nil {
				s.set[owner] = map[string]bool{}
			}
			s.set[owner][key] = true
		}
	}
}

// finish gives a session the state that it was created with. No table has that state, so finish takes the keys that no
// event sets, with the values that the kit has now. Then it replays the events, and tells in Left which keys get
// another value than the kit has.
func (s *states) finish(one *Session) *Session {
	initial := map[string]any{}
	own := map[string]bool{}
	for _, e := range one.Events {
		for key := range e.Actions.StateDelta {
			own[key] = true
		}
	}
	take := func(state map[string]any, set map[string]bool) {
		for key, value := range state {
			if value != nil && !set[key] && !strings.HasPrefix(key, session.TempPrefix) {
				initial[key] = value
			}
		}
	}
	app := store.Owner(one.Key, session.AppPrefix)
	user := store.Owner(one.Key, session.UserPrefix)
	take(s.sessions[one.Key], own)
	take(s.owners[app], s.set[app])
	take(s.owners[user], s.set[user])
	one.State = initial

	// Replay the events.
	mine := map[string]any{}
	set := func(key string, value any) {
		state := mine
		if owner := store.Owner(one.Key, key); owner != "" {
			if s.replayed[owner] == nil {
				s.replayed[owner] = map[string]any{}
			}
			state = s.replayed[owner]
		}
		state[key] = value
	}
	for key, value := range initial {
		set(key, value)
	}
	for _, e := range one.Events {
		for key, value := range e.Actions.StateDelta {
			set(key, value)
		}
	}
	for _, key := range different(s.sessions[one.Key], mine) {
		one.Left = append(one.Left, fmt.Sprintf("its state %q has another value than in the kit: the events lead to %s, and the kit has %s",
			key, brief(mine[key]), brief(s.sessions[one.Key][key])))
	}
	return one
}

// differences says which keys of apps and users end otherwise than in the kit: events of several sessions
// set them, and come in one session after the other, or the kit merges what they set.
func (s *states) differences() []string {
	var list []string
	for _, owner := range slices.Sorted(maps.Keys(s.owners)) {
		for _, key := range different(s.owners[owner], s.replayed[owner]) {
			list = append(list, fmt.Sprintf("the shared state %q has another value than in the kit: the events lead to %s, and the kit has %s",
				key, brief(s.replayed[owner][key]), brief(s.owners[owner][key])))
		}
	}
	return list
}

// different returns the keys whose values differ. nil is as good as no key.
func different(kit, here map[string]any) []string {
	var keys []string
	all := maps.Clone(kit)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, here)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, session.TempPrefix) {
			continue
		}
		one, _ := codec.EncodeValue(kit[key])
		two, _ := codec.EncodeValue(here[key])
		if !bytes.Equal(one, two) {
			keys = append(keys, key)
		}
	}
	return keys
}

// brief returns a value as JSON, cut where it is long.
func brief(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := codec.EncodeValue(v)
	if err != nil {
		return "a value"
	}
	if len(text) > 60 {
		return strings.ToValidUTF8(string(text[:60]), "") + "…"
	}
	return string(text)
}
