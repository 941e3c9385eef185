package sqlite

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// errHeld: another process has the lease.
var errHeld = errors.New("the lease is held")

// lease is a lease that a caller of this store holds. A goroutine renews it in the file.
type lease struct {
	s       *Store
	key     session.Key
	holder  string
	sid     int64
	fence   int64
	lost    chan struct{}
	lose    func() // closes lost, and lets in who waits in this process
	asked   chan struct{}
	ask     func()             // closes asked: the holder is asked to end
	end     context.CancelFunc // ends the goroutine
	ended   chan struct{}      // closed when the goroutine has ended
	release func()
}

// Lease implements session.Service. In this process callers queue up; while another process holds the
// lease, the first of them looks again every few milliseconds. A lease lasts for three seconds and is
// renewed every second; its Lost is closed when that failed for three seconds, when another took the lease,
// when the session was deleted, or when the store was closed. A process that stood still for longer keeps its lease
// if nobody took it meanwhile.
func (s *Store) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	if err := session.CheckHolder(holder); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	// Wait for those of this process who came before, then for other processes.
	next, err := s.queues.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	l := &lease{
		s:      s,
		key:    key,
		holder: holder,
		lost:   make(chan struct{}),
		asked:  make(chan struct{}),
		ended:  make(chan struct{}),
	}
	until, err := l.take(ctx)
	if err != nil {
		next()
		return nil, err
	}
	l.ask = sync.OnceFunc(func() { close(l.asked) })
	l.lose = sync.OnceFunc(func() {
		close(l.lost)
		next()
	})
	l.release = sync.OnceFunc(func() {
		l.finish()
		next()
	})

	// Renew it until its release.
	life, end := context.WithCancel(context.Background())
	l.end = end
	s.mu.Lock()
	s.leases[l] = struct{}{}
	s.mu.Unlock()
	go l.keep(life, until)
	return &session.Lease{Fence: l.fence, Lost: l.lost, Cancelled: l.asked, Release: l.release}, nil
}

// take waits until no other process holds the lease, and takes it. It returns the time by which the lease
// must be renewed.
func (l *lease) take(ctx context.Context) (until time.Time, err error) {
	s := l.s
	for {
		// Take it, if nobody holds it.
		asked := time.Now()
		err := s.writer.submit(ctx, &request{lease: true, do: func(c *conn) error {
			r, err := find(c, l.key)
			if err != nil {
				return err
			}
			if r.lease.held(s.ttl) {
				return errHeld
			}
			l.sid = r.sid
			l.fence = r.lease.fence + 1
			_, err = c.exec(`UPDATE sessions SET turns = turns + 1, lease_until = ?, lease_wall = ?, lease_clock = ?,
				lease_holder = ?, lease_cancelled = 0 WHERE sid = ?`,
				ticks()+int64(s.ttl), wall()+int64(s.ttl), clockID(), l.holder, l.sid)
			return err
		}})
		if err == nil {
			return asked.Add(s.ttl), nil
		}
		if err != errHeld {
			return time.Time{}, s.explain(err)
		}
		// Look again and again until it is free. To look takes no write lock.
		for held := true; held; {
			if err := pause(ctx, 5*time.Millisecond, 25*time.Millisecond); err != nil {
				return time.Time{}, err
			}
			err := s.view(ctx, func(c *conn) error {
				r, err := find(c, l.key)
				held = err == nil && r.lease.held(s.ttl)
				return err
			})
			if err != nil {
				return time.Time{}, err
			}
		}
	}
}

// keep renews the lease until life ends, or the lease is lost. It asks the holder to end when another process
// wants that. A process that stood still until the lease's time was out looks whether the lease is still its own:
// it is if nobody took it meanwhile.
func (l *lease) keep(life context.Context, until time.Time) {
	defer close(l.ended)
	pause := l.s.ttl / 3
	tick := time.NewTicker(pause)
	defer tick.Stop()
	out := time.NewTimer(time.Until(until))
	defer out.Stop()
	failed := false // a renewal, since the last one that did not
	for {
		select {
		case <-life.Done():
			return
		case <-l.lost: // taken away in this process
			return
		case <-out.C:
		case <-tick.C:
		}

		// Renew it before its time is out. If that is past, try once more, for as long as from one renewal to the next.
		asked := time.Now()
		late := !asked.Before(until)
		if late && failed {
			l.lose()
			return
		}
		end := until
		if late {
			end = asked.Add(pause)
		}
		ctx, cancel := context.WithDeadline(life, end)
		mine, cancelled, err := l.renew(ctx)
		cancel()
		switch {
		case life.Err() != nil:
			return
		case err == nil && !mine, err != nil && late:
			l.lose()
			return
		case err == nil:
			if cancelled {
				l.ask()
			}
			failed = false
			until = asked.Add(l.s.ttl)
		default:
			failed = time.Since(until) < pause/10 // else this process stood still, and not the store
		}
		out.Reset(time.Until(until))
	}
}

// renew renews the lease. It reports whether the lease is still ours, and whether its holder is to end.
func (l *lease) renew(ctx context.Context) (mine, cancelled bool, err error) {
	type answer struct{ mine, cancelled bool }
	answers := make(chan answer, 1) // the request may outlast this call
	err = l.s.writer.submit(ctx, &request{lease: true, leave: true, do: func(c *conn) (err error) {
		var a answer
		a.mine, err = c.row(`UPDATE sessions SET lease_until = ?, lease_wall = ?, lease_clock = ?
			WHERE sid = ? AND turns = ? AND lease_until != 0 RETURNING lease_cancelled`,
			[]any{ticks() + int64(l.s.ttl), wall() + int64(l.s.ttl), clockID(), l.sid, l.fence & maxSeq}, &a.cancelled)
		select {
		case <-answers:
		default:
		}
		answers <- a
		return err
	}})
	if err != nil {
		return false, false, err
	}
	a := <-answers
	return a.mine, a.cancelled, nil
}

// finish ends the goroutine and gives the lease back. If that cannot be written, it runs out.
func (l *lease) finish() {
	l.end()
	<-l.ended
	defer func() { // not before it is written: Close waits for that
		l.s.mu.Lock()
		delete(l.s.leases, l)
		l.s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), l.s.ttl)
	defer cancel()
	_ = l.s.writer.submit(ctx, &request{lease: true, leave: true, do: func(c *conn) error {
		_, err := c.exec(`UPDATE sessions SET lease_until = 0, lease_wall = 0, lease_clock = '',
			lease_holder = '', lease_cancelled = 0 WHERE sid = ? AND turns = ?`, l.sid, l.fence&maxSeq)
		return err
	}})
}

// endLeases ends the leases of a store that is being closed.
func (s *Store) endLeases() {
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.leases))
	s.mu.Unlock()
	for _, l := range held {
		l.end()
		<-l.ended
		l.lose()
		l.release()
	}
}
