package postgres

import (
	"context"
	"time"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
)

// leaseTime is how long a lease outlives its holder, who renews it every second.
const leaseTime = 3 * time.Second

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

// leaseEnd is the end of a lease that is taken or renewed now: leaseTime from now on.
const leaseEnd = `clock_timestamp() + interval '3 s'`

// Lease implements session.Service. Within the process, callers get the lease in the order of their arrival;
// between processes, whoever asks next gets it. The lease of a holder who died is free three seconds later;
// six seconds later at most, however the database's clock is set meanwhile. A process that stood still for
// longer keeps its lease if nobody took it meanwhile.
func (s *Store) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	return s.leases.Lease(ctx, key, holder)
}

// Cancel implements session.Service. A holder in another process sees the request when it renews its lease.
func (s *Store) Cancel(ctx context.Context, key session.Key, holder string) error {
	return s.leases.Cancel(ctx, key, holder)
}

// leaseTable keeps the leases in the sessions' rows. A fence is a number that no other lease has had.
type leaseTable struct{ *Store }

// TakeLease implements sqlstore.LeaseTable. The statement runs to its end even if the context is done, so
// that a lease that nobody waits for any more is given back at once.
func (s leaseTable) TakeLease(
	ctx context.Context, key session.Key, holder string, _ bool,
) (sqlstore.LeaseID, bool, error) {
	type attempt struct {
		id    sqlstore.LeaseID
		taken bool
		err   error
	}
	attempts := make(chan attempt)
	begun := s.spawn(func() {
		patient, stop := grace(ctx)
		defer stop()
		var a attempt
		a.id, a.taken, a.err = s.change(patient, "lease on", takeLease, key, holder)
		select {
		case attempts <- a:
		case <-ctx.Done():
			if a.taken {
				s.GiveBackLease(a.id)
			}
		}
	})
	if !begun {
		return sqlstore.LeaseID{}, false, session.ErrClosed
	}
	select {
	case a := <-attempts:
		return a.id, a.taken, a.err
	case <-ctx.Done():
		return sqlstore.LeaseID{}, false, context.Cause(ctx)
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

const (
	takeLease = `
		SET epoch = greatest(epoch + 1, nextval('plughook_fences')), lease = ` + leaseEnd + `, holder = $4, cancelled = false
		WHERE app = $1 AND usr = $2 AND id = $3 AND NOT ` + leaseHeld
	cancelLease = `
		SET cancelled = true
		WHERE app = $1 AND usr = $2 AND id = $3 AND holder = $4 AND lease IS NOT NULL AND ($5::bigint = 0 OR epoch = $5::bigint)`
)

// change updates the lease of a session, which update says how, and returns it. found is false if there is no
// such lease. It is ErrNotFound if there is no such session. what says what is done with the session.
func (s leaseTable) change(
	ctx context.Context, what, update string, key session.Key, args ...any,
) (id sqlstore.LeaseID, found bool, err error) {
	var version int64
	var fence *int64
	err = s.on(ctx, what, key, func() error {
		err := s.pool.QueryRow(ctx, `
			WITH t AS (UPDATE plughook_sessions `+update+` AND `+schemaFits+` RETURNING epoch)
			SELECT sid, (SELECT epoch FROM t), `+schemaVersion+`
			FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
			append([]any{key.App, key.User, key.ID}, args...)...).Scan(&id.Session, &fence, &version)
		if err == nil {
			err = fits(version)
		}
		return err
	})
	if err != nil || fence == nil {
		return id, false, err
	}
	id.Fence = *fence
	return id, true, nil
}

// RenewLease implements sqlstore.LeaseTable.
func (s leaseTable) RenewLease(ctx context.Context, id sqlstore.LeaseID) (held, cancelled bool, err error) {
	err = s.pool.QueryRow(ctx, `
		UPDATE plughook_sessions SET lease = `+leaseEnd+`
		WHERE sid = $1 AND epoch = $2 AND lease IS NOT NULL RETURNING cancelled`, id.Session, id.Fence).Scan(&cancelled)
	if none(err) {
		return false, false, nil
	}
	return err == nil, cancelled, err
}

// GiveBackLease implements sqlstore.LeaseTable.
func (s leaseTable) GiveBackLease(id sqlstore.LeaseID) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.again(ctx, func() error {
		_, err := s.pool.Exec(ctx, `UPDATE plughook_sessions SET lease = NULL, holder = '', cancelled = false
			WHERE sid = $1 AND epoch = $2`, id.Session, id.Fence)
		return err
	})
}

// CancelLease implements sqlstore.LeaseTable.
func (s leaseTable) CancelLease(
	ctx context.Context, key session.Key, holder string, fence int64,
) (id sqlstore.LeaseID, found bool, err error) {
	return s.change(ctx, "cancel in", cancelLease, key, holder, fence)
}

// LeaseState implements sqlstore.LeaseTable.
func (s leaseTable) LeaseState(ctx context.Context, id sqlstore.LeaseID) (held, running bool, err error) {
	err = s.do(ctx, "look at the lease of a session", func() error {
		err := s.pool.QueryRow(ctx, `
			SELECT `+leaseHeld+` FROM plughook_sessions WHERE sid = $1 AND epoch = $2 AND lease IS NOT NULL`,
			id.Session, id.Fence).Scan(&running)
		held = err == nil
		if none(err) {
			return nil
		}
		return err
	})
	return held, running, err
}

// TakeAwayLease implements sqlstore.LeaseTable.
func (s leaseTable) TakeAwayLease(ctx context.Context, id sqlstore.LeaseID) error {
	return s.do(ctx, "take away the lease of a session", func() error {
		_, err := s.pool.Exec(ctx, `
			UPDATE plughook_sessions
			SET epoch = greatest(epoch + 1, nextval('plughook_fences')), lease = NULL, holder = '', cancelled = false
			WHERE sid = $1 AND epoch = $2`, id.Session, id.Fence)
		return err
	})
}
