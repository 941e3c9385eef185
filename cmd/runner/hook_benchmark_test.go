//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkHook is a hook as a process: the program alone, with a server that answers, and with a store of its own. It
// reports the median of whole processes, from start to end.
func BenchmarkHook(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "runner")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(b, err, string(out))
	env := append(os.Environ(), "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"))
	start := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = env
		return cmd
	}
	install := start("hook", "install", "claude", "--project", "--yes")
	out, err = install.CombinedOutput()
	require.NoError(b, err, string(out))
	const call = `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"go build ./..."},"tool_use_id":"t"}`
	measure := func(b *testing.B, args ...string) {
		var took []time.Duration
		for b.Loop() {
			cmd := start(args...)
			cmd.Stdin = strings.NewReader(call)
			began := time.Now()
			out, err := cmd.CombinedOutput()
			took = append(took, time.Since(began))
			require.NoError(b, err, string(out))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	}
	b.Run("version", func(b *testing.B) { measure(b, "version") })
	b.Run("alone", func(b *testing.B) { measure(b, "hook", "claude", "--event", "PreToolUse") })
	b.Run("server", func(b *testing.B) {
		server := start("serve", "--config", filepath.Join(".plughook", "runner.yaml"), "--hooks", "--addr", "127.0.0.1:0")
		require.NoError(b, server.Start())
		defer func() {
			_ = server.Process.Kill()
			_ = server.Wait()
		}()
		for socket := filepath.Join(dir, "run", "plughook-hooks.sock"); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(socket); err == nil {
				break
			}
		}
		measure(b, "hook", "claude", "--event", "PreToolUse")
	})
}
