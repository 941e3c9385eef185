package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Append implements session.Service. A context that is done while the append waits for others keeps it
// from happening; one that is done later does not.
func (s *Store) Append(ctx context.Context, at session.AppendTarget, events ...*session.Event) (int64, error) {
	// Check and encode the events before they are in anybody's way.
	records, err := store.Records(at.Key, events)
	if err != nil {
		return 0, err
	}
	a := appending{target: at, records: records, ttl: s.ttl}
	size := 0
	for _, r := range records {
		size += len(r.Data)
		if r.Event.Marker() && r.Event.Actions.Rewind == nil && a.known == nil {
			// To check a compaction takes the live view. A long one is decoded here rather than while
			// everybody waits for the writer.
			if a.known, a.knownOf, err = s.live(ctx, at.Key); err != nil {
				return 0, err
			}
		}
	}

	// Have the writer append them, perhaps in one transaction with other sessions' events.
	if err := s.write(ctx, size, a.run); err != nil {
		return 0, err
	}

	// Tell the watchers of the session, and the caller's events their positions.
	s.watchers.Appended(a.sid, a.position)
	for i, r := range records {
		r.Appended(a.seqs[i], a.stored[i])
	}
	return a.position, nil
}

// appending is an append in the making. It begins anew each time it runs.
type appending struct {
	target  session.AppendTarget
	records []*store.Record
	ttl     time.Duration
	known   map[int64]*session.Event // events of the session knownOf, by position
	knownOf int64

	row
	seqs   []int64  // of the records
	stored [][]byte // what was in the log before
}

// run appends the records in a transaction that the writer has begun. On an error the writer undoes what
// was done.
func (a *appending) run(c *conn) error {
	r, err := find(c, a.target.Key)
	if err != nil {
		return err
	}
	a.row = *r

	// Find the records that are in the log already. If all are, the append has succeeded before.
	fresh, err := a.look(c)
	if err != nil || fresh == 0 {
		return err
	}

	// The append must be at the log's end, and under the lease if somebody holds it. A lease whose time
	// ran out is still its holder's as long as nobody else took it.
	end := store.LogEnd{
		Position: a.position,
		Fence:    a.lease.fence,
		Held:     a.lease.until != 0 && (a.target.Fence == a.lease.fence || a.lease.held(a.ttl)),
	}
	if err := store.CheckPosition(a.target, end); err != nil {
		return err
	}
	if a.position+int64(fresh) > maxSeq {
		return fmt.Errorf("sqlite: session %s: it has %d events, which is all that one session can have: %w", a.target.Key, a.position, session.ErrInvalid)
	}

	// Add the others, one after the other: each is checked against what those before it did.
	for i, r := range a.records {
		if a.seqs[i] != 0 {
			continue
		}
		a.seqs[i] = a.position + 1
		err := a.add(c, r, a.seqs[i])
		if broken(err) {
			return err
		}
		if err != nil {
			return &session.EventError{Key: a.target.Key, ID: r.ID, Err: err}
		}
		a.position++
	}

	// Move the log's end, and tell the index.
	_, err = c.exec("UPDATE sessions SET position = ?, frontier = ?, updated = ? WHERE sid = ?",
		a.position, a.frontier, time.Now().UnixNano(), a.sid)
	if err != nil {
		return err
	}
	return note(c, a.sid, a.position-int64(fresh)+1, a.position)
}

// look finds the records that are in the log already, and returns how many are not.
func (a *appending) look(c *conn) (fresh int, err error) {
	a.seqs = make([]int64, len(a.records))
	a.stored = make([][]byte, len(a.records))
	for i, r := range a.records {
		ok, err := c.row("SELECT seq FROM ids WHERE sid = ? AND id = ?", []any{a.sid, idKey(r.ID)}, &a.seqs[i])
		if err != nil {
			return 0, err
		}
		if !ok {
			fresh++
			continue
		}
		if _, err := c.row("SELECT data FROM events WHERE pos = ?", []any{pos(a.sid, a.seqs[i])}, &a.stored[i]); err != nil {
			return 0, err
		}
		if !r.Same(a.stored[i]) {
			return 0, &session.EventError{Key: a.target.Key, ID: r.ID, Err: session.ErrIDReused}
		}
	}
	return fresh, nil
}

// add appends one record at position seq, or returns why the log cannot take it.
func (a *appending) add(c *conn, r *store.Record, seq int64) error {
	// A compaction or a rewind changes what the live view is.
	switch {
	case r.Event.Actions.Rewind != nil:
		if err := a.rewind(c, seq, r.Event); err != nil {
			return err
		}
	case r.Event.Marker():
		if err := a.compact(c, seq, r.Event); err != nil {
			return err
		}
	}
	// Change the state.
	for _, ch := range r.Changes {
		if err := a.change(c, seq, ch); err != nil {
			return err
		}
	}
	// Write the event, and its ID so that a repetition is known.
	if _, err := c.exec("INSERT INTO events (pos, sec, nsec, data) VALUES (?, ?, ?, ?)",
		pos(a.sid, seq), r.Time.Unix(), r.Time.Nanosecond(), r.Data); err != nil {
		return err
	}
	_, err := c.exec("INSERT INTO ids (sid, id, seq) VALUES (?, ?, ?)", a.sid, idKey(r.ID), seq)
	return err
}
