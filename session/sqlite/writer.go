package sqlite

import (
	"context"
	"errors"
	"io/fs"
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
	lease bool // it is about leases only, which need not outlive the machine
	leave bool // nobody needs to know how it ends once it is under way

	since time.Time
	state atomic.Int32 // waiting, taken by the writer, or left by its caller
	err   error
	done  chan error
}

// The states of a request.
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
	s      *Store
	c      *conn
	synced bool // whether commits wait for the disk now

	pageSize int64
	logSize  int64 // length of the log when it was last looked at

	wake    chan struct{}
	stopped chan struct{}

	mu     sync.Mutex
	queue  []*request
	closed bool
}

func newWriter(ctx context.Context, s *Store) (*writer, error) {
	w := &writer{
		s:       s,
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
		synced:  true,
	}
	return w, patiently(ctx, s.patience, func() (err error) {
		// Note the identity of the database file before it is opened. Its log and the log's index are noted
		// after: opening makes them. So the guard never checks another file than the one that is written to.
		if err = s.guard.look(database); err != nil {
			return err
		}
		// What is deleted is overwritten, and does not stay in the file's free pages.
		if w.c, err = dial(s.path, "synchronous = FULL", "fullfsync = ON", "journal_size_limit = 67108864",
			"secure_delete = ON"); err != nil {
			return err
		}
		_, err = w.c.exec("BEGIN IMMEDIATE") // that the file is read only shows here
		if err == nil {
			w.c.rollback()
			_, err = w.c.row("PRAGMA page_size", nil, &w.pageSize)
		}
		for _, file := range []int{log, index} {
			if err == nil {
				err = s.guard.look(file)
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // of an earlier store of this process, which SQLite goes on using
			err = errMoved
		}
		if err != nil {
			return errors.Join(err, w.c.close())
		}
		return nil
	})
}

// submit queues a request and waits for its end. If the context is done first, a request that is not
// under way never will be.
func (w *writer) submit(ctx context.Context, r *request) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.since = time.Now()
	r.done = make(chan error, 1)
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

// run is the goroutine: it commits what waits, until the writer is closed and nothing is left.
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

// commit runs one batch of the requests that wait, in one transaction.
func (w *writer) commit() {
	// Begin before the batch is taken: while another process has the lock, requests go on to arrive.
	// A lease need not outlive the machine, so a batch of nothing else does not wait for the disk.
	leases := w.onlyLeases()
	if err := w.begin(!leases); err != nil {
		if busy(err) {
			w.giveUp(err) // only those that have waited for long enough; the others wait on
		} else {
			w.answer(w.take(false), err)
		}
		return
	}
	batch := w.take(leases)
	err := w.attempt(batch)
	if err == nil || len(batch) == 1 {
		w.answer(batch, err)
		return
	}
	// The database failed at one request of the batch. The others need not fail: each now gets a transaction
	// of its own.
	for _, r := range batch {
		w.alone(r)
	}
}

// onlyLeases reports whether all that waits is about leases.
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

// take takes the next batch from the queue: those about leases at its front, or what fits.
func (w *writer) take(leases bool) []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*request
	size := 0
	n := 0
	for ; n < len(w.queue) && len(batch) < batchRequests; n++ {
		r := w.queue[n]
		if leases && !r.lease || len(batch) > 0 && size+r.size > batchBytes {
			break
		}
		if r.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, r)
			size += r.size
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

// begin begins a transaction, durable on request.
func (w *writer) begin(durable bool) error {
	if err := w.intact(); err != nil {
		return err
	}
	if durable != w.synced {
		mode := "PRAGMA synchronous = NORMAL"
		if durable {
			mode = "PRAGMA synchronous = FULL"
		}
		if _, err := w.c.exec(mode); err != nil {
			return err
		}
		w.synced = durable
	}
	_, err := w.c.exec("BEGIN IMMEDIATE")
	return err
}

// attempt runs a batch in the transaction that was begun, and ends that. A request that is refused has
// no effect on the others. If the database fails, nothing of the batch has happened.
func (w *writer) attempt(batch []*request) error {
	if len(batch) == 1 { // no savepoint needed
		r := batch[0]
		r.err = r.do(w.c)
		if r.err != nil {
			w.c.rollback()
			if broken(r.err) {
				return r.err
			}
			return nil
		}
	} else {
		for _, r := range batch {
			if err := w.step(r); err != nil {
				w.c.rollback()
				return err
			}
		}
	}
	_, err := w.c.exec("COMMIT")
	if err != nil {
		w.c.rollback()
		return err
	}
	return w.intact()
}

// step runs a request as a part of a transaction that goes on if the request is refused.
func (w *writer) step(r *request) error {
	if _, err := w.c.exec("SAVEPOINT request"); err != nil {
		return err
	}
	r.err = r.do(w.c)
	if broken(r.err) {
		return r.err
	}
	if r.err != nil {
		if _, err := w.c.exec("ROLLBACK TO request"); err != nil {
			return err
		}
	}
	_, err := w.c.exec("RELEASE request")
	return err
}

// answer tells the callers how it ended: each its own way if err is nil.
func (w *writer) answer(batch []*request, err error) {
	for _, r := range batch {
		if err != nil {
			r.err = err
		}
		r.done <- r.err
	}
}

// alone runs a request of a batch that failed, in a transaction of its own.
func (w *writer) alone(r *request) {
	err := patiently(context.Background(), w.s.patience, func() error { return w.begin(!r.lease) })
	if err == nil {
		err = w.attempt([]*request{r})
	}
	w.answer([]*request{r}, err)
}
