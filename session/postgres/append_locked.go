package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// appendLocked appends with the session's row locked, in as many round trips as that takes. It finds out
// why an append was refused, tells a repetition from a reused ID, and appends what the fast statement
// cannot: compactions, rewinds, increments with a bound. On an error nothing was appended.
func (s *Store) appendLocked(ctx context.Context, at session.AppendTarget, records []*store.Record) (position int64, err error) {
	var appended func()
	err = pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
		// Lock the session, and find the records that are in its log already.
		t := step{
			ctx:     ctx,
			tx:      tx,
			key:     at.Key,
			values:  map[string]*value{},
			decoded: map[int64]*session.Event{},
		}
		last, stored, err := t.look(records)
		if err != nil {
			return err
		}
		var fresh []*store.Record
		for _, r := range records {
			was, ok := stored[r.ID]
			switch {
			case !ok:
				fresh = append(fresh, r)
			case !r.Same(was.data):
				return &session.EventError{Key: at.Key, ID: r.ID, Err: session.ErrIDReused}
			}
		}

		if len(fresh) > 0 {
			// The append must be at the log's end, and under the lease if somebody holds it. A lease whose
			// time ran out is its holder's until somebody else takes it.
			end := store.LogEnd{
				Position: t.head,
				Fence:    last.fence,
				Held:     last.running || last.given && at.Fence == last.fence,
			}
			if err := store.CheckPosition(at, end); err != nil {
				return err
			}
			// Lock the shared keys that the events change; then add the events, each checked against what
			// those before it did; then write all at once.
			if err := t.load(fresh); err != nil {
				return err
			}
			for _, r := range fresh {
				refused, err := t.add(r)
				if err != nil {
					return err
				}
				if refused != nil {
					return &session.EventError{Key: at.Key, ID: r.ID, Err: refused}
				}
			}
			if err := t.write(); err != nil {
				return err
			}
		}

		// What is told to the caller's events once the transaction is committed.
		position = t.head + int64(len(fresh))
		appended = func() {
			s.watchers.Appended(t.sid, position)
			s.grown(len(fresh))
			next := t.head
			for _, r := range records {
				if was, ok := stored[r.ID]; ok {
					r.Appended(was.seq, was.data)
				} else {
					next++
					r.Appended(next, nil)
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	appended()
	return position, nil
}

// storedEvent is an event that is in the log.
type storedEvent struct {
	seq  int64
	data []byte
}

// lastLease is what a session's row says of its last lease.
type lastLease struct {
	fence   int64
	given   bool // it was not given back
	running bool // nor has its time run out
}

// look looks at the schema's version, locks the session and reads its row, and then those of the records
// that are in the log, by ID.
func (t *step) look(records []*store.Record) (last lastLease, stored map[string]storedEvent, err error) {
	stored = map[string]storedEvent{}
	b := &pgx.Batch{}
	b.Queue("SELECT " + schemaVersion).QueryRow(func(row pgx.Row) error {
		var version int64
		if err := row.Scan(&version); err != nil {
			return err
		}
		return fits(version)
	})
	b.Queue(`
		SELECT sid, head, frontier, epoch, lease IS NOT NULL, `+leaseHeld+`
		FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3 FOR NO KEY UPDATE`,
		t.key.App, t.key.User, t.key.ID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.sid, &t.head, &t.frontier, &last.fence, &last.given, &last.running)
	})
	if len(records) > 0 {
		b.Queue(`
			SELECT e.id, e.seq, e.data
			FROM (SELECT int8send(sid) AS prefix FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3) s,
				unnest($4::bytea[]) AS r(id),
				LATERAL (SELECT id, seq, data FROM plughook_events WHERE int8send(sid) || id = s.prefix || r.id OFFSET 0) e`,
			t.key.App, t.key.User, t.key.ID, columnsOf(records).ids).Query(func(rows pgx.Rows) error {
			var id []byte
			var e storedEvent
			_, err := pgx.ForEachRow(rows, []any{&id, &e.seq, &e.data}, func() error {
				stored[string(id)] = e
				return nil
			})
			return err
		})
	}
	err = t.tx.SendBatch(t.ctx, b).Close()
	return last, stored, err
}
