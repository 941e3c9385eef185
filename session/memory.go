package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Memory is a Service that keeps everything in memory, encoded. It serves one process: for tests, and
// for runs that nobody wants to keep.
type Memory struct {
	mu       sync.Mutex
	closed   bool
	sessions map[Key]*memorySession
	order    []*memorySession
	shared   map[string]map[string]jsontext.Value // "app:" and "user:" keys by owner
	turns    KeyedLock
	fence    int64 // the last turn's, of any session: a deleted session's never count again
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{sessions: map[Key]*memorySession{}, shared: map[string]map[string]jsontext.Value{}}
}

// memorySession is guarded by Memory.mu.
type memorySession struct {
	Session
	initial []Change
	log     []memoryEvent
	seqs    map[string]int64 // by event ID
	spans   Spans
	marks   []memoryMark // ascending
	state   map[string]jsontext.Value
	undo    []memoryUndo // ascending
	fence   int64
	held    bool
}

type memoryEvent struct {
	data []byte
	time time.Time
}

// memoryMark has the spans after the compaction or rewind at seq.
type memoryMark struct {
	seq   int64
	spans Spans
}

// memoryUndo says what key was before the event at seq, nil if it was not.
type memoryUndo struct {
	seq int64
	key string
	old jsontext.Value
}

// Create implements Service.
func (m *Memory) Create(ctx context.Context, key Key, state map[string]any) (*Session, error) {
	if err := key.Check(true); err != nil {
		return nil, err
	}
	if key.ID == "" {
		key.ID = NewID()
	}
	initial, err := Initial(state)
	if err != nil {
		return nil, err
	}
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if m.sessions[key] != nil {
		return nil, &KeyError{key, ErrExists}
	}
	now := time.Now().UTC()
	s := &memorySession{Session: Session{Key: key, Created: now, Updated: now}, initial: initial,
		seqs: map[string]int64{}, state: map[string]jsontext.Value{}}
	for _, c := range initial {
		m.scope(s, c.Key)[c.Key] = c.Value
	}
	m.sessions[key] = s
	m.order = append(m.order, s)
	return m.snapshot(s, true)
}

// lock locks mu, unless the context is done or the store is closed.
func (m *Memory) lock(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// scope returns the map that holds a key of the session's state.
func (m *Memory) scope(s *memorySession, key string) map[string]jsontext.Value {
	owner := Owner(s.Key, key)
	if owner == "" {
		return s.state
	}
	if m.shared[owner] == nil {
		m.shared[owner] = map[string]jsontext.Value{}
	}
	return m.shared[owner]
}

// Delete implements Service.
func (m *Memory) Delete(ctx context.Context, key Key) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil {
		return &KeyError{key, ErrNotFound}
	}
	delete(m.sessions, key)
	m.order = slices.DeleteFunc(m.order, func(o *memorySession) bool { return o == s })
	return nil
}

// Lease implements Service.
func (m *Memory) Lease(ctx context.Context, key Key) (*Lease, error) {
	release, err := m.turns.Wait(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := m.lock(ctx); err != nil {
		release()
		return nil, err
	}
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil {
		release()
		return nil, &KeyError{key, ErrNotFound}
	}
	m.fence++
	s.fence, s.held = m.fence, true
	return &Lease{Fence: s.fence, Release: sync.OnceFunc(func() {
		m.mu.Lock()
		s.held = false
		m.mu.Unlock()
		release()
	})}, nil
}

// Close implements Service.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.turns.Close()
	return nil
}
