package store

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
)

// A Change is what an event does to one state key.
type Change struct {
	// Key is the whole key; its prefix tells the scope.
	Key string
	// Value is the new value's JSON, nil to delete the key.
	Value jsontext.Value
	// Add says to add the number By to what is there, in place of setting Value.
	Add bool
	By  float64
	// Bound is the greatest number that an addition of more than 0 may lead to, nil for none.
	Bound *float64
}

// Apply returns the key's value after the change, nil for none. old is the value before, nil for none.
// It is session.ErrInvalid to add to what is not a number, and to add more than a float64 holds; it is
// session.ErrBound to add more than Bound allows.
func (c Change) Apply(old []byte) (jsontext.Value, error) {
	if !c.Add {
		return c.Value, nil
	}
	var n float64
	if old != nil {
		if err := json.Unmarshal(old, &n); err != nil {
			return nil, invalid("stateIncrement of %q: its value is not a number", c.Key)
		}
	}
	if c.Bound != nil && c.By > 0 && n+c.By > *c.Bound {
		return nil, &boundError{key: c.Key, value: n, by: c.By, bound: *c.Bound}
	}
	sum, err := json.Marshal(n + c.By)
	if err != nil {
		return nil, invalid("stateIncrement of %q: %v + %v is no number", c.Key, n, c.By)
	}
	return sum, nil
}

// changes returns what an event's actions do to state, ordered by key; of one key the addition first.
// bounds are the greatest numbers that additions may lead to, by key.
func changes(a *session.Actions, bounds map[string]float64) ([]Change, error) {
	if len(a.StateIncrement) == 0 && len(a.StateDelta) == 0 {
		return nil, nil
	}
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(a.StateIncrement)) {
		c := Change{Key: key, Add: true, By: a.StateIncrement[key]}
		if bound, ok := bounds[key]; ok {
			c.Bound = &bound
		}
		list = append(list, c)
	}
	set, err := changesOf(a.StateDelta)
	list = append(list, set...)
	slices.SortStableFunc(list, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return list, err
}

// changesOf returns what a state delta does, "temp:" keys left out, ordered by key.
func changesOf(delta map[string]any) ([]Change, error) {
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		if strings.HasPrefix(key, session.TempPrefix) {
			continue
		}
		c := Change{Key: key}
		if v := delta[key]; v != nil {
			var err error
			if c.Value, err = codec.EncodeValue(v); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// Create checks what Service.Create is given. It returns the key, with an ID if it had none, and the changes
// that make the session's state, "temp:" keys and nil values left out.
func Create(key session.Key, state map[string]any) (session.Key, []Change, error) {
	if err := key.Check(true); err != nil {
		return key, nil, err
	}
	if key.ID == "" {
		key.ID = session.NewID()
	}
	err := checkEvent(&session.Event{Actions: session.Actions{StateDelta: state}})
	if err != nil {
		return key, nil, err
	}
	list, err := changesOf(state)
	if err != nil {
		return key, nil, invalid("initial state: %v", err)
	}
	return key, slices.DeleteFunc(list, func(c Change) bool { return c.Value == nil }), nil
}

// Owner returns whose a state key is, given one session that sees it: "" for the session's own, else a
// string that names the app, or the app and its user.
func Owner(key session.Key, state string) string {
	switch {
	case strings.HasPrefix(state, session.AppPrefix):
		return "app\x00" + key.App
	case strings.HasPrefix(state, session.UserPrefix):
		return "user\x00" + key.App + "\x00" + key.User
	}
	return ""
}
