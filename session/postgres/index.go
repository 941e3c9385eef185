package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// The index is a table with the terms of each event (store.Terms), and a GIN index on it.
//
// An append only notes, in its statement, that its events are not in the index (plughook_unindexed): to cut
// words and to write them would cost as much as the append. Once enough events wait, the process that has
// appended takes them in beside its other work. A search looks through those that are left.

// indexTime is how long events are taken into the index in the background, at most, before the next append
// looks again.
const indexTime = time.Minute

// indexKey is the lock of the one who takes events into the index; any number.
const indexKey = 5217093316482290117

// indexing is the background work on the index.
type indexing struct {
	mu      sync.Mutex
	grown   int  // events that this process has appended since it looked at what waits
	looked  bool // at what earlier processes have left
	running bool
}

// Index implements session.Indexer.
func (s *Store) Index(ctx context.Context, progress func(done, left int64)) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	err := s.again(ctx, func() error {
		x, err := s.pending(ctx)
		if err != nil || x.made != nil {
			return err
		}
		return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
			if err := current(ctx, tx); err != nil {
				return err
			}
			// Wait for the appends under way, which know nothing of an index. Those that come later wait
			// here, and see it: a snapshot that was taken before does not, but cannot update a row that has
			// changed since.
			if _, err := tx.Exec(ctx, `LOCK TABLE plughook_sessions IN SHARE ROW EXCLUSIVE MODE`); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `INSERT INTO plughook_index (one) VALUES (1) ON CONFLICT DO NOTHING`)
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE plughook_sessions SET head = head WHERE sid > 0`); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `
				INSERT INTO plughook_unindexed (sid, first, last) SELECT sid, 1, head FROM plughook_sessions WHERE sid > 0 AND head > 0
				ON CONFLICT (sid) DO UPDATE SET first = 1, last = excluded.last`)
			return err
		})
	})
	var done int64
	for err == nil {
		var took, left int64
		var busy bool
		took, left, busy, err = s.takeIn(ctx)
		done += took
		if err == nil && progress != nil {
			progress(done, left)
		}
		if left == 0 {
			break
		}
		if busy { // another takes in what waits
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-s.open.Done():
				err = session.ErrClosed
			}
		}
	}
	return s.fail(ctx, "index the sessions", err)
}

// DropIndex implements session.Indexer. It needs the right to truncate the tables.
func (s *Store) DropIndex(ctx context.Context) error {
	return s.do(ctx, "remove the index", func() error {
		x, err := s.pending(ctx)
		if err != nil || x.made == nil {
			return err
		}
		return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
			if err := current(ctx, tx); err != nil {
				return err
			}
			for _, statement := range []string{
				fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d::bigint)`, int64(indexKey)), // of who takes in what waits
				`LOCK TABLE plughook_sessions IN SHARE ROW EXCLUSIVE MODE`,               // as Index
				`DELETE FROM plughook_index WHERE one = 1`,
				`TRUNCATE plughook_unindexed, plughook_words`,
			} {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Indexed implements session.Indexer.
func (s *Store) Indexed(ctx context.Context) (is bool, err error) {
	err = s.do(ctx, "look at the index", func() error {
		x, err := s.pending(ctx)
		is = x.made != nil
		return err
	})
	return is, err
}

// Statements here that read a whole table say "sid > 0", so that they go by its key: see planning. A plan
// without an index seems so dear to PostgreSQL then that it compiles it first, which takes a quarter of a
// second.

// indexState is what is known of the index.
type indexState struct {
	made *time.Time // nil: there is none
	left int64      // events that are not in it yet
}

// pending looks at the index, and at the schema's version.
func (s *Store) pending(ctx context.Context) (x indexState, err error) {
	var version int64
	err = s.pool.QueryRow(ctx, `
		SELECT `+schemaVersion+`, (SELECT made FROM plughook_index WHERE one = 1),
			(SELECT coalesce(sum(last - first + 1), 0)::bigint FROM plughook_unindexed WHERE sid > 0)`).Scan(&version, &x.made, &x.left)
	if err == nil {
		err = fits(version)
	}
	return x, err
}

// grown notes that this process has appended events. When these are enough to look, it takes in what waits,
// beside the caller's work.
func (s *Store) grown(events int) {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	x.grown += events
	if x.running || x.looked && x.grown < sqlstore.IndexFrom {
		return
	}
	x.looked = true
	x.grown = 0
	x.running = s.spawn(func() {
		// What is begun is ended, also while the store is being closed.
		ctx, cancel := context.WithTimeout(context.Background(), indexTime)
		defer cancel()
		for s.open.Err() == nil {
			x, err := s.pending(ctx)
			if err != nil || x.left < sqlstore.IndexFrom {
				break // on an error the next look goes on
			}
			if _, _, busy, err := s.takeIn(ctx); err != nil || busy {
				break
			}
		}
		x.mu.Lock()
		x.running = false
		x.mu.Unlock()
	})
}

// takeIn takes the next events into the index. It returns how many, and how many are left. busy says that
// another process is at it, and this one did nothing.
func (s *Store) takeIn(ctx context.Context) (took, left int64, busy bool, err error) {
	err = s.again(ctx, func() error {
		took = 0
		return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
			var mine bool
			err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1::bigint) AND `+schemaFits, int64(indexKey)).Scan(&mine)
			busy = !mine
			if err != nil || busy {
				return err
			}
			took, err = indexNext(ctx, tx)
			return err
		})
	})
	var x indexState
	if err == nil {
		x, err = s.pending(ctx)
	}
	return took, x.left, busy, err
}

// indexNext takes the next events into the index.
func indexNext(ctx context.Context, tx pgx.Tx) (took int64, err error) {
	// Read them, some of each session that has any. No row is locked: the sessions are appended to meanwhile.
	type taken struct{ first, last int64 }
	of := map[int64]taken{}
	var order, sids, seqs []int64
	var terms []string
	rows, err := tx.Query(ctx, `
		SELECT e.sid, u.first, e.seq, e.data
		FROM (SELECT sid, first, last FROM plughook_unindexed WHERE sid > 0 ORDER BY sid LIMIT $1) u, LATERAL (
			SELECT sid, seq, data FROM plughook_events WHERE sid = u.sid AND seq >= u.first AND seq <= u.last
			ORDER BY seq LIMIT $1
		) e LIMIT $1`, sqlstore.IndexBatch)
	if err != nil {
		return 0, err
	}
	var sid, first, seq int64
	var data []byte
	size := 0
	_, err = pgx.ForEachRow(rows, []any{&sid, &first, &seq, &data}, func() error {
		if size > sqlstore.IndexBytes {
			return nil
		}
		size += len(data)
		e, err := store.Decode(data, seq)
		if err != nil {
			return err
		}
		if _, ok := of[sid]; !ok {
			order = append(order, sid)
		}
		of[sid] = taken{first: first, last: seq}
		sids = append(sids, sid)
		seqs = append(seqs, seq)
		terms = append(terms, strings.Join(store.Terms(e), " "))
		return nil
	})
	if err != nil || len(sids) == 0 {
		return 0, err
	}

	// Write their terms.
	if _, err := tx.Exec(ctx, `
		INSERT INTO plughook_words (sid, seq, terms)
		SELECT w.sid, w.seq, string_to_array(w.terms, ' ') FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS w(sid, seq, terms)
		ON CONFLICT (sid, seq) DO NOTHING`, sids, seqs, terms); err != nil {
		return 0, err
	}

	// They wait no more. A session that has no row any more was deleted, or the index was removed. Who
	// deletes it while this is not committed waits for the row, and then finds the terms.
	for _, sid := range order {
		tag, err := tx.Exec(ctx, `UPDATE plughook_unindexed SET first = $3::bigint + 1 WHERE sid = $1 AND first = $2`,
			sid, of[sid].first, of[sid].last)
		if err == nil && tag.RowsAffected() == 0 {
			_, err = tx.Exec(ctx, `DELETE FROM plughook_words WHERE sid = $1`, sid)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM plughook_unindexed WHERE sid = $1 AND first > last`, sid)
		}
		if err != nil {
			return 0, err
		}
	}
	return int64(len(sids)), nil
}
