package store

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
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
	Event *session.Event

	callers []*session.Event
	timed   bool // the caller's event had a time of its own
}

// Records checks events and encodes them for a store: it leaves out partial events and repetitions,
// gives an ID and a time to those without, and drops "temp:" keys. The caller's events are not changed.
func Records(key session.Key, events []*session.Event) ([]*Record, error) {
	list := make([]*Record, 0, len(events))
	var byID map[string]*Record // where there are several
	if len(events) > 1 {
		byID = map[string]*Record{}
	}
	for _, e := range events {
		if err := checkEvent(e); err != nil {
			id := ""
			if e != nil {
				id = e.ID
			}
			return nil, &session.EventError{Key: key, ID: id, Err: err}
		}
		if e.Partial {
			continue
		}
		c := *e
		bounds := c.Actions.StateBound
		c.Seq = 0
		if c.ID == "" {
			c.ID = session.NewID()
		}
		if c.Timestamp.IsZero() {
			c.Timestamp = time.Now().UTC()
		}
		if d := c.Actions.StateDelta; d != nil {
			c.Actions.StateDelta = withoutTemp(d)
		}
		c.Actions.StateBound = nil // a condition of this append, and nothing that happened
		r := &Record{ID: c.ID, Time: c.Timestamp, Event: &c, callers: []*session.Event{e}, timed: !e.Timestamp.IsZero()}
		var err error
		if r.Data, err = c.MarshalJSON(); err == nil {
			r.Changes, err = changes(&c.Actions, bounds)
		}
		if err != nil {
			return nil, &session.EventError{Key: key, ID: c.ID, Err: invalid("%v", err)}
		}
		if first := byID[r.ID]; first != nil { // the append has this event twice
			if !first.Same(r.Data) {
				return nil, &session.EventError{Key: key, ID: r.ID, Err: session.ErrIDReused}
			}
			first.callers = append(first.callers, e)
			continue
		}
		if byID != nil {
			byID[r.ID] = r
		}
		list = append(list, r)
	}
	return list, nil
}

func withoutTemp(delta map[string]any) map[string]any {
	temp := func(k string, _ any) bool { return strings.HasPrefix(k, session.TempPrefix) }
	for k := range delta {
		if temp(k, nil) {
			delta = maps.Clone(delta)
			maps.DeleteFunc(delta, temp)
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
	if now, err := e.MarshalJSON(); err == nil && bytes.Equal(now, data) {
		return true
	}
	// The same event may be spelled in another way: with its keys in another order, say.
	was, err := canonicalBytes(data)
	if err != nil {
		return false
	}
	now, err := e.MarshalJSON()
	if err == nil {
		now, err = canonicalBytes(now)
	}
	return err == nil && stored.Timestamp.Equal(e.Timestamp) && bytes.Equal(now, was)
}

// canonicalBytes returns an event's JSON in RFC 8785's form, without its time.
func canonicalBytes(data []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members, codec.Decoding); err != nil {
		return nil, err
	}
	delete(members, "timestamp")
	v, err := json.Marshal(members, codec.Encoding)
	if err != nil {
		return nil, err
	}
	canonical := jsontext.Value(v)
	err = canonical.Canonicalize(codec.Decoding, jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	return canonical, err
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

// Decode returns the event that Record.Data was made of, at position seq. The event keeps data and
// never writes to it; nor may anybody else.
func Decode(data []byte, seq int64) (*session.Event, error) {
	e, err := session.DecodeEvent(data)
	if err != nil {
		return nil, fmt.Errorf("the event at %d is damaged: %w", seq, err)
	}
	e.Seq = seq
	return e, nil
}
