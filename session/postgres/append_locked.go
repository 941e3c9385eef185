package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// appendLocked appends with the session's row locked, in as many round trips as that takes: what finds
// out why an append was refused, tells a repetition from a reused ID, and appends compactions and
// rewinds. A refusal is the caller's affair, err the database's.
func (s *Store) appendLocked(ctx context.Context, at session.At, records []*store.Record) (position int64, refusal, err error) {
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
		var fresh []*store.Record
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
			if refusal = store.CheckAt(at, held, turn.fence, t.head); refusal != nil {
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
