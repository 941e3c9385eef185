package sqlite

import (
	"context"

	"github.com/plughook/plughook/internal/sqlstore"
	"github.com/plughook/plughook/session"
)

// Lease implements session.Service. In this process callers queue up; while another process holds the lease,
// the first of them looks again every few milliseconds. A lease lasts for three seconds and is renewed every
// second; its Lost is closed when that failed for three seconds, when another took the lease, when the
// session was deleted, or when the store was closed. A process that stood still for longer keeps its lease if
// nobody took it meanwhile. On Linux the lease of a process that has ended is free at once for the processes that
// can see that: those of its container, or of its machine.
func (s *Store) Lease(ctx context.Context, key session.Key, holder string) (*session.Lease, error) {
	return s.leases.Lease(ctx, key, holder)
}

// Cancel implements session.Service. A holder in another process sees the request when it renews its lease.
func (s *Store) Cancel(ctx context.Context, key session.Key, holder string) error {
	return s.leases.Cancel(ctx, key, holder)
}

// leaseTable keeps the leases in the sessions' rows. Its writes are not durable: a lease need not outlive the
// machine.
type leaseTable struct{ *Store }

// TakeLease implements sqlstore.LeaseTable.
func (s leaseTable) TakeLease(
	ctx context.Context, key session.Key, holder string, waited bool,
) (id sqlstore.LeaseID, taken bool, err error) {
	// While another process holds it, it is looked at without the lock for writing.
	if waited {
		held := false
		err := s.view(ctx, func(c *conn) error {
			r, err := find(c, key)
			held = err == nil && r.lease.held(s.ttl)
			return err
		})
		if err != nil || held {
			return id, false, err
		}
	}
	err = s.writeLease(ctx, false, func(c *conn) error {
		r, err := find(c, key)
		if err != nil {
			return err
		}
		taken = !r.lease.held(s.ttl)
		if !taken {
			return nil
		}
		id = sqlstore.LeaseID{Session: r.sid, Fence: r.lease.fence + 1}
		_, err = c.exec(`UPDATE sessions SET turns = turns + 1, lease_until = ?, lease_wall = ?, lease_clock = ?,
			lease_holder = ?, lease_cancelled = 0 WHERE sid = ?`,
			ticks()+int64(s.ttl), wall()+int64(s.ttl), leaseClock(), holder, r.sid)
		return err
	})
	return id, err == nil && taken, err
}

// RenewLease implements sqlstore.LeaseTable.
func (s leaseTable) RenewLease(ctx context.Context, id sqlstore.LeaseID) (held, cancelled bool, err error) {
	var renewed struct{ held, cancelled bool } // not read on an error: the request may go on then
	err = s.writeLease(ctx, true, func(c *conn) (err error) {
		renewed.held, err = c.row(`UPDATE sessions SET lease_until = ?, lease_wall = ?, lease_clock = ?
			WHERE sid = ? AND turns = ? AND lease_until != 0 RETURNING lease_cancelled`,
			[]any{ticks() + int64(s.ttl), wall() + int64(s.ttl), leaseClock(), id.Session, id.Fence & maxSeq}, &renewed.cancelled)
		return err
	})
	if err != nil {
		return false, false, err
	}
	return renewed.held, renewed.cancelled, nil
}

// freeLease makes a lease free. The number of leases grows by what follows "turns +".
const freeLease = `UPDATE sessions SET lease_until = 0, lease_wall = 0, lease_clock = '',
	lease_holder = '', lease_cancelled = 0, turns = turns + ? WHERE sid = ? AND turns = ?`

// GiveBackLease implements sqlstore.LeaseTable.
func (s leaseTable) GiveBackLease(id sqlstore.LeaseID) {
	ctx, cancel := context.WithTimeout(context.Background(), s.ttl)
	defer cancel()
	_ = s.writeLease(ctx, true, func(c *conn) error {
		_, err := c.exec(freeLease, 0, id.Session, id.Fence&maxSeq)
		return err
	})
}

// CancelLease implements sqlstore.LeaseTable.
func (s leaseTable) CancelLease(
	ctx context.Context, key session.Key, holder string, fence int64,
) (id sqlstore.LeaseID, found bool, err error) {
	err = s.writeLease(ctx, false, func(c *conn) error {
		r, err := find(c, key)
		found = err == nil && r.lease.until != 0 && r.lease.holder == holder && (fence == 0 || r.lease.fence == fence)
		if !found {
			return err
		}
		id = sqlstore.LeaseID{Session: r.sid, Fence: r.lease.fence}
		_, err = c.exec("UPDATE sessions SET lease_cancelled = 1 WHERE sid = ?", r.sid)
		return err
	})
	return id, found, err
}

// LeaseState implements sqlstore.LeaseTable.
func (s leaseTable) LeaseState(ctx context.Context, id sqlstore.LeaseID) (held, running bool, err error) {
	err = s.view(ctx, func(c *conn) error {
		var r row
		ok, err := c.row("SELECT "+rowColumns+" FROM sessions WHERE sid = ?", []any{id.Session}, r.columns()...)
		held = ok && r.lease.fence == id.Fence && r.lease.until != 0
		running = r.lease.held(s.ttl)
		return err
	})
	return held, running, err
}

// TakeAwayLease implements sqlstore.LeaseTable.
func (s leaseTable) TakeAwayLease(ctx context.Context, id sqlstore.LeaseID) error {
	return s.writeLease(ctx, false, func(c *conn) error {
		_, err := c.exec(freeLease, 1, id.Session, id.Fence&maxSeq)
		return err
	})
}

// writeLease runs do in a transaction of the writer. With leave, the caller goes on when the context is done,
// even if the transaction is under way.
func (s leaseTable) writeLease(ctx context.Context, leave bool, do func(*conn) error) error {
	return s.explain(s.writer.submit(ctx, &request{do: do, lease: true, leave: leave}))
}
