package memory

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Append implements session.Service.
func (m *Service) Append(ctx context.Context, at session.AppendTarget, events ...*session.Event) (int64, error) {
	// Check and encode the events before anybody has to wait for this append.
	records, err := store.Records(at.Key, events)
	if err != nil {
		return 0, err
	}
	s, err := m.find(ctx, at.Key)
	if err != nil {
		return 0, err
	}
	defer m.mu.Unlock()

	// Find the events that are in the log already: a repeated append appends only the others.
	fresh := make([]*store.Record, 0, len(records))
	for _, r := range records {
		seq := s.seqs[r.ID]
		switch {
		case seq == 0:
			fresh = append(fresh, r)
		case !r.Same(s.log[seq-1].data):
			return 0, &session.EventError{Key: at.Key, ID: r.ID, Err: session.ErrIDReused}
		}
	}

	if len(fresh) > 0 {
		// The append must be at the log's end, and under the lease if somebody holds it.
		end := store.LogEnd{Position: s.Position, Fence: s.fence, Held: s.lease != nil}
		if err := store.CheckPosition(at, end); err != nil {
			return 0, err
		}
		// Compute what the events do, each after those before it. Nothing is changed until all may be
		// appended.
		next := m.begin(s)
		for i, r := range fresh {
			if err := next.add(r, s.Position+int64(i)+1); err != nil {
				return 0, &session.EventError{Key: at.Key, ID: r.ID, Err: err}
			}
		}
		next.commit(fresh)
		m.watchers.Appended(s, s.Position)
	}

	// Tell the caller's events their positions.
	for _, r := range records {
		seq := s.seqs[r.ID]
		r.Appended(seq, s.log[seq-1].data)
	}
	return s.Position, nil
}

// step computes what a session will be after an append. Only commit changes the session.
type step struct {
	m       *Service
	s       *storedSession
	log     []storedEvent
	spans   store.Spans
	marks   []mark
	undo    []undo
	values  map[string]jsontext.Value // of the state keys that have changed; nil for a deleted one
	updated time.Time
}

// begin returns the step from what the session is now.
func (m *Service) begin(s *storedSession) *step {
	return &step{
		m:       m,
		s:       s,
		log:     s.log,
		spans:   s.spans,
		marks:   s.marks,
		undo:    s.undo,
		updated: time.Now().UTC(),
	}
}

// add takes in a record at position seq, or returns why the log cannot take it.
func (t *step) add(r *store.Record, seq int64) error {
	// A compaction or a rewind changes what the live view is.
	e := r.Event
	switch {
	case e.Actions.Rewind != nil:
		if err := t.rewind(seq, e); err != nil {
			return err
		}
	case e.Marker():
		if err := t.compact(seq, e); err != nil {
			return err
		}
	}
	// Change the state.
	for _, c := range r.Changes {
		value, err := c.Apply(t.value(c.Key))
		if err != nil {
			return err
		}
		t.set(seq, c.Key, value)
	}
	t.log = append(t.log, storedEvent{data: r.Data, time: r.Time})
	return nil
}

// compact takes in the compaction of the event at position seq.
func (t *step) compact(seq int64, e *session.Event) error {
	var live []*session.Event
	for _, span := range t.spans.Ranges(seq - 1) {
		for n := span[0]; n <= span[1]; n++ {
			e, err := store.Decode(t.log[n-1].data, n)
			if err != nil {
				return err
			}
			live = append(live, e)
		}
	}
	if err := store.CheckCompaction(live, t.frontier(), seq, e); err != nil {
		return err
	}
	t.mark(seq, t.spans.Compact(seq, e.Actions.Compaction))
	return nil
}

// rewind takes in the rewind of the event at position seq: the live view and the session's own state keys
// become what they were.
func (t *step) rewind(seq int64, e *session.Event) error {
	if err := store.CheckRewind(seq, e); err != nil {
		return err
	}
	to := e.Actions.Rewind.To
	t.mark(seq, t.spansAt(to).Rewind(seq, to))
	// The first change of a key after position "to" has noted the value that the key had at "to".
	old := map[string]jsontext.Value{}
	for i := len(t.undo) - 1; i >= 0 && t.undo[i].seq > to; i-- {
		old[t.undo[i].key] = t.undo[i].old
	}
	for key, value := range old {
		t.set(seq, key, value)
	}
	return nil
}

// frontier returns the position of the last compaction or rewind.
func (t *step) frontier() int64 {
	if len(t.marks) == 0 {
		return 0
	}
	return t.marks[len(t.marks)-1].seq
}

// mark keeps the spans after the compaction or rewind at position seq.
func (t *step) mark(seq int64, spans store.Spans) {
	before := t.marks[:len(t.marks):len(t.marks)] // the session's own, which must not change yet
	t.marks = append(before, mark{seq: seq, spans: spans})
	t.spans = spans
}

// spansAt returns the spans at the last mark at or before position seq.
func (t *step) spansAt(seq int64) store.Spans {
	for i := len(t.marks) - 1; i >= 0; i-- {
		if t.marks[i].seq <= seq {
			return t.marks[i].spans
		}
	}
	return store.Spans{}
}

// value returns the value of a state key as the step has it so far.
func (t *step) value(key string) jsontext.Value {
	if v, ok := t.values[key]; ok {
		return v
	}
	return t.m.scope(t.s, key)[key]
}

// set sets a state key by the event at position seq, and keeps what is needed to undo that.
func (t *step) set(seq int64, key string, value jsontext.Value) {
	if !session.SharedKey(key) {
		t.undo = append(t.undo, undo{seq: seq, key: key, old: t.value(key)})
	}
	if t.values == nil {
		t.values = map[string]jsontext.Value{}
	}
	t.values[key] = value
}

// commit makes the session what the step is, with the records that were added.
func (t *step) commit(records []*store.Record) {
	s := t.s
	for i, r := range records {
		s.seqs[r.ID] = s.Position + int64(i) + 1
	}
	s.Position += int64(len(records))
	s.Frontier = t.frontier()
	s.Updated = t.updated
	s.log = t.log
	s.spans = t.spans
	s.marks = t.marks
	s.undo = t.undo
	for key, value := range t.values {
		scope := t.m.scope(s, key)
		if value == nil {
			delete(scope, key)
		} else {
			scope[key] = value
		}
	}
}
