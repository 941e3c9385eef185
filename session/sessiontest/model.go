package sessiontest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

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
	owner := ""
	switch {
	case strings.HasPrefix(k, session.AppPrefix):
		owner = "app " + key.App
	case strings.HasPrefix(k, session.UserPrefix):
		owner = "user " + key.App + " " + key.User
	default:
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

// append appends a batch if nothing is wrong with it, and returns what is: the error is one of these.
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
	if r := e.Actions.Rewind; r != nil {
		return r.To >= 0 && r.To < seq && e.Content == nil && len(e.Actions.StateDelta) == 0
	}
	c := e.Actions.Compaction
	if c == nil || c.Through == 0 {
		return true
	}
	live := session.Live(log)
	covered := covers(live, c)
	if c.Through < 1 || c.Through >= seq || c.Frontier != lastMarker(log) || len(covered) == 0 || !slices.IsSorted(c.Keep) {
		return false
	}
	for i, k := range c.Keep {
		j := slices.IndexFunc(live, func(e *session.Event) bool { return e.Seq == k })
		if k > c.Through || j < 0 || live[j].Marker() || i > 0 && c.Keep[i-1] == k {
			return false
		}
	}
	if live[0].Marker() && live[0].Actions.Compaction.Through > c.Through {
		return false
	}
	groups, closed := together(live)
	for i, group := range groups {
		for _, seq := range group {
			if covered[seq] != (closed[i] && covered[group[0]]) {
				return false
			}
		}
	}
	return true
}

// covers returns the positions of the live events that a compaction newly stands for.
func covers(live []*session.Event, c *session.Compaction) map[int64]bool {
	covered := map[int64]bool{}
	for _, e := range live {
		if e.Seq <= c.Through && !e.Marker() && !slices.Contains(c.Keep, e.Seq) {
			covered[e.Seq] = true
		}
	}
	return covered
}

func lastMarker(log []*session.Event) int64 {
	for _, e := range slices.Backward(log) {
		if e.Marker() {
			return e.Seq
		}
	}
	return 0
}

// A modelCall is a function call of a live view and the positions of what belongs to it.
type modelCall struct {
	id, branch string
	call       int64
	response   int64   // 0 while it is open
	about      []int64 // while it is open: itself, what says that it is answered later, the question about it and the decision
	later      bool
	held       int // index in about of the question, 0 if there is none
	decision   int
}

// modelCalls follows each call through the events after it.
func modelCalls(live []*session.Event) (list []*modelCall) {
	// about returns the call that an event is about: the latest in the event's branch, or else in any.
	about := func(e *session.Event, id string, fits func(*modelCall) bool) *modelCall {
		var own, all *modelCall
		for _, c := range list {
			if c.id == id && c.response == 0 && fits(c) {
				if all = c; c.branch == e.Branch {
					own = c
				}
			}
		}
		if own == nil || e.Author == session.User && e.Branch == "" {
			return all
		}
		return own
	}
	any := func(*modelCall) bool { return true }
	for _, e := range live {
		for _, c := range e.FunctionCalls() {
			list = append(list, &modelCall{id: c.ID, branch: e.Branch, call: e.Seq, about: []int64{e.Seq}})
		}
		for _, r := range e.FunctionResponses() {
			if c := about(e, r.ID, any); c != nil {
				c.response = e.Seq
			}
		}
		for _, id := range e.LongRunningToolIDs {
			if c := about(e, id, any); c != nil && !c.later {
				c.later = true
				c.about = append(c.about, e.Seq)
			}
		}
		for id := range e.Actions.RequestedToolConfirmations {
			if e.Author != session.User {
				if c := about(e, id, any); c != nil {
					if c.held > 0 { // a new question
						c.about[c.held] = c.call
					}
					if c.decision > 0 {
						c.about[c.decision] = c.call
					}
					c.held = len(c.about)
					c.decision = 0
					c.about = append(c.about, e.Seq)
				}
			} else if c := about(e, id, func(c *modelCall) bool { return c.held > 0 && c.decision == 0 }); c != nil {
				c.decision = len(c.about)
				c.about = append(c.about, e.Seq)
			}
		}
	}
	return list
}

// together returns, for each call, the positions of live events that a compaction covers all or none of, and
// whether it may cover them: not while the call is open, nor what the agent that is to answer it has said.
func together(live []*session.Event) (groups [][]int64, closed []bool) {
	for _, c := range modelCalls(live) {
		group := []int64{c.call, c.response}
		if c.response == 0 {
			group = slices.Clone(c.about)
			for _, e := range live {
				if c.answeredIn(e.Branch) {
					group = append(group, e.Seq)
				}
			}
		}
		groups = append(groups, group)
		closed = append(closed, c.response != 0)
	}
	return groups, closed
}

// answeredIn reports whether a branch is the one in which an agent answers the call, "agent@id" below the caller's,
// or below that.
func (c *modelCall) answeredIn(branch string) bool {
	path := strings.Split(branch, ".")
	own := strings.Split(c.branch, ".")
	if c.branch == "" {
		own = nil
	}
	if len(path) <= len(own) || !slices.Equal(path[:len(own)], own) {
		return false
	}
	_, id, callee := strings.Cut(path[len(own)], "@")
	return callee && id == c.id && c.id != ""
}
