package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
)

// appendLocked appends with the session's row locked, in as many round trips as that takes: what finds
// out why an append was refused, tells a repetition from a reused ID, and appends compactions, rewinds
// and increments. A refusal is the caller's affair, err the database's.
func (s *Store) appendLocked(ctx context.Context, at session.At, records []*session.Record) (position int64, refusal, err error) {
	var finish func()
	err = pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
		t := step{ctx: ctx, tx: tx, key: at.Key, values: map[string]*value{}}
		turn, stored, err := t.look(records)
		if none(err) {
			refusal = notFound(at.Key)
			return errRefused
		} else if err != nil {
			return err
		}
		position = t.head
		var fresh []*session.Record
		for _, r := range records {
			if was, ok := stored[r.ID]; !ok {
				fresh = append(fresh, r)
			} else if !r.Same(was.data) {
				refusal = &session.EventError{Key: at.Key, ID: r.ID, Err: session.ErrIDReused}
				return errRefused
			}
		}
		if len(fresh) > 0 {
			// A turn whose time ran out is its holder's until somebody else takes it.
			held := turn.running || turn.given && at.Fence == turn.fence
			if refusal = at.Check(held, turn.fence, t.head); refusal != nil {
				return errRefused
			}
			if err := t.load(fresh); err != nil {
				return err
			}
			for _, r := range fresh {
				refused, err := t.add(r)
				if err != nil {
					return err
				}
				if refused != nil {
					refusal = &session.EventError{Key: at.Key, ID: r.ID, Err: refused}
					return errRefused
				}
			}
			if err := t.write(); err != nil {
				return err
			}
			position += int64(len(fresh))
		}
		first := t.head
		finish = func() {
			for _, r := range records {
				if was, ok := stored[r.ID]; ok {
					r.Appended(was.seq, was.data)
				} else {
					first++
					r.Appended(first, nil)
				}
			}
		}
		return nil
	})
	switch {
	case refusal != nil:
		return 0, refusal, nil
	case err != nil:
		return 0, nil, err
	}
	finish()
	return position, nil, nil
}

// errRefused rolls a transaction back.
var errRefused = rollback{}

type rollback struct{}

func (rollback) Error() string { return "rolled back" }

// storedEvent is an event that is in the log.
type storedEvent struct {
	seq  int64
	data []byte
}

// lastTurn is what a session's row says of turns.
type lastTurn struct {
	fence          int64
	given, running bool // not given back; and its time has not run out
}

// look locks the session and reads its row, and then those of the records that are in the log, by ID.
func (t *step) look(records []*session.Record) (turn lastTurn, stored map[string]storedEvent, err error) {
	stored = map[string]storedEvent{}
	b := &pgx.Batch{}
	b.Queue(`
		SELECT sid, head, frontier, epoch, lease IS NOT NULL, lease IS NOT NULL AND lease > clock_timestamp()
		FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3 FOR NO KEY UPDATE`,
		t.key.App, t.key.User, t.key.ID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.sid, &t.head, &t.frontier, &turn.fence, &turn.given, &turn.running)
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
	return turn, stored, err
}

// spansAt returns the spans at the last compaction or rewind at or before a position.
func (t *step) spansAt(seq int64) (spans session.Spans, err error) {
	for i := len(t.marks) - 1; i >= 0; i-- {
		if t.marks[i].seq <= seq {
			return t.marks[i].spans, nil
		}
	}
	var data []byte
	err = t.tx.QueryRow(t.ctx, `SELECT spans FROM plughook_marks WHERE sid = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1`,
		t.sid, seq).Scan(&data)
	if none(err) {
		return session.Spans{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &spans)
	}
	return spans, err
}
