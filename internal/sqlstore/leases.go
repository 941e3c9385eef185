package sqlstore

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// A LeaseID names a lease: by the number of its session, and by its fence.
type LeaseID struct {
	Session int64
	Fence   int64
}

// A LeaseTable keeps the leases of all processes in a database. A lease that is not renewed runs out by
// itself.
type LeaseTable interface {
	// TakeLease takes a session's lease, if nobody holds it. waited says that somebody held it a moment ago.
	TakeLease(ctx context.Context, key session.Key, holder string, waited bool) (id LeaseID, taken bool, err error)
	// RenewLease gives a lease its whole time again. It reports whether the lease is still the holder's, and
	// whether the holder was asked to end.
	RenewLease(ctx context.Context, id LeaseID) (held, cancelled bool, err error)
	// GiveBackLease makes a lease free. If the database cannot be told, the lease runs out.
	GiveBackLease(id LeaseID)

	// CancelLease notes beside the lease of a holder that they are to end. If fence is not 0, only the lease
	// with that fence is meant. found is false if the holder has no such lease.
	CancelLease(ctx context.Context, key session.Key, holder string, fence int64) (id LeaseID, found bool, err error)
	// LeaseState reports whether a lease was not given back and nobody has taken it, and whether its time
	// goes on.
	LeaseState(ctx context.Context, id LeaseID) (held, running bool, err error)
	// TakeAwayLease makes a lease free under a fence of nobody: what its holder appends is refused.
	TakeAwayLease(ctx context.Context, id LeaseID) error
}

// Leases are the leases that this process holds, and the queues of those who wait for one. They are what a
// store needs for session.Service's Lease and Cancel.
type Leases struct {
	// Table keeps the leases.
	Table LeaseTable
	// Time is how long a lease outlives its holder. It is renewed three times in it.
	Time time.Duration
	// Enter begins an operation of the store. Its context is done when the store is closed, too.
	Enter func(context.Context) (_ context.Context, leave func(), err error)

	queues   store.KeyedLock // of those who wait in this process, by session
	mu       sync.Mutex
	held     map[*lease]struct{}
	closed   bool
	renewals sync.WaitGroup // renewals; added to under mu, while not closed
}

// lease is a lease that a caller of this process holds. A goroutine renews it.
type lease struct {
	id     LeaseID
	key    session.Key
	holder string

	stop    context.CancelFunc // ends the renewals
	stopped chan struct{}      // closed once they have ended

	lost    chan struct{}
	lose    func() // closes lost, and lets in who waits in this process
	asked   chan struct{}
	ask     func() // closes asked: the holder is asked to end
	release func()
}

// Lease implements session.Service. In this process callers get a lease in the order of their arrival. While
// another process holds it, the first of them tries again every few milliseconds.
func (l *Leases) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	if err := session.CheckHolder(holder); err != nil {
		return nil, err
	}
	ctx, leave, err := l.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if key.Check(false) != nil {
		return nil, store.NotFound(key)
	}
	// Wait for those of this process who came before, then for other processes.
	next, err := l.queues.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	for waited := false; ; waited = true {
		tried := time.Now()
		id, taken, err := l.Table.TakeLease(ctx, key, holder, waited)
		if taken {
			return l.hold(id, key, holder, tried.Add(l.Time), next)
		}
		if err == nil {
			err = pause(ctx)
		}
		if err != nil {
			next()
			return nil, err
		}
	}
}

