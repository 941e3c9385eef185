package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// step is an append in the making, on a session whose row is locked. It writes all at once.
type step struct {
	ctx            context.Context
	tx             pgx.Tx
	key            session.Key
	sid            int64
	head, frontier int64 // before the step
	records        []*store.Record
	marks          []mark            // of this step, ascending
	undo           []undo            // of this step, ascending
	values         map[string]*value // by key, those that the step has looked at
}

type mark struct {
	seq   int64
	spans store.Spans
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

func (t *step) set(seq int64, key string, data []byte) {
	v := t.values[key]
	if store.Owner(t.key, key) == "" {
		t.undo = append(t.undo, undo{seq, key, v.data})
	}
	v.data, v.changed = data, true
}
