package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// step computes what an append will do to a session whose row is locked. Only write changes the database.
type step struct {
	ctx      context.Context
	tx       pgx.Tx
	key      session.Key
	sid      int64
	head     int64 // position of the last event before the step
	frontier int64 // position of the last compaction or rewind before the step
	records  []*store.Record
	marks    []mark                   // of this step, ascending
	undo     []undo                   // of this step, ascending
	values   map[string]*value        // the state keys that the step has looked at
	decoded  map[int64]*session.Event // by position: what the step has read of the log
}

// mark has the spans after the compaction or rewind at position seq.
type mark struct {
	seq   int64
	spans store.Spans
}

// undo has the value that the event at position seq replaced, nil if there was none.
type undo struct {
	seq int64
	key string
	old []byte
}

// value is a state key's value, as the step has it so far.
type value struct {
	data    []byte // nil for none
	changed bool
}

// load reads the values of the keys that the records change, and locks those that are shared, in the
// order in which everybody does.
func (t *step) load(records []*store.Record) error {
	changes := map[string]store.Change{}
	for _, r := range records {
		for _, c := range r.Changes {
			c.Value = nil
			changes[c.Key] = c
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, own, shared := split(t.key, slices.Collect(maps.Values(changes)))
	for key := range changes {
		t.values[key] = &value{}
	}
	set := func(rows pgx.Rows) error {
		var key, data []byte
		_, err := pgx.ForEachRow(rows, []any{&key, &data}, func() error {
			t.values[string(key)].data = data
			return nil
		})
		return err
	}
	b := &pgx.Batch{}
	if len(shared.keys) > 0 {
		// This locks rows that are there, although the condition fails, and makes those that are not.
		b.Queue(`
			INSERT INTO plughook_shared AS s (owner, key)
			SELECT c.owner, c.key FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS c(owner, key, n) ORDER BY c.n
			ON CONFLICT (owner, key) DO UPDATE SET value = s.value WHERE false`, shared.owners, shared.keys)
		b.Queue(`
			SELECT s.key, s.value FROM unnest($1::bytea[], $2::bytea[]) AS c(owner, key),
				LATERAL (SELECT key, value FROM plughook_shared WHERE owner = c.owner AND key = c.key OFFSET 0) s`,
			shared.owners, shared.keys).Query(set)
	}
	if len(own.keys) > 0 {
		b.Queue(`
			SELECT s.key, s.value FROM unnest($2::bytea[]) AS c(key),
				LATERAL (SELECT key, value FROM plughook_state WHERE sid = $1 AND key = c.key OFFSET 0) s`,
			t.sid, own.keys).Query(set)
	}
	return t.tx.SendBatch(t.ctx, b).Close()
}

// add takes in a record at the next position. It returns refused if the log cannot take it.
func (t *step) add(r *store.Record) (refused, err error) {
	seq := t.head + int64(len(t.records)) + 1
	// A compaction or a rewind changes what the live view is.
	refused, err = t.mark(seq, r.Event)
	if refused != nil || err != nil {
		return refused, err
	}
	// Change the state.
	for _, c := range r.Changes {
		data, err := c.Apply(t.values[c.Key].data)
		if err != nil {
			return err, nil
		}
		t.set(seq, c.Key, data)
	}
	t.records = append(t.records, r)
	return nil, nil
}

// set sets a state key by the event at position seq, and keeps what is needed to undo that.
func (t *step) set(seq int64, key string, data []byte) {
	v := t.values[key]
	if store.Owner(t.key, key) == "" {
		t.undo = append(t.undo, undo{seq: seq, key: key, old: v.data})
	}
	v.data = data
	v.changed = true
}

// write writes the step in one round trip.
func (t *step) write() error {
	b := &pgx.Batch{}
	// What a later rewind needs of the compactions and rewinds.
	frontier := t.frontier
	for _, m := range t.marks {
		spans, err := json.Marshal(m.spans)
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO plughook_marks (sid, seq, spans) VALUES ($1, $2, $3)`, t.sid, m.seq, spans)
		frontier = m.seq
	}
	// The log's end, and the events.
	c := columnsOf(t.records)
	b.Queue(`
		UPDATE plughook_sessions
		SET head = $2::bigint + cardinality($3::bytea[]), frontier = $4, updated = clock_timestamp()
		WHERE sid = $1`, t.sid, t.head, c.ids, frontier)
	b.Queue(`
		INSERT INTO plughook_events (sid, seq, us, ns, id, data)
		SELECT $1::bigint, $2::bigint + e.n, e.us, e.ns, e.id, e.data
		FROM unnest($3::bytea[], $4::bigint[], $5::smallint[], $6::bytea[]) WITH ORDINALITY AS e(id, us, ns, data, n)`,
		t.sid, t.head, c.ids, c.us, c.ns, c.data)
	// Of these, the index knows nothing yet.
	b.Queue(`
		INSERT INTO plughook_unindexed (sid, first, last)
		SELECT $1::bigint, $2::bigint + 1, $2::bigint + $3::bigint FROM plughook_index WHERE one = 1
		ON CONFLICT (sid) DO UPDATE SET last = excluded.last`, t.sid, t.head, len(t.records))
	t.writeState(b)
	return t.tx.SendBatch(t.ctx, b).Close()
}

// writeState queues the state that the step has changed, and how to undo that.
func (t *step) writeState(b *pgx.Batch) {
	var changes []store.Change
	for key, v := range t.values {
		if v.changed {
			changes = append(changes, store.Change{Key: key, Value: v.data})
		}
	}
	if len(changes) == 0 {
		return
	}
	_, own, shared := split(t.key, changes)
	if len(own.keys) > 0 {
		seqs := []int64{}
		undone := empty()
		for _, u := range t.undo {
			seqs = append(seqs, u.seq)
			undone.add("", store.Change{Key: u.key, Value: u.old})
		}
		b.Queue(`
			INSERT INTO plughook_undo (sid, seq, key, old)
			SELECT $1::bigint, u.seq, u.key, u.old FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS u(seq, key, old)`,
			t.sid, seqs, undone.keys, undone.values)
		b.Queue(`
			INSERT INTO plughook_state (sid, key, value)
			SELECT $1::bigint, c.key, c.value FROM unnest($2::bytea[], $3::bytea[]) AS c(key, value) WHERE c.value IS NOT NULL
			ON CONFLICT (sid, key) DO UPDATE SET value = excluded.value`, t.sid, own.keys, own.values)
	}
	if own.deletes() {
		b.Queue(`
			DELETE FROM plughook_state s USING unnest($2::bytea[], $3::bytea[]) AS c(key, value)
			WHERE s.sid = $1 AND s.key = c.key AND c.value IS NULL`, t.sid, own.keys, own.values)
	}
	if len(shared.keys) > 0 {
		b.Queue(`
			INSERT INTO plughook_shared (owner, key, value)
			SELECT c.owner, c.key, c.value FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS c(owner, key, value) WHERE c.value IS NOT NULL
			ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value`, shared.owners, shared.keys, shared.values)
	}
	if shared.deletes() {
		b.Queue(`
			DELETE FROM plughook_shared s USING unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS c(owner, key, value)
			WHERE s.owner = c.owner AND s.key = c.key AND c.value IS NULL`, shared.owners, shared.keys, shared.values)
	}
}
