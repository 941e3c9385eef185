package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
)

// within fails the test if a channel is not closed soon.
func within(t *testing.T, d time.Duration, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(d):
		t.Fatal("not within ", d, ": ", what)
	}
}

// A turn whose time ran out, by the database's clock, is another's for the asking; its holder learns it
// within a second or two and can append no more. Until somebody asks, it is still the holder's.
func TestExpiredTurn(t *testing.T) {
	url := pgtest.URL(t)
	one, two := open(t, url), open(t, url)
	k := newTalk(t, one, "s", nil)
	turn, err := one.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	defer turn.Release()
	sql(t, url, "UPDATE plughook_sessions SET lease = clock_timestamp() - interval '1 s'")
	k.at.Fence = turn.Fence
	k.append(t, said(1))

	began := time.Now()
	sql(t, url, "UPDATE plughook_sessions SET lease = clock_timestamp() - interval '1 s'")
	next, err := two.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Second)
	require.Greater(t, next.Fence, turn.Fence)
	_, err = one.Append(t.Context(), k.at, said(2))
	require.ErrorIs(t, err, session.ErrFenced)
	within(t, 3*time.Second, turn.Lost, "the holder learns that the turn is lost")
	turn.Release() // takes nothing from the next
	k.at.Fence = next.Fence
	k.append(t, said(2))
	next.Release()
	_, err = two.Append(t.Context(), k.at, said(3))
	require.ErrorIs(t, err, session.ErrFenced, "the turn was given back")
	k.at.Fence = 0
	k.append(t, said(3))
}

// A turn that is held is renewed, so it outlasts its time.
func TestRenewedTurn(t *testing.T) {
	url := pgtest.URL(t)
	one, two := open(t, url), open(t, url)
	k := newTalk(t, one, "s", nil)
	turn, err := one.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
	defer cancel()
	_, err = two.Lease(ctx, k.at.Key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case <-turn.Lost:
		t.Fatal("lost")
	default:
	}
	turn.Release()
	began := time.Now()
	next, err := two.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Second)
	next.Release()
}

// A caller who leaves while the turn is being taken leaves no turn behind.
func TestTurnOfACallerWhoLeft(t *testing.T) {
	url := pgtest.URL(t)
	one, two := open(t, url), open(t, url)
	k := newTalk(t, one, "s", nil)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM plughook_sessions FOR UPDATE")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = one.Lease(ctx, k.at.Key) // waits for the row
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 500*time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	turn, err := two.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 1500*time.Millisecond)
	turn.Release()
}

// Close ends the turns: their holders learn it, those who wait get ErrClosed, others can go on at once.
func TestCloseEndsTurns(t *testing.T) {
	url := pgtest.URL(t)
	one, two := open(t, url), open(t, url)
	k := newTalk(t, one, "s", nil)
	turn, err := one.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	waiting := make(chan error)
	go func() {
		_, err := one.Lease(context.Background(), k.at.Key)
		waiting <- err
	}()
	require.NoError(t, one.Close())
	require.ErrorIs(t, <-waiting, session.ErrClosed)
	within(t, time.Second, turn.Lost, "Close ends the turn")
	began := time.Now()
	next, err := two.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Second)
	turn.Release()
	next.Release()
	_, err = one.Append(t.Context(), k.at, said(1))
	require.ErrorIs(t, err, session.ErrClosed)
}

// A turn does not outlive its session, and has no power over one made anew under the same name.
func TestTurnOfADeletedSession(t *testing.T) {
	s := open(t, pgtest.URL(t))
	k := newTalk(t, s, "s", nil)
	turn, err := s.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), k.at.Key))
	within(t, 3*time.Second, turn.Lost, "the session is gone")
	turn.Release()
	k = newTalk(t, s, "s", nil)
	next, err := s.Lease(t.Context(), k.at.Key)
	require.NoError(t, err)
	defer next.Release()
	k.at.Fence = turn.Fence
	_, err = s.Append(t.Context(), k.at, said(1))
	require.ErrorIs(t, err, session.ErrFenced)
}
