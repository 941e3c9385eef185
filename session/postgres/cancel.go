package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/plughook/plughook/session"
)

// Cancel implements session.Service. A holder in another process sees the request when it renews its lease.
func (s *Store) Cancel(ctx context.Context, key session.Key, holder string) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if key.Check(false) != nil {
		return notFound(key)
	}
	if err := session.CheckHolder(holder); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.open, func() { stop(session.ErrClosed) })()
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
	var sid, version int64
	var fence *int64 // nil if the holder has no lease
	err := s.again(ctx, func() error {
		return s.pool.QueryRow(ctx, `
			WITH t AS (
				UPDATE plughook_sessions SET cancelled = true
				WHERE app = $1 AND usr = $2 AND id = $3 AND holder = $4 AND lease IS NOT NULL
					AND ($5::bigint = 0 OR epoch = $5::bigint) AND `+schemaFits+`
				RETURNING epoch
			)
			SELECT sid, (SELECT epoch FROM t), `+schemaVersion+`
			FROM plughook_sessions WHERE app = $1 AND usr = $2 AND id = $3`,
			key.App, key.User, key.ID, holder, local).Scan(&sid, &fence, &version)
	})
	if err == nil {
		err = fits(version)
	}
	switch {
	case none(err):
		return notFound(key)
	case err != nil:
		return s.fail(ctx, "cancel in session "+key.String(), err)
	case fence == nil:
		return nil
	}

	// Wait until the lease is given back, or another's. If its time has run out, its holder died, or is late and
	// could still append: then it is taken away at once.
	for waiting := true; waiting; {
		for _, l := range s.held(key) { // one that was being taken may be known only now
			if l.fence == *fence {
				l.ask()
			}
		}
		pause := time.NewTimer(10*time.Millisecond + rand.N(20*time.Millisecond))
		select {
		case <-pause.C:
		case <-grace.C:
			waiting = false
		case <-ctx.Done():
		}
		pause.Stop()
		var running bool
		err := s.again(ctx, func() error {
			return s.pool.QueryRow(ctx, `
				SELECT `+leaseHeld+` FROM plughook_sessions WHERE sid = $1 AND epoch = $2 AND lease IS NOT NULL`,
				sid, *fence).Scan(&running)
		})
		if none(err) {
			return nil
		}
		if err != nil {
			return s.fail(ctx, "cancel in session "+key.String(), err)
		}
		waiting = waiting && running
	}

	// Take it away. The next fence has no holder: what the old holder appends is refused.
	err = s.again(ctx, func() error {
		_, err := s.pool.Exec(ctx, `
			UPDATE plughook_sessions
			SET epoch = greatest(epoch + 1, nextval('plughook_fences')), lease = NULL, holder = '', cancelled = false
			WHERE sid = $1 AND epoch = $2`, sid, *fence)
		return err
	})
	if err != nil {
		return s.fail(ctx, "cancel in session "+key.String(), err)
	}
	for _, l := range s.held(key) {
		if l.fence == *fence {
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
