package store

import (
	"context"
	"sync"

	"github.com/plughook/plughook/session"
)

// A KeyedLock lets goroutines take turns by key, first come, first served. Services use it for turns
// within a process. Its zero value is ready.
type KeyedLock struct {
	mu     sync.Mutex
	lines  map[session.Key][]*waiter // the first has the turn
	closed bool
}

type waiter struct{ called chan error }

// Wait waits for the turn on key and returns what gives it back, or the context's error, or ErrClosed.
func (q *KeyedLock) Wait(ctx context.Context, key session.Key) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	me := &waiter{make(chan error, 1)}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, session.ErrClosed
	}
	if q.lines == nil {
		q.lines = map[session.Key][]*waiter{}
	}
	q.lines[key] = append(q.lines[key], me)
	if len(q.lines[key]) == 1 {
		me.called <- nil
	}
	q.mu.Unlock()
	leave := sync.OnceFunc(func() { q.leave(key, me) })
	select {
	case err = <-me.called:
	default:
		select {
		case err = <-me.called:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// Close ends every wait with ErrClosed, those to come too. Who has a turn keeps it.
func (q *KeyedLock) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	for _, line := range q.lines {
		for _, w := range line[1:] {
			w.called <- session.ErrClosed
		}
	}
}

func (q *KeyedLock) leave(key session.Key, me *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[key]
	for i, w := range line {
		if w != me {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		if q.lines[key] = line; len(line) == 0 {
			delete(q.lines, key)
		} else if i == 0 && !q.closed {
			line[0].called <- nil
		}
		return
	}
}
