package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

const (
	lease   = 3 * time.Second        // how long a turn outlives its holder; 3 s in the statements too
	renewal = time.Second            // how often a holder says that it is there
	retry   = 100 * time.Millisecond // how soon again, when that did not work
)

// turn is a turn that is held.
type turn struct {
	sid, fence int64
	until      time.Time // by then it has to be renewed, by our clock, which began before the database's

	cancel  context.CancelFunc // ends the renewals
	renewed chan struct{}      // closed once they have ended
	lost    chan struct{}
	lose    func() // closes lost
	release func()
}

// hold makes a session.Turn of a turn that was taken, and keeps it.
func (s *Store) hold(t *turn, leave func()) *session.Lease {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel, t.renewed, t.lost = cancel, make(chan struct{}), make(chan struct{})
	t.lose = sync.OnceFunc(func() { close(t.lost) })
	t.release = sync.OnceFunc(func() {
		t.cancel()
		<-t.renewed
		s.giveBack(t)
		leave()
		s.mu.Lock()
		delete(s.turns, t)
		s.mu.Unlock()
	})
	s.mu.Lock()
	if s.turns != nil {
		s.turns[t] = struct{}{}
	}
	closed := s.turns == nil
	s.mu.Unlock()
	if closed || !s.spawn(func() { s.renew(ctx, t) }) {
		t.lose()
		close(t.renewed)
	}
	return &session.Lease{Fence: t.fence, Lost: t.lost, Release: t.release}
}

// renew renews a turn until the context is done or the turn lost.
func (s *Store) renew(ctx context.Context, t *turn) {
	defer close(t.renewed)
	next := time.NewTimer(renewal)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		asked := time.Now()
		attempt, cancel := context.WithDeadline(ctx, t.until)
		tag, err := s.pool.Exec(attempt, `
			UPDATE plughook_sessions SET lease = clock_timestamp() + interval '3 s'
			WHERE sid = $1 AND epoch = $2 AND lease IS NOT NULL`, t.sid, t.fence)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && tag.RowsAffected() == 1:
			t.until = asked.Add(lease)
			next.Reset(renewal)
		case err == nil, time.Until(t.until) <= 0: // another's by now, or perhaps
			t.lose()
			return
		default:
			next.Reset(min(retry, time.Until(t.until)))
		}
	}
}

// giveBack makes a turn free. If the database cannot be told, the turn is free when its time is out.
func (s *Store) giveBack(t *turn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.again(ctx, func() error {
		_, err := s.pool.Exec(ctx, `UPDATE plughook_sessions SET lease = NULL WHERE sid = $1 AND epoch = $2`, t.sid, t.fence)
		return err
	})
}
