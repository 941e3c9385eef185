package memory

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// Append implements session.Service.
func (m *Service) Append(ctx context.Context, at session.At, events ...*session.Event) (int64, error) {
	records, err := store.Records(at.Key, events)
	if err != nil {
		return 0, err
	}
	if err := m.lock(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	s := m.sessions[at.Key]
	if s == nil {
		return 0, &session.KeyError{Key: at.Key, Err: session.ErrNotFound}
	}
	fresh := make([]*store.Record, 0, len(records))
	for _, r := range records {
		if seq := s.seqs[r.ID]; seq == 0 {
			fresh = append(fresh, r)
		} else if !r.Same(s.log[seq-1].data) {
			return 0, &session.EventError{Key: at.Key, ID: r.ID, Err: session.ErrIDReused}
		}
	}
	if len(fresh) > 0 {
		if err := store.CheckAt(at, s.held, s.fence, s.Position); err != nil {
			return 0, err
		}
		step := m.begin(s)
		for i, r := range fresh {
			if err := step.add(r, s.Position+int64(i)+1); err != nil {
				return 0, &session.EventError{Key: at.Key, ID: r.ID, Err: err}
			}
		}
		step.commit(fresh)
	}
	for _, r := range records {
		seq := s.seqs[r.ID]
		r.Appended(seq, s.log[seq-1].data)
	}
	return s.Position, nil
}

// step is an append in the making: it changes the session only when it commits.
type step struct {
	m       *Service
	s       *storedSession
	log     []storedEvent
	spans   store.Spans
	marks   []mark
	undo    []undo
	values  map[string]jsontext.Value // by key, what changed
	updated time.Time
}

func (m *Service) begin(s *storedSession) *step {
	return &step{m: m, s: s, log: s.log, spans: s.spans, marks: s.marks, undo: s.undo, updated: time.Now().UTC()}
}

func (t *step) add(r *store.Record, seq int64) error {
	switch e := r.Event; {
	case compaction(e) != nil:
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
		t.mark(seq, t.spans.Compact(seq, compaction(e)))
	case e.Actions.Rewind != nil:
		if err := store.CheckRewind(seq, e); err != nil {
			return err
		}
		to := e.Actions.Rewind.To
		t.mark(seq, t.spansAt(to).Rewind(seq, to))
		old := map[string]jsontext.Value{}
		for i := len(t.undo) - 1; i >= 0 && t.undo[i].seq > to; i-- {
			old[t.undo[i].key] = t.undo[i].old
		}
		for key, value := range old {
			t.set(seq, key, value)
		}
	}
	for _, c := range r.Changes {
		value, err := c.Apply(t.value(c.Key))
		if err != nil {
			return err
		}
		t.set(seq, c.Key, value)
	}
	t.log = append(t.log, storedEvent{r.Data, r.Time})
	return nil
}

func (t *step) frontier() int64 {
	if len(t.marks) == 0 {
		return 0
	}
	return t.marks[len(t.marks)-1].seq
}

func (t *step) mark(seq int64, spans store.Spans) {
	t.marks = append(t.marks[:len(t.marks):len(t.marks)], mark{seq, spans})
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

func (t *step) value(key string) jsontext.Value {
	if v, ok := t.values[key]; ok {
		return v
	}
	return t.m.scope(t.s, key)[key]
}

func (t *step) set(seq int64, key string, value jsontext.Value) {
	if own(key) {
		t.undo = append(t.undo, undo{seq, key, t.value(key)})
	}
	if t.values == nil {
		t.values = map[string]jsontext.Value{}
	}
	t.values[key] = value
}

func (t *step) commit(records []*store.Record) {
	s := t.s
	for i, r := range records {
		s.seqs[r.ID] = s.Position + int64(i) + 1
	}
	s.Position += int64(len(records))
	s.log, s.spans, s.marks, s.undo, s.Updated = t.log, t.spans, t.marks, t.undo, t.updated
	s.Frontier = t.frontier()
	for key, value := range t.values {
		if scope := t.m.scope(s, key); value == nil {
			delete(scope, key)
		} else {
			scope[key] = value
		}
	}
}

// compaction returns the event's compaction, nil if it has none or an inert one.
func compaction(e *session.Event) *session.Compaction {
	if e.Marker() {
		return e.Actions.Compaction
	}
	return nil
}

// own reports whether a state key is the session's own, which a rewind undoes.
func own(key string) bool {
	return !strings.HasPrefix(key, session.AppPrefix) && !strings.HasPrefix(key, session.UserPrefix)
}
