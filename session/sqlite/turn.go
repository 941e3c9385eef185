package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// errHeld: another process has the turn.
var errHeld = errors.New("the turn is held")

// turn is a turn that this store's caller has. A goroutine renews its lease in the file.
type turn struct {
	s          *Store
	sid, fence int64
	lost       chan struct{}
	end        context.CancelFunc
	ended      chan struct{} // closed when the goroutine has ended
	release    func()
}

// Lease implements session.Service. In this process callers queue up; for other processes' turns the
// first of them looks again every few milliseconds. A turn is a lease of three seconds, renewed every
// second; its Lost is closed when that failed for three seconds, when another took the turn, when the
// session was deleted, or when the store was closed.
func (s *Store) Lease(ctx context.Context, key session.Key) (*session.Lease, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	next, err := s.queue.Wait(ctx, key)
	if err != nil {
		return nil, err
	}
	t, err := s.take(ctx, key)
	if err != nil {
		next()
		return nil, err
	}
	t.release = sync.OnceFunc(func() {
		t.finish()
		next()
	})
	s.mu.Lock()
	s.turns[t] = struct{}{}
	s.mu.Unlock()
	return &session.Lease{Fence: t.fence, Lost: t.lost, Release: t.release}, nil
}

// take waits until nobody has the turn, and takes it.
func (s *Store) take(ctx context.Context, key session.Key) (*turn, error) {
	t := &turn{s: s, lost: make(chan struct{}), ended: make(chan struct{})}
	for {
		asked := time.Now()
		err := s.writer.submit(ctx, &request{lease: true, do: func(c *conn) error {
			r, err := find(c, key)
			if err != nil {
				return err
			}
			if r.lease.held(s.ttl) {
				return errHeld
			}
			t.sid, t.fence = r.sid, r.lease.fence+1
			_, err = c.exec("UPDATE sessions SET turns = turns + 1, lease_until = ?, lease_wall = ?, lease_clock = ? WHERE sid = ?",
				ticks()+int64(s.ttl), wall()+int64(s.ttl), clockID(), t.sid)
			return err
		}})
		if err == nil {
			life, end := context.WithCancel(context.Background())
			t.end = end
			go t.keep(life, asked.Add(s.ttl))
			return t, nil
		}
		// Whether it is free is seen without the write lock.
		for held := true; held; {
			if err != errHeld {
				return nil, s.explain(err)
			}
			if err := pause(ctx, 5*time.Millisecond, 25*time.Millisecond); err != nil {
				return nil, err
			}
			if verr := s.view(ctx, func(c *conn) error {
				r, err := find(c, key)
				held = err == nil && r.lease.held(s.ttl)
				return err
			}); verr != nil {
				return nil, verr
			}
		}
	}
}

// keep renews the lease until life ends, or closes lost when it could not until then.
func (t *turn) keep(life context.Context, until time.Time) {
	defer close(t.ended)
	tick := time.NewTicker(t.s.ttl / 3)
	defer tick.Stop()
	out := time.NewTimer(time.Until(until))
	defer out.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-out.C:
			close(t.lost)
			return
		case <-tick.C:
		}
		asked := time.Now()
		ctx, cancel := context.WithDeadline(life, until)
		mine, err := t.renew(ctx)
		cancel()
		switch {
		case life.Err() != nil:
			return
		case err == nil && !mine:
			close(t.lost)
			return
		case err == nil:
			until = asked.Add(t.s.ttl)
			out.Reset(time.Until(until))
		}
	}
}

// renew reports whether the turn is still ours.
func (t *turn) renew(ctx context.Context) (bool, error) {
	mine := make(chan bool, 1) // the request may outlast this call
	err := t.s.writer.submit(ctx, &request{lease: true, leave: true, do: func(c *conn) error {
		n, err := c.exec("UPDATE sessions SET lease_until = ?, lease_wall = ?, lease_clock = ? WHERE sid = ? AND turns = ? AND lease_until != 0",
			ticks()+int64(t.s.ttl), wall()+int64(t.s.ttl), clockID(), t.sid, t.fence&maxSeq)
		select {
		case <-mine:
		default:
		}
		mine <- n == 1
		return err
	}})
	if err != nil {
		return false, err
	}
	return <-mine, nil
}

// finish ends the goroutine and gives the lease back. If that cannot be written, it runs out.
func (t *turn) finish() {
	t.end()
	<-t.ended
	defer func() { // not before it is written: Close waits for that
		t.s.mu.Lock()
		delete(t.s.turns, t)
		t.s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), t.s.ttl)
	defer cancel()
	_ = t.s.writer.submit(ctx, &request{lease: true, leave: true, do: func(c *conn) error {
		_, err := c.exec("UPDATE sessions SET lease_until = 0, lease_wall = 0, lease_clock = '' WHERE sid = ? AND turns = ?", t.sid, t.fence&maxSeq)
		return err
	}})
}

// endTurns ends the turns of a store that is being closed.
func (s *Store) endTurns() {
	s.mu.Lock()
	var turns []*turn
	for t := range s.turns {
		turns = append(turns, t)
	}
	s.mu.Unlock()
	for _, t := range turns {
		t.end()
		<-t.ended
		select {
		case <-t.lost:
		default:
			close(t.lost)
		}
		t.release()
	}
}
