package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// within fails the test if a channel is not closed in time.
func within(t *testing.T, d time.Duration, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(d):
		t.Fatal("not within ", d, ": ", what)
	}
}

// A lease whose time ran out, by the database's clock, is another's for the asking; its holder learns it
// within a second or two and can append no more. Until somebody asks, it is still the holder's.
func TestExpiredLease(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one := open(t, url)
	two := open(t, url)
	k := newTalk(t, one, "s", nil)
	lease, err := one.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	defer lease.Release()
	sql(t, url, "UPDATE plughook_sessions SET lease = clock_timestamp() - interval '1 s'")
	k.at.Fence = lease.Fence
	k.append(t, said(1))

	// The holder may renew the lease before the other one asks for it: then let it run out again.
	var next *session.Lease
	for end := time.Now().Add(time.Minute); next == nil && time.Now().Before(end); {
		sql(t, url, "UPDATE plughook_sessions SET lease = clock_timestamp() - interval '1 s'")
		soon, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		next, err = two.Lease(soon, k.at.Key, "")
		stop()
	}
	require.NoError(t, err)
	require.Greater(t, next.Fence, lease.Fence)
	_, err = one.Append(t.Context(), k.at, said(2))
	require.ErrorIs(t, err, session.ErrFenced)
	within(t, time.Minute, lease.Lost, "the holder learns that the lease is lost")
	lease.Release() // takes nothing from the next
	k.at.Fence = next.Fence
	k.append(t, said(2))
	next.Release()
	_, err = two.Append(t.Context(), k.at, said(3))
	require.ErrorIs(t, err, session.ErrFenced, "the lease was given back")
	k.at.Fence = 0
	k.append(t, said(3))
}

// A lease that is held is renewed, so it outlasts its time.
func TestRenewedLease(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one := open(t, url)
	two := open(t, url)
	k := newTalk(t, one, "s", nil)
	keeps(t, func() bool {
		lease, err := one.Lease(t.Context(), k.at.Key, "")
		require.NoError(t, err)
		defer lease.Release()
		if !refused(t, two, k.at.Key, 3500*time.Millisecond) {
			within(t, time.Minute, lease.Lost, "the holder learns that the lease is lost")
			return false
		}
		select {
		case <-lease.Lost: // nobody has asked since its time ran out
			return false
		default:
			return true
		}
	})
	contract.Within(t, 2*time.Second,
		func() time.Duration { return handedOn(t, one, two, k.at.Key) })
}

// handedOn has a store give back a lease, and returns how long it takes until another one has it.
func handedOn(t *testing.T, from, to session.Service, key session.Key) time.Duration {
	t.Helper()
	lease, err := from.Lease(t.Context(), key, "")
	require.NoError(t, err)
	began := time.Now()
	lease.Release()
	next, err := to.Lease(t.Context(), key, "")
	require.NoError(t, err)
	took := time.Since(began)
	next.Release()
	return took
}

// A holder who stood still until the lease's time was out has it still, if nobody took it meanwhile. Here it stands
// still between asking for the lease and getting it.
func TestLeaseOfAHolderWhoIsLate(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	k := newTalk(t, s, "s", nil)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	n := 0
	keeps(t, func() bool {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "SELECT FROM plughook_sessions FOR UPDATE")
		require.NoError(t, err)
		taken := make(chan *session.Lease)
		go func() {
			lease, err := s.Lease(t.Context(), k.at.Key, "")
			if err != nil {
				t.Error(err)
			}
			taken <- lease
		}()
		time.Sleep(3200 * time.Millisecond) // more than a lease lasts
		require.NoError(t, tx.Rollback(t.Context()))
		lease := <-taken
		require.NotNil(t, lease)
		defer lease.Release()
		until := func() (until time.Time) {
			require.NoError(t,
				conn.QueryRow(t.Context(), "SELECT lease FROM plughook_sessions").Scan(&until))
			return until
		}
		for first := until(); until().Equal(first); {
			select {
			case <-lease.Lost:
				return false
			case <-time.After(5 * time.Millisecond):
			}
		}
		n++
		k.at.Fence = lease.Fence
		k.append(t, said(n))
		return true
	})
}

// A caller who leaves while the lease is being taken leaves no lease behind.
func TestLeaseOfACallerWhoLeft(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one := open(t, url)
	two := open(t, url)
	k := newTalk(t, one, "s", nil)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	contract.Within(
		t,
		2500*time.Millisecond,
		func() time.Duration { // else it lasts for three seconds
			tx, err := conn.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "SELECT FROM plughook_sessions FOR UPDATE")
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err = one.Lease(ctx, k.at.Key, "") // waits for the row
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(began), time.Minute)
			require.NoError(t, tx.Rollback(t.Context()))
			lease, err := two.Lease(t.Context(), k.at.Key, "")
			require.NoError(t, err)
			took := time.Since(began)
			lease.Release()
			return took
		},
	)
}

