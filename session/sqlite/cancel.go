package sqlite

import (
	"context"
	"time"

	"github.com/plughook/plughook/session"
)

// Cancel implements session.Service. A holder in another process sees the request when it renews its lease.
func (s *Store) Cancel(ctx context.Context, key session.Key, holder string) error {
	if err := session.CheckHolder(holder); err != nil {
		return err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	grace := time.NewTimer(session.CancelGrace)
	defer grace.Stop()

	// Ask the holder to end: in this process at once, in another one by a flag beside the lease.
	local := int64(0) // the fence of the lease, if it is in this process: only that one is meant
	for _, l := range s.held(key) {
		if l.holder == holder {
			l.ask()
			select {
			case <-l.lost: // another process may have it by now, under the same name
			default:
				local = max(local, l.fence)
			}
		}
	}
	var asked *row // nil if the holder has no lease
	err = s.writer.submit(ctx, &request{lease: true, do: func(c *conn) error {
		r, err := find(c, key)
		asked = nil
		if err != nil || r.lease.until == 0 || r.lease.holder != holder || local != 0 && r.lease.fence != local {
			return err
		}
		asked = r
		_, err = c.exec("UPDATE sessions SET lease_cancelled = 1 WHERE sid = ?", r.sid)
		return err
	}})
	if err != nil || asked == nil {
		return s.explain(err)
	}

	// Wait until the lease is given back, or another's. If its time has run out, its holder died, or is late and
	// could still append: then it is taken away at once.
	for waiting := true; waiting; {
		for _, l := range s.held(key) { // one that was being taken may be known only now
			if l.fence == asked.lease.fence {
				l.ask()
			}
		}
		if err := pause(ctx, 5*time.Millisecond, 25*time.Millisecond); err != nil {
			return err
		}
		free := false
		running := true
		err := s.view(ctx, func(c *conn) error {
			var now row
			ok, err := c.row("SELECT "+rowColumns+" FROM sessions WHERE sid = ?", []any{asked.sid}, now.columns()...)
			free = !ok || now.lease.fence != asked.lease.fence || now.lease.until == 0
			running = now.lease.held(s.ttl)
			return err
		})
		if err != nil || free {
			return err
		}
		select {
		case <-grace.C:
			waiting = false
		default:
			waiting = running
		}
	}

	// Take it away. The next fence has no holder: what the old holder appends is refused.
	err = s.writer.submit(ctx, &request{lease: true, do: func(c *conn) error {
		_, err := c.exec(`UPDATE sessions SET turns = turns + 1, lease_until = 0, lease_wall = 0, lease_clock = '',
			lease_holder = '', lease_cancelled = 0 WHERE sid = ? AND turns = ?`, asked.sid, asked.lease.fence&maxSeq)
		return err
	}})
	if err != nil {
		return s.explain(err)
	}
	for _, l := range s.held(key) {
		if l.fence == asked.lease.fence {
			l.lose()
		}
	}
	return nil
}

// held returns this process's leases on a session. There are several if the older ones are lost.
func (s *Store) held(key session.Key) []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*lease
	for l := range s.leases {
		if l.key == key {
			list = append(list, l)
		}
	}
	return list
}
