package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// another opens the file of a store once more, as another process would.
func another(t testing.TB, s *Store) *Store {
	o, err := open(t.Context(), s.path, s.ttl, s.patience)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return o
}

// A lease that is held is renewed for as long as that takes; others wait, and go on when it is released.
func TestLeaseRenewed(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 900*time.Millisecond, patient)
	o := another(t, s)
	var lease *session.Lease
	renewed := func() bool {
		var err error
		lease, err = s.Lease(t.Context(), at.Key, "")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		next, err := o.Lease(ctx, at.Key, "")
		if err == nil {
			<-lease.Lost
			lease.Release()
			next.Release()
			return false
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		last, err := o.Append(t.Context(), at, event1K())
		if err == nil {
			at.After = last
			lease.Release()
			return false
		}
		require.ErrorIs(t, err, session.ErrFenced)
		return true
	}
	for n := 1; !renewed(); n++ { // on a busy machine a renewal may come too late
		require.Less(t, n, 20, "the lease was not renewed in time, in any attempt")
	}
	at.Fence = lease.Fence
	var err error
	_, err = s.Append(t.Context(), at, event1K())
	require.NoError(t, err)
	go lease.Release()
	next, err := o.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	require.Greater(t, next.Fence, lease.Fence)
	next.Release()
}

// The lease of a process that died is free after its time, and not before. Until somebody takes it, its
// holder may append.
func TestLeaseAbandoned(t *testing.T) {
	t.Parallel()
	const ttl = 500 * time.Millisecond
	s, at := fresh(t, ttl, patient)
	o := another(t, s)
	began := time.Now()
	lease, err := s.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	s.leases.Abandon()
	require.NoError(t, s.view(t.Context(), func(c *conn) error {
		r, err := find(c, at.Key)
		require.NoError(t, err)
		require.LessOrEqual(t, r.lease.until, ticks()+int64(ttl))
		return nil
	}))
	mine := at
	mine.Fence = lease.Fence
	require.Eventually(t, func() bool { // without a lease: as soon as it ran out
		at.After, err = o.Append(t.Context(), at, event1K())
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), ttl)
	mine.After = at.After
	mine.After, err = s.Append(t.Context(), mine, event1K())
	require.NoError(t, err)
	next, err := o.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), mine, event1K())
	require.ErrorIs(t, err, session.ErrFenced)
	lease.Release() // of a lease that another took: no effect
	mine.Fence = next.Fence
	_, err = o.Append(t.Context(), mine, event1K())
	require.NoError(t, err)
	next.Release()
}

// A holder is told when it can no longer count on its lease.
func TestLeaseLost(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, s *Store, key session.Key){
		"taken by another": func(t *testing.T, s *Store, key session.Key) {
			run(t, s.path, "UPDATE sessions SET turns = turns + 1")
		},
		"released by another":  func(t *testing.T, s *Store, key session.Key) { run(t, s.path, "UPDATE sessions SET lease_until = 0") },
		"session deleted":      func(t *testing.T, s *Store, key session.Key) { require.NoError(t, s.Delete(t.Context(), key)) },
		"store closed":         func(t *testing.T, s *Store, key session.Key) { require.NoError(t, s.Close()) },
		"store cannot be used": func(t *testing.T, s *Store, key session.Key) { t.Cleanup(lock(t, s.path)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = 3 * time.Second
			s, at := fresh(t, ttl, patient)
			began := time.Now()
			lease, err := s.Lease(t.Context(), at.Key, "")
			require.NoError(t, err)
			select {
			case <-lease.Lost:
				require.GreaterOrEqual(t, time.Since(began), ttl, "lost before anything happened")
			default:
			}
			lose(t, s, at.Key)
			<-lease.Lost
			began = time.Now()
			lease.Release()
			lease.Release()
			require.Less(t, time.Since(began), patient/2, "it waits until the store can be used")
		})
	}
}

// A holder who stood still until the lease's time was out has it still, if nobody took it meanwhile. Here it stands
// still between asking for the lease and getting it.
func TestLeaseOfAHolderWhoIsLate(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	keeps := func() bool {
		writing := make(chan struct{})
		written := make(chan error)
		go func() {
			written <- s.write(t.Context(), 0, func(*conn) error {
				close(writing)
				time.Sleep(s.ttl + 100*time.Millisecond)
				return nil
			})
		}()
		<-writing
		lease, err := s.Lease(t.Context(), at.Key, "")
		require.NoError(t, err)
		defer lease.Release()
		require.NoError(t, <-written)
		until := func() (until int64) {
			require.NoError(t, s.view(t.Context(), func(c *conn) error {
				r, err := find(c, at.Key)
				until = r.lease.until
				return err
			}))
			return until
		}
		for first := until(); until() == first; {
			select {
			case <-lease.Lost:
				return false
			case <-time.After(5 * time.Millisecond):
			}
		}
		at.Fence = lease.Fence
		at.After, err = s.Append(t.Context(), at, event1K())
		require.NoError(t, err)
		return true
	}
	for n := 1; !keeps(); n++ { // what it asks then has to be answered within a second
		require.Less(t, n, 10, "the lease was lost, in every attempt")
	}
}

