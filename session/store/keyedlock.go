package store

import (
	"context"
	"sync"

	"github.com/plughook/plughook/session"
)

// A KeyedLock is a lock for each session, which callers get in the order of their arrival. A store uses it
// for the leases that one process takes. Its zero value is ready.
type KeyedLock struct {
	mu     sync.Mutex
	last   map[session.Key]chan struct{} // closed once who came last has unlocked, and all before them
	closed chan struct{}                 // closed by Close; made with last
}

// Lock waits for the lock of key and returns what unlocks it, of which only the first call counts. It
// returns the context's error when that is done first, and session.ErrClosed when the KeyedLock is closed.
func (l *KeyedLock) Lock(ctx context.Context, key session.Key) (unlock func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}

	// Stand behind who came last.
	mine := make(chan struct{})
	l.mu.Lock()
	l.begin()
	select {
	case <-l.closed:
		l.mu.Unlock()
		return nil, session.ErrClosed
	default:
	}
	before := l.last[key]
	l.last[key] = mine
	l.mu.Unlock()
	leave := sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(mine)
		if l.last[key] == mine {
			delete(l.last, key)
		}
	})
	if before == nil {
		return leave, nil
	}

	// Wait for them. Who gives up lets in those behind when it would have been let in itself.
	select {
	case <-before:
		return leave, nil
	case <-l.closed:
		return nil, session.ErrClosed
	case <-ctx.Done():
	}
	go func() {
		select {
		case <-before:
			leave()
		case <-l.closed:
		}
	}()
	return nil, context.Cause(ctx)
}

// Close ends every wait with session.ErrClosed, and those to come. Who has a lock keeps it.
func (l *KeyedLock) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}

// begin makes what the zero value lacks.
func (l *KeyedLock) begin() {
	if l.last == nil {
		l.last = map[session.Key]chan struct{}{}
		l.closed = make(chan struct{})
	}
}
