//go:build unix

package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// plugin lock pins all that the plugin in Node.js is, but for its packages and its tests: a source
// that was changed is not started.
func TestSourcesAreLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runner := theRunner(t)
	build(t, filepath.Join(dir, "bin"), "./audit")
	var sources []string
	for _, pattern := range []string{"runner.yaml", "script.yaml", "toolpolicy/*.*", "toolpolicy/plughook/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
			switch filepath.Base(name) {
			case "runner.yaml",
				"script.yaml",
				"README.md",
				"verify.json",
				"plugin.test.mjs",
				"toolpolicy_test.go":
			default:
				sources = append(sources, name)
			}
		}
	}
	lock := func(arguments ...string) (string, error) {
		out, err := exec.Command(runner, append([]string{"plugin", "lock", "--config", filepath.Join(dir, "runner.yaml")}, arguments...)...).
			CombinedOutput()
		return string(out), err
	}
	if _, err := exec.LookPath("node"); err != nil {
		needNode(t)
	}
	out, err := lock()
	require.NoError(t, err, out)
	require.NotContains(t, out, "warning")
	require.Greater(t, len(sources), 10)
	for _, name := range sources {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(data, ' '), 0o600))
		out, err := lock("--check")
		require.Error(t, err, "%s is not pinned", name)
		require.Contains(t, out, "the SHA-256 of "+name+" is ")
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	out, err = lock("--check")
	require.NoError(t, err, out)
}
