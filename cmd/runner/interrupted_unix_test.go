//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
	"github.com/stretchr/testify/require"
)

// A command that waits for a file of which nothing comes ends when it is told to.
func TestInterruptedWhileReading(t *testing.T) {
	for _, args := range []string{
		"run Hello --config FILE", "config check --config FILE", "replay FILE", "replay testdata/rich.jsonl --config FILE",
		"session import FILE --store sqlite:DIR/a.db", "run Hello --config ../../examples/support/runner.yaml --file FILE",
		"run Hello --config DIR/script.yaml", "run Hello --config DIR/replay.yaml",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "pipe")
		require.NoError(t, syscall.Mkfifo(file, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "script.yaml"),
			[]byte("agent: {model: 'script:pipe'}"), 0o600))
		require.NoError(t,
			os.WriteFile(filepath.Join(dir, "replay.yaml"), []byte("agent: {replay: pipe}"), 0o600))
		ctx, cancel := context.WithCancelCause(t.Context())
		opened := make(chan *os.File)
		go func() {
			w, _ := os.OpenFile(file, os.O_WRONLY, 0) // once it is opened for reading
			cancel(signals.ErrInterrupted)
			opened <- w
		}()
		var stderr strings.Builder
		p := &cli.Program{Stdout: io.Discard, Stderr: &stderr}
		code := p.Run(ctx, newRoot(p),
			strings.Fields(strings.NewReplacer("FILE", file, "DIR", dir).Replace(args)))
		require.Equal(t, exit.Interrupted.Number, code, "%s: %s", args, stderr.String())
		require.NoError(t, (<-opened).Close()) // ends the read
	}
}