// Close ends the leases: their holders learn it, those who wait get ErrClosed, others can go on at once.
func TestCloseEndsLeases(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	two := open(t, url)
	k := newTalk(t, two, "s", nil)
	contract.Within(t, 2*time.Second, func() time.Duration {
		one := open(t, url)
		lease, err := one.Lease(t.Context(), k.at.Key, "")
		require.NoError(t, err)
		waiting := make(chan error)
		go func() {
			_, err := one.Lease(context.Background(), k.at.Key, "")
			waiting <- err
		}()
		require.NoError(t, one.Close())
		require.ErrorIs(t, <-waiting, session.ErrClosed)
		within(t, time.Minute, lease.Lost, "Close ends the lease")
		began := time.Now()
		next, err := two.Lease(t.Context(), k.at.Key, "")
		require.NoError(t, err)
		took := time.Since(began)
		lease.Release()
		next.Release()
		_, err = one.Append(t.Context(), k.at, said(1))
		require.ErrorIs(t, err, session.ErrClosed)
		return took
	})
}

// A lease does not outlive its session, and has no power over one made anew under the same name.
func TestLeaseOfADeletedSession(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	k := newTalk(t, s, "s", nil)
	lease, err := s.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), k.at.Key))
	within(t, time.Minute, lease.Lost, "the session is gone")
	lease.Release()
	k = newTalk(t, s, "s", nil)
	next, err := s.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	defer next.Release()
	k.at.Fence = lease.Fence
	_, err = s.Append(t.Context(), k.at, said(1))
	require.ErrorIs(t, err, session.ErrFenced)
}

// The database's clock is set back after a holder died: its lease does not last for the difference. Both
// who wants the lease and who appends without one are let in, by each way to append.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	// set writes into the session what a holder wrote who died when the clock was ahead by this much.
	set := func(k *talk, ahead string) {
		sql(t, url, `UPDATE plughook_sessions SET epoch = nextval('plughook_fences'),
			lease = clock_timestamp() + $1::text::interval + interval '3 s' WHERE id = $2`, ahead, k.at.Key.ID)
	}
	for _, ahead := range []string{"10 s", "59 min", "20 years"} {
		k := newTalk(t, s, ahead, nil)
		contract.Within(
			t,
			9*time.Second,
			func() time.Duration { // less than the clock was set back by
				set(k, ahead)
				soon, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				began := time.Now()
				lease, err := s.Lease(soon, k.at.Key, "")
				require.NoError(t, err)
				took := time.Since(began)
				lease.Release()
				return took
			},
		)

		set(k, ahead)
		k.append(t, said(1))
		e := said(2)
		e.Actions.StateDelta = map[string]any{"a": 1, "app:a": 1}
		k.append(t, e)
		e = said(3)
		e.Actions.StateIncrement = map[string]float64{"app:n": 1}
		e.Actions.StateBound = map[string]float64{"app:n": 5}
		k.append(t, e)
	}

	// A clock that is set back by a moment takes no lease from a holder who is alive.
	k := newTalk(t, s, "alive", nil)
	other := open(t, url)
	keeps(t, func() bool {
		lease, err := s.Lease(t.Context(), k.at.Key, "")
		require.NoError(t, err)
		defer lease.Release()
		sql(t, url,
			"UPDATE plughook_sessions SET lease = lease + interval '2 s' WHERE id = 'alive'")
		return refused(t, other, k.at.Key, 200*time.Millisecond)
	})
}

// keeps has a holder keep a lease, once at least of 10 times: on a busy machine a renewal may come too late.
func keeps(t *testing.T, kept func() bool) {
	t.Helper()
	for range 10 {
		if kept() {
			return
		}
	}
	t.Fatal("the lease was not renewed in time, in any attempt")
}

// refused reports whether a store waits for a lease for as long as d.
func refused(t *testing.T, s session.Service, key session.Key, d time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	lease, err := s.Lease(ctx, key, "")
	if err == nil {
		lease.Release()
		return false
	}
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return true
}

// The database's clock is set forward while a holder is alive: its lease looks as if its time had run
// out. If nobody asks for it before it is renewed, nothing happens; TestExpiredLease has what happens else.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	other := open(t, url)
	k := newTalk(t, s, "s", nil)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	n := 0
	keeps(t, func() bool {
		lease, err := s.Lease(t.Context(), k.at.Key, "")
		require.NoError(t, err)
		defer lease.Release()
		k.at.Fence = lease.Fence
		sql(t, url, "UPDATE plughook_sessions SET lease = lease - interval '1 h'")
		n++
		k.append(t, said(n))
		require.Eventually(t, func() bool {
			var renewed bool
			err := conn.QueryRow(t.Context(), "SELECT lease > clock_timestamp() FROM plughook_sessions").
				Scan(&renewed)
			return err == nil && renewed
		}, time.Minute, 10*time.Millisecond)
		select {
		case <-lease.Lost:
			return false
		default:
		}
		if !refused(t, other, k.at.Key, 200*time.Millisecond) {
			return false
		}
		n++
		k.append(t, said(n))
		return true
	})
}
