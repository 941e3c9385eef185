package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

const (
	lease   = 3 * time.Second        // how long a turn outlives its holder; 3 s in the statements too
	renewal = time.Second            // how often a holder says that it is there
	retry   = 100 * time.Millisecond // how soon again, when that did not work
)

// Turn implements session.Service. Within the process, turns go by arrival; between processes, whoever
// asks next gets the turn.
func (s *Store) Turn(ctx context.Context, key session.Key) (*session.Turn, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if key.Check(false) != nil {
		return nil, notFound(key)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.open, func() { cancel(session.ErrClosed) })()
	leave, err := s.queue.Wait(ctx, key)
	if err != nil {
		return nil, err
	}
	for {
		t, err := s.ask(ctx, key)
		if err == nil && t != nil {
			return s.hold(t, leave), nil
		}
		if err == nil {
			// Between 5 and 25 ms, so that many who wait do not ask at once.
			pause := time.NewTimer(5*time.Millisecond + rand.N(20*time.Millisecond))
			select {
			case <-pause.C:
				continue
			case <-ctx.Done():
				pause.Stop()
				err = context.Cause(ctx)
			}
		}
		leave()
		return nil, err
	}
}

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

// ask takes the turn if it is free; if it is not, the turn is nil. The statement runs to its end even
// if the context is done, so that a turn that nobody waits for any more is given back at once.
func (s *Store) ask(ctx context.Context, key session.Key) (*turn, error) {
	type answer struct {
		*turn
		error
	}
	answers := make(chan answer)
	asked := s.spawn(func() {
		patient, stop := grace(ctx)
		defer stop()
		t, err := s.take(patient, key)
		select {
		case answers <- answer{t, err}:
		case <-ctx.Done():
			if t != nil {
				s.giveBack(t)
			}
		}
	})
	if !asked {
		return nil, session.ErrClosed
	}
	select {
	case a := <-answers:
		return a.turn, a.error
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// grace returns a context that is done a second after the other one, or when stop is called.
func grace(ctx context.Context) (_ context.Context, stop func()) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	undo := context.AfterFunc(ctx, func() {
		t := time.NewTimer(time.Second)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-patient.Done():
		}
	})
	return patient, func() { undo(); cancel() }
}

// take takes the turn if it is free. The fence is a number that no other turn has had.
func (s *Store) take(ctx context.Context, key session.Key) (t *turn, err error) {
	err = s.again(ctx, func() error {
		asked := time.Now()
		var sid int64
		var fence *int64
		err := s.pool.QueryRow(ctx, `
			WITH t AS (
				UPDATE plughook_sessions
				SET epoch = greatest(epoch + 1, nextval('plughook_fences')), lease = clock_timestamp() + interval '3 s'
				WHERE app = $1 AND usr = $2 AND id = $3 AND (lease IS NULL OR lease <= clock_timestamp())
				RETURNING epoch
			)
			SELECT sid, (SELECT epoch FROM t) FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
			key.App, key.User, key.ID).Scan(&sid, &fence)
		if err == nil && fence != nil {
			t = &turn{sid: sid, fence: *fence, until: asked.Add(lease)}
		}
		return err
	})
	if none(err) {
		return nil, notFound(key)
	}
	return t, s.fail(ctx, "turn on session "+key.String(), err)
}

// hold makes a session.Turn of a turn that was taken, and keeps it.
func (s *Store) hold(t *turn, leave func()) *session.Turn {
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
	return &session.Turn{Fence: t.fence, Lost: t.lost, Release: t.release}
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

// spawn starts a goroutine that Close waits for. It reports false if the store is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns == nil {
		return false
	}
	s.work.Go(f)
	return true
}
