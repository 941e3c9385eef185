package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/plughook/plughook/session"
)

// Lease implements session.Service. Within the process, turns go by arrival; between processes, whoever
// asks next gets the turn.
func (s *Store) Lease(ctx context.Context, key session.Key) (*session.Lease, error) {
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
