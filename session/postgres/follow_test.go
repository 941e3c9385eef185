//go:build unix

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/internal/soak"
	"github.com/plughook/plughook/session"
)

// Who follows a session sees exactly its log, also while the processes that append are killed.
func TestFollowKilledWriters(t *testing.T) {
	t.Parallel()
	soak.Follow(t, openSoak, pgtest.URL(t)+"&pool_max_conns=4")
}

// While the server is down nothing is seen; afterwards everything is.
func TestFollowServerGone(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := server.URL(t)
	s := open(t, url)
	k := newTalk(t, s, "s", nil)
	w, err := s.Watch(t.Context(), k.at.Key)
	require.NoError(t, err)
	defer w.Stop()
	time.Sleep(100 * time.Millisecond)
	server.Crash(t)
	time.Sleep(time.Second)
	server.Restart(t)

	// Another process appends as soon as the server is back.
	other := open(t, url)
	_, err = other.Append(t.Context(), k.at, said(1), said(2))
	require.NoError(t, err)
	select {
	case position := <-w.C:
		require.EqualValues(t, 2, position)
	case <-time.After(time.Minute):
		t.Fatal("the append was not seen")
	}
}

// Connections that break, also in the middle of a look, cost no event.
func TestFollowOnTerminatedBackends(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	k := newTalk(t, s, "s", nil)
	w, err := s.Watch(t.Context(), k.at.Key)
	require.NoError(t, err)
	defer w.Stop()
	other := open(t, url)
	killer := terminate(t, url, 1)
	defer killer.stop()
	for n := range int64(20) {
		killer.progress(0)
		_, err := other.Append(t.Context(), session.AppendTarget{Key: k.at.Key, After: n},
			said(int(n)))
		require.NoError(t, err)
		killer.progress(0)
		late := time.After(time.Minute)
		for seen := false; !seen; {
			select {
			case position := <-w.C:
				seen = position == n+1
			case <-late:
				t.Fatal("append ", n, " was not seen")
			}
		}
	}
}

// Once a newer program has migrated the schema, who follows a session is told so.
func TestFollowNewerSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	k := newTalk(t, s, "s", nil)
	k.append(t, said(1))
	seen := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		for _, err := range session.Follow(context.Background(), s, k.at.Key, 0) {
			if err != nil {
				ended <- err
				return
			}
			close(seen)
		}
	}()
	within(t, time.Minute, seen, "the follower sees what is there")
	sql(t, url, `ALTER TABLE plughook_sessions RENAME COLUMN head TO last;
		INSERT INTO plughook_migrations (version_id, is_applied) VALUES (99, true)`) // in one transaction
	select {
	case err := <-ended:
		require.ErrorIs(t, err, session.ErrNewerSchema)
	case <-time.After(time.Minute):
		t.Fatal("the follower goes on")
	}
}
