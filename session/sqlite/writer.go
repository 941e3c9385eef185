package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/session"
)

// A request is work for the writer. do runs in a transaction, alone or after others'; it may run again
// if that transaction failed.
type request struct {
	do    func(*conn) error
	size  int  // bytes that it writes, roughly
	lease bool // it is about turns only, which need not outlive the machine
	leave bool // nobody needs to know how it ends once it is under way

	since time.Time
	state atomic.Int32 // waiting, taken by the writer, or left by its caller
	err   error
	done  chan error
}

const (
	waiting = iota
	taken
	left
)

// What one transaction takes.
const (
	batchRequests = 64
	batchBytes    = 1 << 20
)

// writer is the goroutine that writes, and its queue.
type writer struct {
	s       *Store
	c       *conn
	synced  bool // whether commits wait for the disk now
	wake    chan struct{}
	stopped chan struct{}

	mu     sync.Mutex
	queue  []*request
	closed bool
}

func newWriter(ctx context.Context, s *Store) (*writer, error) {
	w := &writer{s: s, wake: make(chan struct{}, 1), stopped: make(chan struct{}), synced: true}
	return w, patiently(ctx, s.patience, func() (err error) {
		if w.c, err = dial(s.path, "synchronous = FULL", "fullfsync = ON", "journal_size_limit = 67108864"); err != nil {
			return err
		}
		if _, err = w.c.exec("BEGIN IMMEDIATE"); err != nil { // that the file is read only shows here
			return errors.Join(err, w.c.close())
		}
		w.c.rollback()
		return nil
	})
}

// submit queues a request and waits for its end. If the context is done first, a request that is not
// under way never will be.
func (w *writer) submit(ctx context.Context, r *request) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.since, r.done = time.Now(), make(chan error, 1)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return session.ErrClosed
	}
	w.queue = append(w.queue, r)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	w.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, left) || r.leave {
			return context.Cause(ctx)
		}
		return <-r.done
	}
}

// close ends the goroutine once the queue is empty.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	close(w.wake)
	w.mu.Unlock()
	<-w.stopped
}

func (w *writer) run() {
	defer close(w.stopped)
	for range w.wake {
		for w.waiting() {
			w.commit()
		}
	}
	for w.waiting() {
		w.commit()
	}
}

// waiting reports whether there is work. It drops what was left.
func (w *writer) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, r := range w.queue {
		if r.state.Load() != left {
			w.queue[n] = r
			n++
		}
	}
	clear(w.queue[n:])
	w.queue = w.queue[:n]
	return n > 0
}

// commit runs one batch of the requests that wait.
func (w *writer) commit() {
	leases := w.onlyLeases()
	if err := w.begin(!leases); err != nil {
		if busy(err) { // one that waited for long enough says so; the others wait on
			w.giveUp(err)
			return
		}
		w.answer(w.take(false), err)
		return
	}
	batch := w.take(leases)
	if err := w.attempt(batch); err == nil {
		w.answer(batch, nil)
	} else if len(batch) == 1 {
		w.answer(batch, err)
	} else { // one of them is to blame
		for _, r := range batch {
			w.alone(r)
		}
	}
}

func (w *writer) onlyLeases() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.queue {
		if !r.lease {
			return false
		}
	}
	return true
}

// take takes the next batch from the queue.
func (w *writer) take(leases bool) []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*request
	n, size := 0, 0
	for ; n < len(w.queue) && len(batch) < batchRequests; n++ {
		r := w.queue[n]
		if leases && !r.lease || len(batch) > 0 && size+r.size > batchBytes {
			break
		}
		if r.state.CompareAndSwap(waiting, taken) {
			batch, size = append(batch, r), size+r.size
		}
	}
	w.queue = append(w.queue[:0], w.queue[n:]...)
	return batch
}

// giveUp waits a little and answers those that have waited for too long.
func (w *writer) giveUp(err error) {
	time.Sleep(time.Millisecond/4 + rand.N(2*time.Millisecond)) // callers whose context ends do not wait for it
	patience := w.s.patience
	if w.s.life.Err() != nil { // closing
		patience = min(patience, w.s.ttl)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.queue {
		if time.Since(r.since) > patience && r.state.CompareAndSwap(waiting, left) {
			r.done <- err
		}
	}
}
