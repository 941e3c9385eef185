package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
)

// step is an append in the making, on a session whose row is locked. It writes all at once.
type step struct {
	ctx            context.Context
	tx             pgx.Tx
	key            session.Key
	sid            int64
	head, frontier int64 // before the step
	records        []*session.Record
	marks          []mark            // of this step, ascending
	undo           []undo            // of this step, ascending
	values         map[string]*value // by key, those that the step has looked at
}

type mark struct {
	seq   int64
	spans session.Spans
}

type undo struct {
	seq int64
	key string
	old []byte
}

type value struct {
	data    []byte // nil for none
	changed bool
}

// load reads the values of the keys that the records change, and locks those that are shared, in the
// order in which everybody does.
func (t *step) load(records []*session.Record) error {
	changes := map[string]session.Change{}
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
func (t *step) add(r *session.Record) (refused, err error) {
	seq := t.head + int64(len(t.records)) + 1
	if refused, err = t.mark(seq, r.Event); refused != nil || err != nil {
		return refused, err
	}
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

// mark does what a compaction or rewind does.
func (t *step) mark(seq int64, e *session.Event) (refused, err error) {
	switch {
	case e.Actions.Rewind != nil:
		if err := session.CheckRewind(seq, e); err != nil {
			return err, nil
		}
		to := e.Actions.Rewind.To
		spans, err := t.spansAt(to)
		if err != nil {
			return nil, err
		}
		t.marks = append(t.marks, mark{seq, spans.Rewind(seq, to)})
		return nil, t.restore(seq, to)
	case e.Marker():
		spans, err := t.spansAt(seq)
		if err != nil {
			return nil, err
		}
		live, err := t.live(spans, seq-1)
		if err != nil {
			return nil, err
		}
		frontier := t.frontier
		if n := len(t.marks); n > 0 {
			frontier = t.marks[n-1].seq
		}
		if err := session.CheckCompaction(live, frontier, seq, e); err != nil {
			return err, nil
		}
		t.marks = append(t.marks, mark{seq, spans.Compact(seq, e.Actions.Compaction)})
	}
	return nil, nil
}

// live returns the live view up to position last.
func (t *step) live(spans session.Spans, last int64) ([]*session.Event, error) {
	var live []*session.Event
	p := positions(spans.Ranges(last))
	for len(p) > 0 {
		if p[0] > t.head {
			e, err := session.Decode(slices.Clone(t.records[p[0]-t.head-1].Data), p[0])
			if err != nil {
				return nil, err
			}
			live, p = append(live, e), p[1:]
			continue
		}
		n := slices.IndexFunc(p, func(seq int64) bool { return seq > t.head })
		if n < 0 {
			n = len(p)
		}
		page, err := readPage(t.ctx, t.tx, t.sid, p[:min(n, pageEvents)])
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, errors.New("an event of the live view is missing: the tables were changed by hand")
		}
		for i, data := range page {
			e, err := session.Decode(data, p[i])
			if err != nil {
				return nil, err
			}
			live = append(live, e)
		}
		p = p[len(page):]
	}
	return live, nil
}

// restore sets the session's own keys to what they were at position to.
func (t *step) restore(seq, to int64) error {
	rows, err := t.tx.Query(t.ctx, `
		SELECT u.key, u.old, (SELECT s.value FROM plughook_state s WHERE s.sid = $1 AND s.key = u.key)
		FROM (SELECT DISTINCT ON (key) key, old FROM plughook_undo WHERE sid = $1 AND seq > $2 ORDER BY key, seq) u`,
		t.sid, to)
	if err != nil {
		return err
	}
	before := map[string][]byte{}
	for i := len(t.undo) - 1; i >= 0 && t.undo[i].seq > to; i-- {
		before[t.undo[i].key] = t.undo[i].old
	}
	var key, old, now []byte
	if _, err := pgx.ForEachRow(rows, []any{&key, &old, &now}, func() error {
		before[string(key)] = old
		if t.values[string(key)] == nil {
			t.values[string(key)] = &value{data: now}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		t.set(seq, key, before[key])
	}
	return nil
}

func (t *step) set(seq int64, key string, data []byte) {
	v := t.values[key]
	if session.Owner(t.key, key) == "" {
		t.undo = append(t.undo, undo{seq, key, v.data})
	}
	v.data, v.changed = data, true
}

// write writes the step in one round trip.
func (t *step) write() error {
	b := &pgx.Batch{}
	frontier := t.frontier
	for _, m := range t.marks {
		spans, err := json.Marshal(m.spans)
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO plughook_marks (sid, seq, spans) VALUES ($1, $2, $3)`, t.sid, m.seq, spans)
		frontier = m.seq
	}
	c := columnsOf(t.records)
	b.Queue(`UPDATE plughook_sessions SET head = $2::bigint + cardinality($3::bytea[]), frontier = $4, updated = clock_timestamp() WHERE sid = $1`,
		t.sid, t.head, c.ids, frontier)
	b.Queue(`
		INSERT INTO plughook_events (sid, seq, us, ns, id, data)
		SELECT $1::bigint, $2::bigint + e.n, e.us, e.ns, e.id, e.data
		FROM unnest($3::bytea[], $4::bigint[], $5::smallint[], $6::bytea[]) WITH ORDINALITY AS e(id, us, ns, data, n)`,
		t.sid, t.head, c.ids, c.us, c.ns, c.data)
	t.writeState(b)
	return t.tx.SendBatch(t.ctx, b).Close()
}

// writeState queues the state that the step has changed, and how to undo that.
func (t *step) writeState(b *pgx.Batch) {
	var changes []session.Change
	for key, v := range t.values {
		if v.changed {
			changes = append(changes, session.Change{Key: key, Value: v.data})
		}
	}
	if len(changes) == 0 {
		return
	}
	_, own, shared := split(t.key, changes)
	if len(own.keys) > 0 {
		seqs, undone := []int64{}, empty()
		for _, u := range t.undo {
			seqs = append(seqs, u.seq)
			undone.add("", session.Change{Key: u.key, Value: u.old})
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
