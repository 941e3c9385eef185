package store

import (
	"context"
	"slices"
	"sync"

	"github.com/plughook/plughook/session"
)

// A KeyedLock is a lock for each session, which callers get in the order of their arrival. A store uses it
// for the leases that one process takes. Its zero value is ready.
type KeyedLock struct {
	mu     sync.Mutex
	queues map[session.Key][]*waiter // by session: who has the lock, then who waits for it
	closed bool
}

// waiter is one call of Lock.
type waiter struct {
	granted chan error // gets nil with the lock, or the error that ends the wait
}

// Lock waits for the lock of key and returns what unlocks it, of which only the first call counts. It
// returns the context's error when that is done first, and session.ErrClosed when the KeyedLock is closed.
func (l *KeyedLock) Lock(ctx context.Context, key session.Key) (unlock func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	me := &waiter{granted: make(chan error, 1)}
	if err := l.enqueue(key, me); err != nil {
		return nil, err
	}
	leave := sync.OnceFunc(func() { l.leave(key, me) })

	// A lock that is granted already is taken, even if the context is done by now.
	select {
	case err = <-me.granted:
	default:
		select {
		case err = <-me.granted:
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

// Close ends every wait with session.ErrClosed, and those to come. Who has a lock keeps it.
func (l *KeyedLock) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	for _, queue := range l.queues {
		for _, w := range queue[1:] {
			w.granted <- session.ErrClosed
		}
	}
}

// enqueue puts a waiter at the end of the key's queue; the first one has the lock at once.
func (l *KeyedLock) enqueue(key session.Key, w *waiter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return session.ErrClosed
	}
	if l.queues == nil {
		l.queues = map[session.Key][]*waiter{}
	}
	l.queues[key] = append(l.queues[key], w)
	if len(l.queues[key]) == 1 {
		w.granted <- nil
	}
	return nil
}

// leave takes a waiter out of the key's queue. If it had the lock, the next one has it now.
func (l *KeyedLock) leave(key session.Key, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queues[key], w)
	if i < 0 {
		return
	}
	queue := slices.Delete(l.queues[key], i, i+1)
	if len(queue) == 0 {
		delete(l.queues, key)
		return
	}
	l.queues[key] = queue
	if i == 0 && !l.closed {
		queue[0].granted <- nil
	}
}
