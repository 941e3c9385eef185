package sqlite

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// compact takes in the compaction of the event at position seq, if it may.
func (a *appending) compact(c *conn, seq int64, e *session.Event) error {
	spans, err := spansAt(c, a.sid, seq)
	if err != nil {
		return err
	}
	if a.known == nil || a.knownOf != a.sid { // the session was deleted and made again since
		a.known = map[int64]*session.Event{}
		a.knownOf = a.sid
	}
	var live []*session.Event
	for _, r := range spans.Ranges(seq - 1) {
		for n := r[0]; n <= r[1]; n++ {
			e := a.known[n] // events do not change
			if e == nil {
				if e, err = event(c, a.sid, n); err != nil {
					return err
				}
				a.known[n] = e // an import may have many compactions
			}
			live = append(live, e)
		}
	}
	if err := store.CheckCompaction(live, a.frontier, seq, e); err != nil {
		return err
	}
	return a.mark(c, seq, spans.Compact(seq, e.Actions.Compaction))
}

// rewind takes in the rewind of the event at position seq: the view and the state go back.
func (a *appending) rewind(c *conn, seq int64, e *session.Event) error {
	if err := store.CheckRewind(seq, e); err != nil {
		return err
	}
	to := e.Actions.Rewind.To
	spans, err := spansAt(c, a.sid, to)
	if err != nil {
		return err
	}
	if err := a.mark(c, seq, spans.Rewind(seq, to)); err != nil {
		return err
	}
	// The first change of a key after position "to" has noted the value that the key had at "to".
	var back []store.Change
	var ch store.Change
	var first int64
	err = c.each("SELECT key, old, min(seq) FROM undo WHERE sid = ? AND seq > ? GROUP BY key", []any{a.sid, to},
		[]any{&ch.Key, (*[]byte)(&ch.Value), &first}, func() error {
			back = append(back, ch)
			return nil
		})
	if err != nil {
		return err
	}
	for _, ch := range back {
		if err := a.change(c, seq, ch); err != nil {
			return err
		}
	}
	return nil
}

// mark writes the spans after the compaction or rewind at position seq.
func (a *appending) mark(c *conn, seq int64, spans store.Spans) error {
	data, err := json.Marshal(&spans)
	if err != nil {
		return err
	}
	a.frontier = seq
	_, err = c.exec("INSERT INTO marks (sid, seq, spans) VALUES (?, ?, ?)", a.sid, seq, data)
	return err
}

// change makes a change of the event at position seq to the state.
func (a *appending) change(c *conn, seq int64, ch store.Change) error {
	// What the session's own key was before is kept: a rewind undoes the change.
	owner := store.Owner(a.target.Key, ch.Key)
	if owner == "" {
		if _, err := c.exec("INSERT INTO undo (sid, seq, key, old) VALUES (?1, ?2, ?3, (SELECT value FROM state WHERE sid = ?1 AND key = ?3))",
			a.sid, seq, ch.Key); err != nil {
			return err
		}
	}
	// To add, read what is there. The writer is the only one who writes, so nobody changes it meanwhile.
	value := ch.Value
	if ch.Add {
		var old []byte
		_, err := c.row("SELECT value FROM shared WHERE owner = ? AND key = ?", []any{owner, ch.Key}, &old)
		if err == nil {
			value, err = ch.Apply(old)
		}
		if err != nil {
			return err
		}
	}
	return put(c, a.sid, a.target.Key, ch.Key, value)
}

// put sets a key of the state, or deletes it if value is nil.
func put(c *conn, sid int64, of session.Key, key string, value []byte) (err error) {
	owner := store.Owner(of, key)
	switch {
	case owner == "" && value == nil:
		_, err = c.exec("DELETE FROM state WHERE sid = ? AND key = ?", sid, key)
	case owner == "":
		_, err = c.exec(`INSERT INTO state (sid, key, value) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET value = excluded.value`, sid, key, value)
	case value == nil:
		_, err = c.exec("DELETE FROM shared WHERE owner = ? AND key = ?", owner, key)
	default:
		_, err = c.exec(`INSERT INTO shared (owner, key, value) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET value = excluded.value`, owner, key, value)
	}
	return err
}

// event reads one event.
func event(c *conn, sid, seq int64) (*session.Event, error) {
	var data []byte
	ok, err := c.row("SELECT data FROM events WHERE pos = ?", []any{pos(sid, seq)}, &data)
	if err == nil && !ok {
		err = hole(seq)
	}
	if err != nil {
		return nil, err
	}
	return store.Decode(data, seq)
}

// live returns the events of the live view by position, and the session they are of.
func (s *Store) live(ctx context.Context, key session.Key) (map[int64]*session.Event, int64, error) {
	r := reading{key: key, sel: session.Selection{Live: true}}
	live := map[int64]*session.Event{}
	for !r.done {
		page, err := r.page(ctx, s)
		if err != nil {
			return nil, 0, err
		}
		for _, row := range page {
			if live[row.Seq], err = store.Decode(row.Data, row.Seq); err != nil {
				return nil, 0, err
			}
		}
	}
	return live, r.sid, nil
}
