package store

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
)

// A View follows a session: its live view and its state, kept as events are appended, at a cost that
// does not depend on the log's length. What its methods return does not change afterwards; the View
// itself belongs to one goroutine at a time.
type View struct {
	live     []*session.Event
	state    map[string]any
	position int64
	frontier int64
}

// NewView returns the view of a session as read from a Service, under a lease or at least at one
// position: live is its live view. The slice stays the caller's: the View has a copy, with room for more.
func NewView(s *session.Session, live []*session.Event) *View {
	own := make([]*session.Event, len(live), len(live)+len(live)/16+16)
	copy(own, live)
	return &View{live: own, state: s.State, position: s.Position, frontier: s.Frontier}
}

// Live returns the live view.
func (v *View) Live() []*session.Event { return v.live[:len(v.live):len(v.live)] }

// State returns the state: the session's keys, its app's, its user's and the invocation's.
func (v *View) State() map[string]any { return v.state }

// Position returns the position of the last event.
func (v *View) Position() int64 { return v.position }

// Frontier returns the position of the last compaction or rewind, 0 if there is none.
func (v *View) Frontier() int64 { return v.frontier }

// Append takes in an event that was appended. It reports false for a rewind: what that revives has to
// be read from the Service.
func (v *View) Append(e *session.Event) bool {
	if e.Actions.Rewind != nil {
		return false
	}
	v.position = e.Seq
	if c := compaction(e); c != nil {
		v.frontier = e.Seq
		live := session.Live(append(v.Live(), e))
		v.live = live[:len(live):len(live)]
	} else {
		v.live = append(v.live, e)
	}
	for key, by := range e.Actions.StateIncrement {
		v.Set(map[string]any{key: sum(v.state[key], by)})
	}
	v.Set(e.Actions.StateDelta)
	return true
}

// sum adds a number to a value, as a store does. The store has checked that the value is a number.
func sum(old any, by float64) any {
	var before jsontext.Value
	if old != nil {
		before, _ = json.Marshal(old, codec.Encoding)
	}
	data, err := Change{Add: true, By: by}.Apply(before)
	if err != nil {
		return old
	}
	after, _ := codec.DecodeValue(data) // it was just encoded
	return after
}

// AsStored returns a delta with its values as a store gives them back: an int becomes a float64, a nil
// pointer nil, what is not UTF-8 U+FFFD; the delta itself if they are so. What cannot be encoded stays, for a
// store to refuse.
func AsStored(delta map[string]any) map[string]any {
	cloned := false
	for key, value := range delta {
		stored, same := valueAsStored(value)
		if same {
			continue
		}
		if !cloned {
			delta = maps.Clone(delta)
			cloned = true
		}
		delta[key] = stored
	}
	return delta
}

// ValueAsStored returns one value, such as a node's output, as AsStored does those of a delta.
func ValueAsStored(value any) any {
	stored, same := valueAsStored(value)
	if same {
		return value
	}
	return stored
}

// valueAsStored also reports whether the value is as it is stored, or cannot be encoded.
func valueAsStored(value any) (stored any, same bool) {
	if plain, ok := copyPlain(value, 0); ok {
		switch value.(type) {
		case map[string]any, []any:
			return plain, false // a copy
		}
		return value, true
	}
	data, err := codec.EncodeValue(value)
	if err != nil {
		return value, true
	}
	if data != nil {
		stored, _ = codec.DecodeValue(data) // it was just encoded
	}
	return stored, false
}

// copyPlain returns a copy of a value that is as it is stored, and whether it is.
func copyPlain(value any, depth int) (any, bool) {
	const deepest = 64 // a value may contain itself
	switch v := value.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, utf8.ValidString(v)
	case float64:
		return v, math.Abs(v) < 1<<53
	case map[string]any:
		if v == nil || depth == deepest {
			return nil, false
		}
		c := make(map[string]any, len(v))
		for key, value := range v {
			member, ok := copyPlain(value, depth+1)
			if !ok || !utf8.ValidString(key) {
				return nil, false
			}
			c[key] = member
		}
		return c, true
	case []any:
		if v == nil || depth == deepest {
			return nil, false
		}
		c := make([]any, len(v))
		for i, value := range v {
			member, ok := copyPlain(value, depth+1)
			if !ok {
				return nil, false
			}
			c[i] = member
		}
		return c, true
	}
	return nil, false
}

// Set changes the state by a delta of any scope, "temp:" included.
func (v *View) Set(delta map[string]any) {
	delta = AsStored(delta)
	if len(delta) == 0 {
		return
	}
	state := maps.Clone(v.state)
	if state == nil {
		state = map[string]any{}
	}
	for key, value := range delta {
		if value == nil {
			delete(state, key)
		} else {
			state[key] = value
		}
	}
	v.state = state
}

// SplitTemp splits a delta into its "temp:" keys, which live for one invocation, and the rest.
func SplitTemp(delta map[string]any) (temp, rest map[string]any) {
	rest = withoutTemp(delta)
	if len(rest) == len(delta) {
		return nil, delta
	}
	temp = maps.Clone(delta) // with its nils, which delete
	maps.DeleteFunc(temp, func(key string, _ any) bool { return !strings.HasPrefix(key, session.TempPrefix) })
	return temp, rest
}

// SetShared replaces the state with the prefixes "app:" and "user:" by that of state, which may have
// other keys, too. It reports whether anything changed.
func (v *View) SetShared(state map[string]any) bool {
	delta := map[string]any{}
	for key, value := range state {
		if session.SharedKey(key) && !reflect.DeepEqual(v.state[key], value) {
			delta[key] = value
		}
	}
	for key := range v.state {
		if _, has := state[key]; session.SharedKey(key) && !has {
			delta[key] = nil
		}
	}
	v.Set(delta)
	return len(delta) > 0
}
