package session

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session/internal/codec"
)

// forkedKey is the key in Actions.Extra of a forked event under which its changes of shared state stand.
const forkedKey = "forked"

// Fork makes a session of the first events of another, up to position at: the same app and user, the same
// events with their IDs and times, the state that the session was created with and, from there, the
// state as it was at that position. It is made whole or not at all, and the other stays as it is. An empty
// id becomes a UUIDv7. It is ErrExists if there is a session of that id, and ErrInvalid if the
// position is greater than that of the last event.
//
// State with the prefixes "app:" and "user:" is shared by the two sessions. The other's events have changed it once,
// so those of the fork do not again: their changes of it stand in actions.forked, where nothing applies
// them. For the same reason a fork can be exported and imported beside the session that it was made of.
// Artifacts belong to a session, and stay with the other one.
func Fork(ctx context.Context, svc Service, key Key, at int64, id string) (*Session, error) {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if at < 0 || at > s.Position {
		return nil, invalid("session %s: it cannot be forked at position %d: the last event is at %d, and 0 is before the first", key, at, s.Position)
	}
	rec := &Recording{Key: Key{App: key.App, User: key.User, ID: id}, State: applied(nil, s.Initial, ownKey)}
	if id == "" {
		rec.Key.ID = NewID()
	}
	was, err := svc.Get(ctx, rec.Key)
	if rec.Key == key || err == nil && was.Position > 0 {
		return nil, &KeyError{Key: rec.Key, Err: ErrExists}
	}
	for e, err := range svc.Read(ctx, key, Selection{}) {
		if err != nil {
			return nil, err
		}
		if e.Seq > at {
			break
		}
		e, err = forked(e)
		if err != nil {
			return nil, &EventError{Key: key, ID: e.ID, Err: err}
		}
		rec.Events = append(rec.Events, e)
	}
	if int64(len(rec.Events)) < at { // it was deleted while it was read
		return nil, &KeyError{Key: key, Err: ErrNotFound}
	}
	if err := Import(ctx, svc, rec); err != nil {
		return nil, err
	}
	return svc.Get(ctx, rec.Key)
}

// forked returns the event as a fork has it: without effect on shared state.
func forked(e *Event) (*Event, error) {
	shared := map[string]any{}
	mine := map[string]any{}
	for key, value := range e.Actions.StateDelta {
		if ownKey(key) {
			mine[key] = value
		} else {
			shared[key] = value
		}
	}
	if len(shared) == 0 && len(e.Actions.StateIncrement) == 0 {
		return e, nil
	}
	record := Actions{StateIncrement: e.Actions.StateIncrement}
	if len(shared) > 0 {
		record.StateDelta = shared
	}
	data, err := json.Marshal(&record, codec.Encoding)
	if err != nil {
		return e, err
	}
	c := e.Clone()
	if c.Actions.StateDelta, c.Actions.StateIncrement = mine, nil; len(mine) == 0 {
		c.Actions.StateDelta = nil
	}
	if c.Actions.Extra == nil {
		c.Actions.Extra = map[string]jsontext.Value{}
	}
	c.Actions.Extra[forkedKey] = data
	return c, nil
}
