package postgres

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// mark takes in the compaction or rewind of the event at position seq, if it has one. It returns refused if
// the log cannot take that.
func (t *step) mark(seq int64, e *session.Event) (refused, err error) {
	switch {
	case e.Actions.Rewind != nil:
		if err := store.CheckRewind(seq, e); err != nil {
			return err, nil
		}
		to := e.Actions.Rewind.To
		spans, err := t.spansAt(to)
		if err != nil {
			return nil, err
		}
		t.marks = append(t.marks, mark{seq: seq, spans: spans.Rewind(seq, to)})
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
		if err := store.CheckCompaction(live, frontier, seq, e); err != nil {
			return err, nil
		}
		t.marks = append(t.marks, mark{seq: seq, spans: spans.Compact(seq, e.Actions.Compaction)})
	}
	return nil, nil
}

// live returns the live view up to position last.
func (t *step) live(spans store.Spans, last int64) ([]*session.Event, error) {
	var live []*session.Event
	add := func(seq int64, data []byte) error {
		e, err := store.Decode(data, seq)
		if err != nil {
			return err
		}
		t.decoded[seq] = e // an import may have many compactions
		live = append(live, e)
		return nil
	}
	p, _ := take(spans.Ranges(last), math.MaxInt)
	for len(p) > 0 {
		seq := p[0]
		if e := t.decoded[seq]; e != nil {
			live = append(live, e)
			p = p[1:]
			continue
		}
		if seq > t.head { // of this step: it is not in the database yet
			if err := add(seq, t.records[seq-t.head-1].Data); err != nil {
				return nil, err
			}
			p = p[1:]
			continue
		}
		n := slices.IndexFunc(p, func(seq int64) bool { return seq > t.head || t.decoded[seq] != nil })
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
		for _, stored := range page {
			if err := add(stored.Seq, stored.Data); err != nil {
				return nil, err
			}
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
	// The first change of a key after position "to" has noted the value that the key had at "to". Take the
	// changes of this step, the last one first, then those of the log: the earliest one is taken last, and
	// counts.
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

// spansAt returns the spans at the last compaction or rewind at or before a position.
func (t *step) spansAt(seq int64) (spans store.Spans, err error) {
	for i := len(t.marks) - 1; i >= 0; i-- {
		if t.marks[i].seq <= seq {
			return t.marks[i].spans, nil
		}
	}
	var data []byte
	err = t.tx.QueryRow(t.ctx, `SELECT spans FROM plughook_marks WHERE sid = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1`,
		t.sid, seq).Scan(&data)
	if none(err) {
		return store.Spans{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &spans)
	}
	return spans, err
}
