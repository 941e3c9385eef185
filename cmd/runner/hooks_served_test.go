package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the section hooks says holds for hooks that a server answers, and for those that answer alone.
func TestHooksAreServedAsConfigured(t *testing.T) {
	const later = `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUseNext","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`
	for _, unknown := range []string{"deny", "allow"} {
		command := inDir(t, map[string]string{
			"hooks.yaml": "store: sqlite:hooks.db\nhooks: {serve: true, unknown: " + unknown + "}\n",
			"none.yaml":  "store: sqlite:other.db\n",
		})
		command = func(start func(...string) *exec.Cmd) func(...string) *exec.Cmd {
			return func(args ...string) *exec.Cmd {
				cmd := start(args...)
				cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+filepath.Join(cmd.Dir, "run"))
				return cmd
			}
		}(command)
		allows := func(config string) bool {
			cmd := command("hook", "claude", "--event", "PreToolUseNext", "--config", config)
			cmd.Stdin = bytes.NewBufferString(later)
			said, err := cmd.CombinedOutput()
			return err == nil && len(said) == 0 // silence is consent
		}
		require.Equal(t, unknown == "allow", allows("hooks.yaml"), "alone, %s", unknown)

		s := startServe(t, command("serve", "--config", "hooks.yaml", "--addr", "127.0.0.1:0"))
		require.Contains(t, s.said(), "hooks of coding agents are answered at")
		require.Equal(t, unknown == "allow", allows("none.yaml"), "by the server, %s", unknown)
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		_ = s.cmd.Wait()
		require.False(t, allows("none.yaml"), "alone with a configuration that says nothing")
	}
}