// hold makes a session.Lease of a lease that was taken, and renews it until it is released. It has to be
// renewed by the time until. next lets in who waits in this process.
func (l *Leases) hold(id LeaseID, key session.Key, holder string, until time.Time, next func()) (*session.Lease, error) {
	ctx, stop := context.WithCancel(context.Background())
	h := &lease{
		id:      id,
		key:     key,
		holder:  holder,
		stop:    stop,
		stopped: make(chan struct{}),
		lost:    make(chan struct{}),
		asked:   make(chan struct{}),
	}
	h.ask = sync.OnceFunc(func() { close(h.asked) })
	h.lose = sync.OnceFunc(func() {
		close(h.lost)
		next()
	})
	h.release = sync.OnceFunc(func() {
		h.stop()
		<-h.stopped
		l.Table.GiveBackLease(id)
		next()
		l.mu.Lock()
		delete(l.held, h)
		l.mu.Unlock()
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		stop()
		l.Table.GiveBackLease(id)
		next()
		return nil, session.ErrClosed
	}
	if l.held == nil {
		l.held = map[*lease]struct{}{}
	}
	l.held[h] = struct{}{}
	l.renewals.Go(func() { l.renew(ctx, h, until) })
	return &session.Lease{Fence: id.Fence, Lost: h.lost, Cancelled: h.asked, Release: h.release}, nil
}

// renew renews a lease until the context is done or the lease is lost. It asks the holder to end when another
// process wants that. A process that stood still until the lease's time was out looks whether the lease is
// still its own: it is if nobody took it meanwhile.
func (l *Leases) renew(ctx context.Context, h *lease, until time.Time) {
	defer close(h.stopped)
	interval := l.Time / 3
	retry := l.Time / 30 // how soon again after a renewal that failed
	next := time.NewTimer(min(interval, time.Until(until)))
	defer next.Stop()
	failed := false // the last renewal
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.lost: // taken away in this process
			return
		case <-next.C:
		}

		// Renew it before its time is out. If that is past, try once more, for as long as from one renewal to
		// the next.
		began := time.Now()
		late := !began.Before(until)
		if late && failed {
			h.lose()
			return
		}
		end := until
		if late {
			end = began.Add(interval)
		}
		attempt, cancel := context.WithDeadline(ctx, end)
		held, cancelled, err := l.Table.RenewLease(attempt, h.id)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !held, err != nil && late: // it is another's by now, or may be
			h.lose()
			return
		case err == nil:
			if cancelled {
				h.ask()
			}
			failed = false
			until = began.Add(l.Time)
			next.Reset(min(interval, time.Until(until)))
		default:
			failed = time.Since(until) < retry // else this process stood still, and not the database
			next.Reset(min(retry, time.Until(until)))
		}
	}
}

// Cancel implements session.Service. A holder in another process sees the request when it renews its lease.
func (l *Leases) Cancel(ctx context.Context, key session.Key, holder string) error {
	if err := session.CheckHolder(holder); err != nil {
		return err
	}
	ctx, leave, err := l.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if key.Check(false) != nil {
		return store.NotFound(key)
	}
	grace := time.NewTimer(session.CancelGrace)
	defer grace.Stop()

	// Ask the holder to end: in this process at once, in another one by a note beside the lease. If the
	// holder is in this process, only that lease is meant.
	fence := int64(0)
	for _, h := range l.of(key) {
		if h.holder == holder {
			h.ask()
			select {
			case <-h.lost: // another process may have it by now, under the same name
			default:
				fence = max(fence, h.id.Fence)
			}
		}
	}
	id, found, err := l.Table.CancelLease(ctx, key, holder, fence)
	if err != nil || !found {
		return err
	}

	// Wait until the lease is given back, or another's. If its time has run out, its holder died, or is late
	// and could still append: then it is taken away at once.
	for waiting := true; waiting; {
		for _, h := range l.of(key) { // one that was being taken may be known only now
			if h.id == id {
				h.ask()
			}
		}
		if err := pause(ctx); err != nil {
			return err
		}
		held, running, err := l.Table.LeaseState(ctx, id)
		if err != nil || !held {
			return err
		}
		select {
		case <-grace.C:
			waiting = false
		default:
			waiting = running
		}
	}

	// Take it away.
	if err := l.Table.TakeAwayLease(ctx, id); err != nil {
		return err
	}
	for _, h := range l.of(key) {
		if h.id == id {
			h.lose()
		}
	}
	return nil
}

// of returns this process's leases on a session. There are several if the older ones are lost.
func (l *Leases) of(key session.Key) []*lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*lease
	for h := range l.held {
		if h.key == key {
			list = append(list, h)
		}
	}
	return list
}

// Close ends the leases of a store that is being closed: their holders learn that they are lost, and the
// leases are given back. Who waits for a lease is to have given up by Enter's context.
func (l *Leases) Close() {
	l.mu.Lock()
	l.closed = true
	held := slices.Collect(maps.Keys(l.held))
	l.mu.Unlock()
	for _, h := range held {
		h.lose()
		h.release()
	}
	l.renewals.Wait()
}

// Abandon ends the renewals of every lease and gives none back, as the death of the process would. It is for
// tests.
func (l *Leases) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for h := range l.held {
		h.stop()
		<-h.stopped
	}
}

// pause waits between 5 and 25 ms, so that many who wait do not ask at once, or until the context is done.
func pause(ctx context.Context) error {
	t := time.NewTimer(5*time.Millisecond + rand.N(20*time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
