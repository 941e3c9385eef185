package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

const (
	leaseTime = 3 * time.Second        // how long a lease outlives its holder; 3 s in the statements too
	renewal   = time.Second            // how often a holder says that it is there
	retry     = 100 * time.Millisecond // how soon again, when that did not work
)

// leaseHeld is a condition on a session's row: somebody holds its lease and is, as far as the database's
// clock tells, alive.
//
// The database's clock can be set, and another server's clock can take its place. If it is set forward,
// the lease of a holder who is alive looks as if its time had run out. Somebody else may take it; the fence
// then refuses what the first holder appends. If it is set back, the lease of a holder who died seems to
// last for longer. Nobody writes more than leaseTime into a lease, so one that seems to last for more than
// twice that was written before the clock was set back, and is free. Twice, so that a clock which is set
// back by a second or two takes no lease from a holder who is alive: a holder renews its lease every second.
const leaseHeld = `(lease IS NOT NULL AND lease > clock_timestamp() AND lease <= clock_timestamp() + interval '6 s')`

// lease is a lease that a caller of this store holds.
type lease struct {
	key    session.Key
	holder string
	sid    int64
	fence  int64
	until  time.Time // by then it has to be renewed, by our clock, which began before the database's

	cancel  context.CancelFunc // ends the renewals
	renewed chan struct{}      // closed once they have ended
	lost    chan struct{}
	lose    func() // closes lost, and lets in who waits in this process
	asked   chan struct{}
	ask     func() // closes asked: the holder is asked to end
	release func()
}

// Lease implements session.Service. Within the process, callers get the lease in the order of their
// arrival; between processes, whoever asks next gets it. The lease of a holder who died is free three
// seconds later; six seconds later at most, however the database's clock is set meanwhile. A process that stood still
// for longer keeps its lease if nobody took it meanwhile.
func (s *Store) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if key.Check(false) != nil {
		return nil, notFound(key)
	}
	if err := session.CheckHolder(holder); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.open, func() { cancel(session.ErrClosed) })()
	// Wait for those of this process who came before.
	next, err := s.queues.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	// Ask the database until no other process holds the lease.
	for {
		l, err := s.ask(ctx, key, holder)
		if err == nil && l != nil {
			return s.hold(l, next), nil
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
		next()
		return nil, err
	}
}

// ask takes the lease if it is free; if it is not, the lease is nil. The statement runs to its end even
// if the context is done, so that a lease that nobody waits for any more is given back at once.
func (s *Store) ask(ctx context.Context, key session.Key, holder string) (*lease, error) {
	type answer struct {
		*lease
		error
	}
	answers := make(chan answer)
	asked := s.spawn(func() {
		patient, stop := grace(ctx)
		defer stop()
		l, err := s.take(patient, key, holder)
		select {
		case answers <- answer{l, err}:
		case <-ctx.Done():
			if l != nil {
				s.giveBack(l)
			}
		}
	})
	if !asked {
		return nil, session.ErrClosed
	}
	select {
	case a := <-answers:
		return a.lease, a.error
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
	return patient, func() {
		undo()
		cancel()
	}
}

// take takes the lease if it is free; if it is not, the lease is nil. The fence is a number that no other
// lease has had.
func (s *Store) take(ctx context.Context, key session.Key, holder string) (l *lease, err error) {
	err = s.again(ctx, func() error {
		asked := time.Now()
		var sid, version int64
		var fence *int64
		err := s.pool.QueryRow(ctx, `
			WITH t AS (
				UPDATE plughook_sessions
				SET epoch = greatest(epoch + 1, nextval('plughook_fences')), lease = clock_timestamp() + interval '3 s',
					holder = $4, cancelled = false
				WHERE app = $1 AND usr = $2 AND id = $3 AND NOT `+leaseHeld+` AND `+schemaFits+`
				RETURNING epoch
			)
			SELECT sid, (SELECT epoch FROM t), `+schemaVersion+`
			FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
			key.App, key.User, key.ID, holder).Scan(&sid, &fence, &version)
		if err == nil {
			err = fits(version)
		}
		if err == nil && fence != nil {
			l = &lease{
				key:    key,
				holder: holder,
				sid:    sid,
				fence:  *fence,
				until:  asked.Add(leaseTime),
			}
		}
		return err
	})
	if none(err) {
		return nil, notFound(key)
	}
	return l, s.fail(ctx, "lease on session "+key.String(), err)
}

// hold makes a session.Lease of a lease that was taken, and renews it until it is released. next lets in
// who waits in this process.
func (s *Store) hold(l *lease, next func()) *session.Lease {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.renewed = make(chan struct{})
	l.lost = make(chan struct{})
	l.lose = sync.OnceFunc(func() {
		close(l.lost)
		next()
	})
	l.asked = make(chan struct{})
	l.ask = sync.OnceFunc(func() { close(l.asked) })
	l.release = sync.OnceFunc(func() {
		l.cancel()
		<-l.renewed
		s.giveBack(l)
		next()
		s.mu.Lock()
		delete(s.leases, l)
		s.mu.Unlock()
	})
	s.mu.Lock()
	closed := s.leases == nil
	if !closed {
		s.leases[l] = struct{}{}
	}
	s.mu.Unlock()
	if closed || !s.spawn(func() { s.renew(ctx, l) }) {
		l.lose()
		close(l.renewed)
	}
	return &session.Lease{Fence: l.fence, Lost: l.lost, Cancelled: l.asked, Release: l.release}
}

// renew renews a lease until the context is done or the lease lost. It asks the holder to end when another
// process wants that. A process that stood still until the lease's time was out looks whether the lease is still its
// own: it is if nobody took it meanwhile.
func (s *Store) renew(ctx context.Context, l *lease) {
	defer close(l.renewed)
	next := time.NewTimer(min(renewal, time.Until(l.until)))
	defer next.Stop()
	failed := false // a renewal, since the last one that did not
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.lost: // taken away in this process
			return
		case <-next.C:
		}

		// Renew it before its time is out. If that is past, try once more, for as long as from one renewal to the next.
		asked := time.Now()
		late := !asked.Before(l.until)
		if late && failed {
			l.lose()
			return
		}
		end := l.until
		if late {
			end = asked.Add(renewal)
		}
		attempt, cancel := context.WithDeadline(ctx, end)
		var cancelled bool
		err := s.pool.QueryRow(attempt, `
			UPDATE plughook_sessions SET lease = clock_timestamp() + interval '3 s'
			WHERE sid = $1 AND epoch = $2 AND lease IS NOT NULL RETURNING cancelled`, l.sid, l.fence).Scan(&cancelled)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case none(err), err != nil && late: // it is another's by now, or may be
			l.lose()
			return
		case err == nil:
			if cancelled {
				l.ask()
			}
			failed = false
			l.until = asked.Add(leaseTime)
			next.Reset(renewal)
		default:
			failed = time.Since(l.until) < retry // else this process stood still, and not the database
			next.Reset(min(retry, time.Until(l.until)))
		}
	}
}

// giveBack makes a lease free. If the database cannot be told, it is free when its time is out.
func (s *Store) giveBack(l *lease) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.again(ctx, func() error {
		_, err := s.pool.Exec(ctx, `UPDATE plughook_sessions SET lease = NULL, holder = '', cancelled = false
			WHERE sid = $1 AND epoch = $2`, l.sid, l.fence)
		return err
	})
}

// spawn starts a goroutine that Close waits for. It reports false if the store is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases == nil {
		return false
	}
	s.work.Go(f)
	return true
}
