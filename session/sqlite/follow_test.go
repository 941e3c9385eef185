//go:build unix

package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/soak"
	"github.com/plughook/plughook/session"
)

// Who follows a session sees exactly its log, also while the processes that append are killed.
func TestFollowKilledWriters(t *testing.T) {
	t.Parallel()
	soak.Follow(t, openSoak, filepath.Join(t.TempDir(), "sessions.db"))
}

// An append by another process is seen, also by a watch that is made after the others were stopped.
func TestFollowAnotherProcess(t *testing.T) {
	t.Parallel()
	path, key := made(t)
	s := openPath(t, path)
	for round := range int64(3) {
		w, err := s.Watch(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, "3456"[round+1:round+2], appendElsewhere(t, path))
		select {
		case position := <-w.C:
			require.Equal(t, 4+round, position)
		case <-time.After(time.Minute):
			t.Fatal("the append was not seen")
		}
		w.Stop()
	}
}

// A holder that has died need not be waited for: Cancel ends when its lease has run out.
func TestCancelAHolderWhoDied(t *testing.T) {
	t.Parallel()
	contract.Within(t, session.CancelGrace, func() time.Duration {
		s, at := fresh(t, 500*time.Millisecond, patient)
		o := another(t, s)
		lease, err := s.Lease(t.Context(), at.Key, "run")
		require.NoError(t, err)
		s.leases.Abandon()
		began := time.Now()
		require.NoError(t, o.Cancel(t.Context(), at.Key, "run"))
		took := time.Since(began)
		got, err := o.Get(t.Context(), at.Key)
		require.NoError(t, err)
		require.Empty(t, got.Holder)

		// If it was only late, it can append no more either.
		at.Fence = lease.Fence
		_, err = s.Append(t.Context(), at, event1K())
		require.ErrorIs(t, err, session.ErrFenced)
		return took
	})
}

// When the files are moved away, nothing more can be seen: who follows a session is told so.
func TestFollowAMovedFile(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	ended := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		for _, err := range session.Follow(ctx, s, at.Key, 0) {
			ended <- err
		}
	}()
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, os.Rename(s.path, s.path+".moved"))
	require.ErrorContains(t, <-ended, "start this process again")
	require.NoError(t, os.Rename(s.path+".moved", s.path))
}
