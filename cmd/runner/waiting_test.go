package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// A command that waits because another process runs the session says so on standard error.
func TestWaitingForAnotherProcessIsSaid(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	other, err := sqlite.Open(t.Context(), path) // as another process would
	require.NoError(t, err)
	defer other.Close()
	m, err := other.Create(t.Context(), session.Key{App: "runner", User: "user", ID: "ada"}, nil)
	require.NoError(t, err)
	for _, args := range [][]string{
		{"run", "What is the weather in Paris?"},
		{"chat"},
	} {
		lease, err := other.Lease(t.Context(), m.Key, "another run")
		require.NoError(t, err)
		stderr := &untilWaiting{then: lease.Release}
		p := &cli.Program{
			Stdin:  strings.NewReader("What is the weather in Rome?\n/quit\n"),
			Stdout: io.Discard,
			Stderr: stderr,
		}
		args = append(args, "--session", "ada", "--app", "runner", "--store", "sqlite:"+path,
			"--config", "../../examples/weather/runner.yaml")
		code := p.Run(t.Context(), newRoot(p),
			args) // does not end before the other gives the lease back
		require.Zero(t, code, stderr.String())
		require.Contains(t, stderr.String(), "session=runner/user/ada")
	}
}

// untilWaiting keeps what is written, and calls then when that says that a run waits for another.
type untilWaiting struct {
	mu   sync.Mutex
	text strings.Builder
	then func()
}

func (w *untilWaiting) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.text.Write(p)
	w.mu.Unlock()
	if bytes.Contains(
		p,
		[]byte("waiting until another run on the session, perhaps in another process, has ended"),
	) {
		w.then()
	}
	return len(p), nil
}

func (w *untilWaiting) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
