//go:build unix

package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/audit"
)

// A recorded conversation under the audit as a process, and in process.
func TestAudit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runner := build(t, dir, "../../cmd/runner")
	program := build(t, filepath.Join(dir, "bin"), "./audit")
	conversation, err := filepath.Abs("../support/conversation.jsonl")
	require.NoError(t, err)

	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	entry := auditEntry(t)
	entry["timeout"] = "1m" // machines can be busy
	entry["start_timeout"] = "1m"
	write(t, filepath.Join(dir, "process.yaml"), entry)
	config := entry["config"].(map[string]any)
	config["path"] = "here.jsonl"
	write(t, filepath.Join(dir, "here.yaml"), map[string]any{"audit": config})
	for _, name := range []string{"process.yaml", "here.yaml"} {
		run(runner, "replay", conversation, "--config", name)
	}
	process, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	here, err := os.ReadFile(filepath.Join(dir, "here.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(here), string(process))
	require.Contains(t, string(process), `"calls":[{"name":"find_order","id":"c1","size":16}]`)
	require.NotContains(t, string(process), "flower")

	require.Regexp(t, `^lines 1 to 14 hold, 0 repairs, last hash [0-9a-f]{64}\n$`,
		run(program, "verify", "audit.jsonl"))
	changed := strings.Replace(string(process), "find_order", "cancel_order", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "changed.jsonl"), []byte(changed), 0o600))
	cmd := exec.Command(program, "verify", "changed.jsonl")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the chain is broken")
	require.Equal(t, 1, cmd.ProcessState.ExitCode())

	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "key"), []byte("a key of enough bytes\n"), 0o600))
	cmd = exec.Command(program, "fingerprint", "-key", "key")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("Hello")
	printed, err := cmd.Output()
	require.NoError(t, err)
	want, err := audit.Fingerprint([]byte("a key of enough bytes"), "Hello")
	require.NoError(t, err)
	require.Equal(t, want+"\n", string(printed))
	cmd = exec.Command(program, "fingerprint")
	require.Error(t, cmd.Run())
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
}

// auditEntry returns the audit's entry in the example's configuration.
func auditEntry(t *testing.T) map[string]any {
	data, err := os.ReadFile("runner.yaml")
	require.NoError(t, err)
	var c struct{ Plugins []map[string]any }
	require.NoError(t, yaml.Unmarshal(data, &c))
	last := c.Plugins[len(c.Plugins)-1]
	require.Equal(t, "audit", last["name"], "the audit stands last")
	return last
}

// write writes a configuration with one plugin.
func write(t *testing.T, path string, entry map[string]any) {
	data, err := yaml.Marshal(map[string]any{"plugins": []any{entry}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
