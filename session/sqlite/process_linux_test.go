package sqlite

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The lease of a process that was killed is free at once, and that of one that is stopped is not.
func TestLeaseOfAProcessThatWasKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := open(t.Context(), path, time.Hour, patient)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Create(t.Context(), held, nil)
	require.NoError(t, err)
	holder := func() string {
		got, err := s.Get(t.Context(), held)
		require.NoError(t, err)
		return got.Holder
	}
	begin := func() *exec.Cmd { // it holds the lease, and no time runs out
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), holdVariable+"="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill() })
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "held\n", line)
		return child
	}

	// A stopped process may go on, and append.
	child := begin()
	require.NoError(t, child.Process.Signal(syscall.SIGSTOP))
	require.Equal(t, "the child", holder())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = s.Lease(ctx, held, "another")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	// A killed one may not, also before anybody has waited for it.
	require.NoError(t, child.Process.Kill())
	require.Eventually(t, func() bool { return holder() == "" }, time.Minute, time.Millisecond)
	_ = child.Wait()
	require.Empty(t, holder())
	lease, err := s.Lease(t.Context(), held, "another")
	require.NoError(t, err)
	require.Equal(t, "another", holder())
	lease.Release()
}