// After Close the lease is free for other processes at once.
func TestLeaseClosed(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, time.Minute, patient)
	o := another(t, s)
	_, err := s.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	waits := make(chan error)
	for range 2 {
		go func() {
			_, err := s.Lease(t.Context(), at.Key, "")
			waits <- err
		}()
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-waits, session.ErrClosed)
	require.ErrorIs(t, <-waits, session.ErrClosed)
	lease, err := o.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	lease.Release()
}

// Clocks decide only how long others wait, and none can make that longer than a lease.
func TestLease(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Hour
	tick := ticks()
	now := wall()
	for name, c := range map[string]struct {
		lease lastLease
		held  bool
	}{
		"never held":                         {lastLease{}, false},
		"held":                               {lastLease{until: tick + int64(time.Hour), clock: clockID()}, true},
		"held, the wall clock was set":       {lastLease{until: tick + int64(time.Hour), wall: now - int64(1000*time.Hour), clock: clockID()}, true},
		"over":                               {lastLease{until: tick - 1, clock: clockID()}, false},
		"over, the wall clock was set":       {lastLease{until: tick - 1, wall: now + int64(time.Hour), clock: clockID()}, false},
		"another boot, held":                 {lastLease{until: 1, wall: now + int64(time.Hour), clock: "another"}, true},
		"another boot, over":                 {lastLease{until: tick + int64(time.Hour), wall: now - 1, clock: "another"}, false},
		"another boot, the clock went back":  {lastLease{until: 1, wall: now + int64(1000*time.Hour), clock: "another"}, false},
		"another boot, back by a moment":     {lastLease{until: 1, wall: now + int64(ttl) + int64(time.Hour), clock: "another"}, true},
		"no boot clock, the clock went back": {lastLease{until: 1, wall: now + int64(7*time.Hour)}, false},
		"no boot clock":                      {lastLease{until: 1, wall: now + int64(time.Hour)}, true},
	} {
		require.Equal(t, c.held, c.lease.held(ttl), name)
	}
	require.InDelta(t, ticks(), tick, float64(time.Hour))
}

// Leases on one session go around among processes; nobody starves.
func TestLeaseFair(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, time.Minute, patient) // longer than a busy machine needs
	stores := []*Store{s, another(t, s), another(t, s)}
	done := make(chan error)
	for i, s := range stores {
		go func() {
			done <- func() error {
				for range 15 {
					lease, err := s.Lease(t.Context(), at.Key, "")
					if err != nil {
						return err
					}
					m, err := s.Get(t.Context(), at.Key)
					if err == nil {
						_, err = s.Append(t.Context(), session.AppendTarget{Key: at.Key, After: m.Position, Fence: lease.Fence}, event1K())
					}
					lease.Release()
					if err != nil {
						return fmt.Errorf("store %d: %w", i, err)
					}
				}
				return nil
			}()
		}()
	}
	for range stores {
		require.NoError(t, <-done)
	}
	require.EqualValues(t, 45, position(t, s, at.Key))
}

// The wall clock is set forward under a holder who is alive, where there is no other clock: its lease looks
// as if its time had run out. If somebody takes it, the first holder can append no more, and learns it.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	lease, err := s.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	defer lease.Release()
	soon, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	o := another(t, s)
	var next *session.Lease
	for next == nil { // a holder who has renewed the lease meanwhile has it again
		run(t, s.path,
			"UPDATE sessions SET lease_clock = '', lease_wall = lease_wall - 3600000000000")
		attempt, end := context.WithTimeout(soon, 500*time.Millisecond)
		next, err = o.Lease(attempt, at.Key, "")
		end()
		require.NoError(t, soon.Err(), "nobody can take the lease")
	}
	require.NoError(t, err)
	defer next.Release()
	at.Fence = lease.Fence
	_, err = s.Append(t.Context(), at, event1K())
	require.ErrorIs(t, err, session.ErrFenced)
	<-lease.Lost
}

// The wall clock is set back after a holder died, where there is no other clock: its lease does not last for
// the difference.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	_, err := s.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	s.leases.Abandon()
	run(t, s.path,
		"UPDATE sessions SET lease_clock = '', lease_wall = lease_wall + 59 * 60000000000")
	o := another(t, s)
	at.After, err = o.Append(t.Context(), at, event1K())
	require.NoError(t, err)
	soon, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	lease, err := o.Lease(soon, at.Key, "")
	require.NoError(t, err)
	lease.Release()
}
