package postgres

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session/store"
)

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
		seqs, undone := []int64{}, empty()
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
