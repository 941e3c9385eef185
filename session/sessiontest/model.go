package sessiontest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// A model is the simplest thing that behaves as a store must: it keeps logs and computes the rest anew
// each time.
type model struct {
	sessions map[session.Key]*modelSession
	shared   map[string]map[string]any // "app:" and "user:" keys by owner
}

type modelSession struct {
	initial map[string]any
	log     []*session.Event
	fence   int64 // of the lease that is held, or 0
}

func newModel() *model {
	return &model{
		sessions: map[session.Key]*modelSession{},
		shared:   map[string]map[string]any{},
	}
}

func (m *model) create(key session.Key, state map[string]any) {
	initial := map[string]any{}
	for k, v := range state {
		if v != nil && !strings.HasPrefix(k, session.TempPrefix) {
			initial[k] = v
			m.set(key, k, v)
		}
	}
	m.sessions[key] = &modelSession{initial: initial}
}

// owned returns the map of the app's or the user's keys, nil for the session's own and for "temp:".
func (m *model) owned(key session.Key, k string) map[string]any {
	owner := store.Owner(key, k)
	if owner == "" {
		return nil
	}
	if m.shared[owner] == nil {
		m.shared[owner] = map[string]any{}
	}
	return m.shared[owner]
}

func (m *model) set(key session.Key, k string, v any) {
	switch of := m.owned(key, k); {
	case of == nil:
	case v == nil:
		delete(of, k)
	default:
		of[k] = v
	}
}

func (m *model) state(key session.Key) map[string]any {
	s := m.sessions[key]
	state := session.State(s.initial, s.log)
	maps.Copy(state, m.owned(key, session.AppPrefix))
	maps.Copy(state, m.owned(key, session.UserPrefix))
	return state
}

// append appends a batch, unless something is wrong with it. It returns all that is wrong: a store may return
// any of these errors.
func (m *model) append(at session.AppendTarget, batch []*session.Event) (wrong []error) {
	s := m.sessions[at.Key]
	if s == nil {
		return []error{session.ErrNotFound}
	}
	log := slices.Clone(s.log)
	before := len(s.log)
	shared := map[string]map[string]any{}
	for owner, of := range m.shared {
		shared[owner] = maps.Clone(of)
	}
	next := &model{shared: shared}
	for _, e := range batch {
		if e.Partial {
			continue
		}
		if i := slices.IndexFunc(log, func(o *session.Event) bool { return o.ID == e.ID }); i >= 0 {
			if content(log[i]) != content(e) {
				wrong = append(wrong, session.ErrIDReused)
			}
			continue
		}
		if !next.valid(at.Key, log, e) {
			wrong = append(wrong, session.ErrInvalid)
		}
		e = e.Clone()
		e.Seq = int64(len(log)) + 1
		_, e.Actions.StateDelta = store.SplitTemp(e.Actions.StateDelta)
		log = append(log, e)
		for k, by := range e.Actions.StateIncrement {
			n, _ := next.owned(at.Key, k)[k].(float64)
			if bound, ok := e.Actions.StateBound[k]; ok && by > 0 && n+by > bound {
				wrong = append(wrong, session.ErrBound)
			}
			next.set(at.Key, k, n+by)
		}
		for k, v := range e.Actions.StateDelta {
			next.set(at.Key, k, v)
		}
	}
	if len(log) > before {
		if at.Fence != s.fence {
			wrong = append(wrong, session.ErrFenced)
		} else if at.After != int64(before) {
			wrong = append(wrong, session.ErrConflict)
		}
	}
	if wrong == nil {
		s.log = log
		m.shared = shared
	}
	return wrong
}

// content returns what makes two events with one ID the same.
func content(e *session.Event) string {
	e = e.Clone()
	e.Seq = 0
	e.Timestamp = time.Time{}
	e.Actions.StateBound = nil // a condition of the append, not a part of the event
	_, e.Actions.StateDelta = store.SplitTemp(e.Actions.StateDelta)
	data, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// valid says whether the event may follow the log.
func (m *model) valid(key session.Key, log []*session.Event, e *session.Event) bool {
	for k := range e.Actions.StateIncrement {
		of := m.owned(key, k)
		if of == nil {
			return false
		}
		if _, number := of[k].(float64); of[k] != nil && !number {
			return false
		}
	}
	seq := int64(len(log)) + 1
	switch {
	case e.Actions.Rewind != nil:
		return store.CheckRewind(seq, e) == nil
	case e.Marker():
		return store.CheckCompaction(session.Live(log), logtest.Frontier(log), seq, e) == nil
	}
	return true
}
