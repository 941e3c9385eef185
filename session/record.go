package session

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A Record is an event as a store keeps it. Stores get theirs from Records.
type Record struct {
	ID   string
	Time time.Time
	// Data is the event's JSON, without its position and without "temp:" keys.
	Data []byte
	// Changes are what the event does to state, ordered by key.
	Changes []Change
	// Event is what the record was made of, with ID and Timestamp set. It shares its content with the
	// caller's event.
	Event *Event

	callers []*Event
	timed   bool // the caller's event had a time of its own
}

// Records checks events and encodes them for a store: it leaves out partial events and repetitions,
// gives an ID and a time to those without, and drops "temp:" keys. The caller's events are not changed.
func Records(key Key, events []*Event) ([]*Record, error) {
	var list []*Record
	byID := map[string]*Record{}
	for _, e := range events {
		if err := checkEvent(e); err != nil {
			id := ""
			if e != nil {
				id = e.ID
			}
			return nil, &EventError{key, id, err}
		}
		if e.Partial {
			continue
		}
		c := *e
		c.Seq = 0
		if c.ID == "" {
			c.ID = NewID()
		}
		if c.Timestamp.IsZero() {
			c.Timestamp = time.Now().UTC()
		}
		if d := c.Actions.StateDelta; d != nil {
			c.Actions.StateDelta = withoutTemp(d)
		}
		r := &Record{ID: c.ID, Time: c.Timestamp, Event: &c, callers: []*Event{e}, timed: !e.Timestamp.IsZero()}
		var err error
		if r.Data, err = c.encode(false); err == nil {
			r.Changes, err = changes(&c.Actions)
		}
		if err != nil {
			return nil, &EventError{key, c.ID, invalid("%v", err)}
		}
		if first := byID[r.ID]; first != nil {
			if !first.Same(r.Data) {
				return nil, &EventError{key, r.ID, ErrIDReused}
			}
			first.callers = append(first.callers, e)
			continue
		}
		byID[r.ID] = r
		list = append(list, r)
	}
	return list, nil
}

func withoutTemp(delta map[string]any) map[string]any {
	temp := func(k string, _ any) bool { return strings.HasPrefix(k, TempPrefix) }
	for k := range delta {
		if temp(k, nil) {
			if delta = maps.Clone(delta); true {
				maps.DeleteFunc(delta, temp)
			}
			if len(delta) == 0 {
				return nil
			}
			return delta
		}
	}
	return delta
}

// Same reports whether the record is the event that was stored as data.
func (r *Record) Same(data []byte) bool {
	if bytes.Equal(r.Data, data) {
		return true
	}
	stored, err := Decode(data, 0)
	if err != nil {
		return false
	}
	e := *r.Event
	if !r.timed {
		e.Timestamp = stored.Timestamp
	}
	if now, err := e.encode(false); err == nil && bytes.Equal(now, data) {
		return true
	}
	// The same event may be spelled in another way: with its keys in another order, say.
	was, err := canonicalBytes(data)
	if err != nil {
		return false
	}
	now, err := e.encode(false)
	if err == nil {
		now, err = canonicalBytes(now)
	}
	return err == nil && stored.Timestamp.Equal(e.Timestamp) && bytes.Equal(now, was)
}

// canonicalBytes returns an event's JSON in RFC 8785's form, without its time.
func canonicalBytes(data []byte) ([]byte, error) {
	v, err := rewrite(bytes.Clone(data), func(name string, value jsontext.Value) (string, jsontext.Value, error) {
		if name == "timestamp" {
			value = jsontext.Value("null")
		}
		return name, value, nil
	})
	if err == nil {
		err = v.Canonicalize(decoding, jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	}
	return v, err
}

// Appended tells the caller's event its position, its ID and its time: to be called once the
// append has succeeded. stored is the data at that position, where that was there before.
func (r *Record) Appended(seq int64, stored []byte) {
	at := r.Time
	if stored != nil && !r.timed && !bytes.Equal(stored, r.Data) {
		if e, err := Decode(stored, 0); err == nil {
			at = e.Timestamp
		}
	}
	for _, e := range r.callers {
		e.Seq, e.ID, e.Timestamp = seq, r.ID, at
	}
}

// Decode returns the event that Record.Data was made of, at position seq. It keeps data, which the
// caller must not change.
func Decode(data []byte, seq int64) (*Event, error) {
	e, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("the event at %d is damaged: %w", seq, err)
	}
	e.Seq = seq
	return e, nil
}

// Owner returns whose a state key is, given one session that sees it: "" the session's own, or a
// string that names the app, or the app and its user.
func Owner(key Key, state string) string {
	switch {
	case strings.HasPrefix(state, AppPrefix):
		return "app\x00" + key.App
	case strings.HasPrefix(state, UserPrefix):
		return "user\x00" + key.App + "\x00" + key.User
	}
	return ""
}

// Check returns the error of an append to a log whose last position and whose turn are those: fence is
// the last turn's, held says whether somebody has it. ErrFenced goes before ErrConflict.
func (a At) Check(held bool, fence, position int64) error {
	if a.Fence != fence && (held || a.Fence != 0) || a.Fence != 0 && !held {
		return &PositionError{a.Key, a.Fence, fence, ErrFenced}
	}
	if a.After != position {
		return &PositionError{a.Key, a.After, position, ErrConflict}
	}
	return nil
}
