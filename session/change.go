package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
}

// Apply returns the key's value after the change, nil for none, given that before, nil for none. It is
// ErrInvalid to add to what is not a number, and to add more than a float64 holds.
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
	sum, err := json.Marshal(n + c.By)
	if err != nil {
		return nil, invalid("stateIncrement of %q: %v + %v is no number", c.Key, n, c.By)
	}
	return sum, nil
}

func changes(a *Actions) ([]Change, error) {
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(a.StateIncrement)) {
		list = append(list, Change{Key: key, Add: true, By: a.StateIncrement[key]})
	}
	set, err := changesOf(a.StateDelta)
	list = append(list, set...)
	slices.SortStableFunc(list, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return list, err
}

// encodeValue returns a state value's JSON, nil for a nil pointer and its like.
func encodeValue(v any) (jsontext.Value, error) {
	data, err := json.Marshal(v, encoding)
	if err != nil || jsontext.Value(data).Kind() == 'n' {
		return nil, err
	}
	return data, nil
}

// changesOf returns what a state delta does, "temp:" keys left out, ordered by key.
func changesOf(delta map[string]any) ([]Change, error) {
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		if strings.HasPrefix(key, TempPrefix) {
			continue
		}
		c := Change{Key: key}
		if v := delta[key]; v != nil {
			var err error
			if c.Value, err = encodeValue(v); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// Value decodes the JSON of a state value as events are decoded: integers beyond 2^53 are json.Number.
func Value(data []byte) (any, error) {
	var v any
	err := json.Unmarshal(data, &v, lenient)
	return v, err
}

// Initial returns the changes that create a session's state, "temp:" keys and nil values left out.
func Initial(state map[string]any) ([]Change, error) {
	if err := checkEvent(&Event{Actions: Actions{StateDelta: state}}); err != nil {
		return nil, err
	}
	list, err := changesOf(state)
	if err != nil {
		return nil, invalid("initial state: %v", err)
	}
	return slices.DeleteFunc(list, func(c Change) bool { return c.Value == nil }), nil
}
