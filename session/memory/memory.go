// Package memory keeps sessions in the memory of one process: for tests, and for runs that nobody wants
// to keep. It is the shortest example of how the pieces of package store make a session.Service.
//
// A new field of a session: storedSession, and snapshot, which copies it. A new effect of an append: step,
// which computes it, and step.commit, which makes it the session's.
package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// A Service is a session.Service that keeps everything in memory, encoded. It serves one process.
type Service struct {
	mu       sync.Mutex
	closed   bool
	done     chan struct{} // closed with the service
	sessions map[session.Key]*storedSession
	order    []*storedSession                     // of their creation
	shared   map[string]map[string]jsontext.Value // "app:" and "user:" keys by owner
	leases   store.KeyedLock
	watchers store.Watchers[*storedSession]
	notices  map[noticeKey]notice
	made     int64 // sessions: the last one's number
	fence    int64 // the last lease's, of any session: a deleted session's never count again
}

// New returns an empty Service.
func New() *Service {
	return &Service{
		done:     make(chan struct{}),
		sessions: map[session.Key]*storedSession{},
		shared:   map[string]map[string]jsontext.Value{},
		notices:  map[noticeKey]notice{},
	}
}

// storedSession is a session with its log. It is guarded by Service.mu.
type storedSession struct {
	session.Session
	initial []store.Change
	log     []storedEvent
	seqs    map[string]int64 // positions by event ID
	spans   store.Spans
	marks   []mark                    // ascending
	state   map[string]jsontext.Value // the session's own keys
	undo    []undo                    // ascending
	fence   int64                     // of the last lease
	lease   *lease                    // the lease that somebody holds, or nil
}

// storedEvent is an event as it is kept: encoded, so that nobody can change it.
type storedEvent struct {
	data []byte
	time time.Time
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
	old jsontext.Value
}

// Create implements session.Service.
func (m *Service) Create(ctx context.Context, key session.Key, state map[string]any) (*session.Session, error) {
	key, initial, err := store.Create(key, state)
	if err != nil {
		return nil, err
	}
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if m.sessions[key] != nil {
		return nil, &session.KeyError{Key: key, Err: session.ErrExists}
	}
	now := time.Now().UTC()
	m.made++
	s := &storedSession{
		Session: session.Session{Key: key, Number: m.made, Created: now, Updated: now},
		initial: initial,
		seqs:    map[string]int64{},
		state:   map[string]jsontext.Value{},
	}
	for _, c := range initial {
		m.scope(s, c.Key)[c.Key] = c.Value
	}
	m.sessions[key] = s
	m.order = append(m.order, s)
	return m.snapshot(s, true)
}

// lock locks mu, unless the context is done or the store is closed.
func (m *Service) lock(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return session.ErrClosed
	}
	return nil
}

// find locks mu as lock does and returns a session. On an error mu is not locked.
func (m *Service) find(ctx context.Context, key session.Key) (*storedSession, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	s := m.sessions[key]
	if s == nil {
		m.mu.Unlock()
		return nil, store.NotFound(key)
	}
	return s, nil
}

// scope returns the map that holds a key of the session's state.
func (m *Service) scope(s *storedSession, key string) map[string]jsontext.Value {
	owner := store.Owner(s.Key, key)
	if owner == "" {
		return s.state
	}
	if m.shared[owner] == nil {
		m.shared[owner] = map[string]jsontext.Value{}
	}
	return m.shared[owner]
}

// SetTimes implements session.Service.
func (m *Service) SetTimes(ctx context.Context, key session.Key, created, updated time.Time) error {
	if err := errors.Join(session.CheckTime(created), session.CheckTime(updated)); err != nil {
		return err
	}
	s, err := m.find(ctx, key)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	if !created.IsZero() {
		s.Created = created.UTC()
	}
	if !updated.IsZero() {
		s.Updated = updated.UTC()
	}
	return nil
}

// Delete implements session.Service.
func (m *Service) Delete(ctx context.Context, key session.Key) error {
	s, err := m.find(ctx, key)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(m.sessions, key)
	m.order = slices.DeleteFunc(m.order, func(o *storedSession) bool { return o == s })
	maps.DeleteFunc(m.notices, func(key noticeKey, _ notice) bool { return key.session == s })
	m.watchers.Deleted(s)
	return nil
}

// Close implements session.Service.
func (m *Service) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		close(m.done)
	}
	m.closed = true
	m.leases.Close()
	m.watchers.Close()
	return nil
}
