package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
	"github.com/stretchr/testify/require"
)

func TestNothingIsLeftRunning(t *testing.T) {
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	half := filepath.Join(dir, "half.yaml") // one of its servers starts
	require.NoError(t, os.WriteFile(half, []byte(`
artifacts: files
mcp:
  - {name: stations, command: [go, -C, `+root+`, run, ./examples/weather/server], env: [GOCACHE, GOFLAGS, GOMODCACHE, GOPATH, GOPROXY]}
  - {name: dead, command: [sh, -c, exit 1]}
agent: {model: "script:`+root+`/examples/weather/script.yaml", tools: [stations, dead]}
`), 0o600))
	process := filepath.Join(dir, "process.yaml") // a plugin in a process of its own
	require.NoError(t, os.WriteFile(process, []byte(`
agent: {model: "script:`+root+`/examples/weather/script.yaml"}
plugins: [{command: [desk-plugin], env: [GORACE=atexit_sleep_ms=0], timeout: 60s, start_timeout: 60s}]
`), 0o600))
	dead := filepath.Join(dir, "dead.yaml") // one of its plugins starts
	require.NoError(t, os.WriteFile(dead, []byte(`
agent: {model: "script:`+root+`/examples/weather/script.yaml"}
plugins: [{command: [desk-plugin], env: [GORACE=atexit_sleep_ms=0]}, {name: dead, command: [sh, -c, exit 1]}]
`), 0o600))
	for _, args := range [][]string{
		{"replay", "testdata/rich.jsonl", "--store", db, "--workers", "3"},
		{"replay", "testdata/rich.jsonl", "--config", process},
		{"run", "Hello", "--store", db, "--config", process},
		{"chat", "--config", process},
		{"plugin", "list", "--config", process},
		{"session", "export", "--all", "--store", db},
		{"session", "list", "--store", db},
		{"run", "Hello", "--store", db, "--config", "../../examples/support/runner.yaml"},
		{"demo"},
		{"run", "What is the weather in Paris?", "--store", db, "--config", "../../examples/weather/runner.yaml"},
		{"chat", "--store", db, "--config", "../../examples/weather/runner.yaml"},
		{"config", "check", "--config", "../../examples/weather/runner-gemini.yaml"},
	} {
		code, _, stderr := clitest.RunLeakless(
			t,
			newRoot,
			strings.NewReader("What is the weather in Rome?\n/quit\n"),
			args...)
		require.Zero(t, code, "%v: %s", args, stderr)
	}
	for _, args := range [][]string{
		{"replay", "testdata/rich.jsonl", "--store", db},
		{"run", "Refund all", "--store", "memory:", "--config", "../../examples/support/runner.yaml"},
		{"run", "Hello", "--store", "sqlite:" + t.TempDir(), "--config", "../../examples/support/runner.yaml"},
		{"session", "show", "nobody", "--store", db},
		{"run", "Hello", "--config", half},
		{"run", "Hello", "--config", dead},
		{"run", "crash", "--config", process},
		{"run", "Hello", "--store", "sqlite:" + t.TempDir(), "--config", process},
		{"plugin", "list", "--config", dead},
		{"chat", "--config", half},
	} {
		code, _, _ := clitest.RunLeakless(t, newRoot, nil, args...)
		require.NotZero(t, code, "%v", args)
	}
}

func TestInterruptedBeforeAnythingIsTyped(t *testing.T) {
	typed, never := io.Pipe()
	defer never.Close() // ends the read
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signals.ErrInterrupted)
	var stderr bytes.Buffer
	p := &cli.Program{Stdin: typed, Stdout: io.Discard, Stderr: &stderr}
	require.Equal(t, exit.Interrupted.Number,
		p.Run(ctx, newRoot(p), []string{"run", "--config", "../../examples/support/runner.yaml"}))
	require.Equal(t, "runner: interrupted\n", stderr.String())
}
