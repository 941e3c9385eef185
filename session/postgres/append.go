package postgres

import (
	"context"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Append implements session.Service. When it fails because the connection broke or the context ended,
// the events may be in the log; to append the same events again, with their IDs, is right then.
func (s *Store) Append(ctx context.Context, at session.AppendTarget, events ...*session.Event) (int64, error) {
	// Check and encode the events.
	records, err := store.Records(at.Key, events)
	if err != nil {
		return 0, err
	}
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	if at.Key.Check(false) != nil {
		return 0, store.NotFound(at.Key)
	}

	// The usual append is one statement. It appends all, or nothing if anything is in its way.
	c := columnsOf(records)
	if len(records) > 0 && c.state(at.Key, records) {
		done, err := s.appendOnce(ctx, at, c)
		switch {
		case err != nil && ctx.Err() != nil:
			return 0, s.fail(ctx, "append to session "+at.Key.String(), err)
		case err == nil && done:
			s.appended(at.Key, at.After+int64(len(records)))
			s.grown(len(records))
			for i, r := range records {
				r.Appended(at.After+int64(i)+1, nil)
			}
			return at.After + int64(len(records)), nil
		}
	}

	// Else lock the session, and find out why the statement appended nothing, or try again if the server was
	// not there. If it did append, and only its response was lost, appendLocked finds the events in the log.
	var position int64
	err = s.on(ctx, "append to", at.Key, func() (err error) {
		position, err = s.appendLocked(ctx, at, records)
		return err
	})
	return position, err
}

// columns are events as columns, for arrays of PostgreSQL.
type columns struct {
	ids  [][]byte
	data [][]byte
	us   []int64 // the events' times: see micros
	ns   []int16
	// What the events do to state, if the fast statement can do it.
	nth         []int64 // which event sets the own key, 1 the first; nil if no state changes
	own, shared pairs
}

// columnsOf returns the columns of the records, without what they do to state.
func columnsOf(records []*store.Record) *columns {
	c := &columns{}
	for _, r := range records {
		us, ns := micros(r.Time)
		c.ids = append(c.ids, []byte(r.ID))
		c.data = append(c.data, r.Data)
		c.us = append(c.us, us)
		c.ns = append(c.ns, ns)
	}
	return c
}

// state fills in what the records do to state. It reports whether the fast statement can do it: no
// compaction or rewind, no key changed twice, no bound.
func (c *columns) state(key session.Key, records []*store.Record) bool {
	var changes []store.Change
	nth := map[string]int64{}
	for i, r := range records {
		if r.Event.Marker() {
			return false
		}
		for _, ch := range r.Changes {
			if nth[ch.Key] != 0 || ch.Bound != nil {
				return false
			}
			nth[ch.Key] = int64(i) + 1
			changes = append(changes, ch)
		}
	}
	if len(changes) > 0 {
		_, c.own, c.shared = split(key, changes)
		c.nth = []int64{}
		for _, k := range c.own.keys {
			c.nth = append(c.nth, nth[string(k)])
		}
	}
	return true
}

// appendOnce appends in one round trip. It reports false, without an error, if the log is not at the
// position, the lease is another's, the session is not there, or the schema is newer than this program.
func (s *Store) appendOnce(ctx context.Context, at session.AppendTarget, c *columns) (bool, error) {
	// A migration takes the leases away. So the fence tells, and at no cost, what else the version does.
	known := schemaFits
	if at.Fence != 0 {
		known = "true"
	}
	if c.nth != nil {
		var done bool
		err := s.pool.QueryRow(ctx, `
			SELECT plughook_append($1::text, $2::text, $3::text, $4::bigint, $5::bigint,
				$6::bytea[], $7::bigint[], $8::smallint[], $9::bytea[],
				$10::bigint[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[], $16::float8[])
			WHERE `+known,
			at.Key.App, at.Key.User, at.Key.ID, at.After, at.Fence, c.ids, c.us, c.ns, c.data,
			c.nth, c.own.keys, c.own.values, c.shared.owners, c.shared.keys, c.shared.values, c.shared.adds).Scan(&done)
		if none(err) {
			return false, nil
		}
		// PostgreSQL sends the row before it commits. So done counts only if no error came after the row.
		return done && err == nil, err
	}
	tag, err := s.pool.Exec(ctx, `
		WITH s AS (
			UPDATE plughook_sessions SET head = $4::bigint + cardinality($6::bytea[]), updated = clock_timestamp()
			WHERE app = $1 AND usr = $2 AND id = $3 AND head = $4
				AND CASE WHEN $5::bigint = 0 THEN NOT `+leaseHeld+`
					ELSE epoch = $5 AND lease IS NOT NULL END
				AND `+known+`
			RETURNING sid
		), unindexed AS (
			INSERT INTO plughook_unindexed (sid, first, last)
			SELECT s.sid, $4 + 1, $4 + cardinality($6::bytea[]) FROM s, plughook_index WHERE one = 1
			ON CONFLICT (sid) DO UPDATE SET last = excluded.last
		)
		INSERT INTO plughook_events (sid, seq, us, ns, id, data)
		SELECT s.sid, $4 + e.n, e.us, e.ns, e.id, e.data
		FROM s, unnest($6::bytea[], $7::bigint[], $8::smallint[], $9::bytea[])
			WITH ORDINALITY AS e(id, us, ns, data, n)`,
		at.Key.App, at.Key.User, at.Key.ID, at.After, at.Fence, c.ids, c.us, c.ns, c.data)
	return err == nil && tag.RowsAffected() > 0, err
}
