package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// On a disk that fills up, and has room again, under two processes' writers, what was acknowledged is there,
// once, and nothing by halves. It needs the right to mount a small disk.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip("only root may mount a disk: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	s := openPath(t, filepath.Join(dir, "sessions.db"))
	stores := []*Store{s, another(t, s)}
	var keys []session.Key
	for range 4 {
		m, err := s.Create(t.Context(), session.Key{App: "app", User: "user"}, nil)
		require.NoError(t, err)
		keys = append(keys, m.Key)
	}
	acked := make([]int64, len(keys))
	size := 2 // of the disk, in MB
	filler := filepath.Join(dir, "filler")
	for range contract.Times(2) {
		// Writers go on until each has found the disk full.
		var writers sync.WaitGroup
		for i, key := range keys {
			writers.Go(func() {
				for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
					e := event1K()
					e.ID = fmt.Sprint("e", acked[i]+1)
					e.Actions.StateDelta = map[string]any{"n": acked[i] + 1}
					last, err := stores[i%2].Append(t.Context(),
						session.AppendTarget{Key: key, After: acked[i]}, e)
					switch {
					case err == nil:
						acked[i] = last
					case strings.Contains(err.Error(), "the disk is full, nothing was written"):
						return
					default:
						t.Error(err)
						return
					}
				}
				t.Error("the disk did not fill up")
			})
		}
		free := func() int64 {
			var f unix.Statfs_t
			require.NoError(t, unix.Statfs(dir, &f))
			return int64(f.Bavail) * f.Bsize
		}
		_ = os.WriteFile(filler, make([]byte, max(free()-256<<10, 0)),
			0o600) // or until the disk is full
		writers.Wait()
		require.False(t, t.Failed())
		for i, key := range keys {
			require.Equal(t, acked[i], position(t, s, key))
			m, err := s.Get(t.Context(), key)
			require.NoError(t, err)
			if acked[i] > 0 {
				require.EqualValues(t, acked[i], m.State["n"])
			}
		}

		// With room again all goes on.
		require.NoError(t, os.Remove(filler))
		size += 2
		require.NoError(t,
			unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dm", size)))
		for i, key := range keys {
			e := event1K()
			e.Actions.StateDelta = map[string]any{"n": acked[i] + 1}
			acked[i], err = s.Append(t.Context(), session.AppendTarget{Key: key, After: acked[i]},
				e)
			require.NoError(t, err)
		}
	}
	t.Log("events: ", acked)
}
