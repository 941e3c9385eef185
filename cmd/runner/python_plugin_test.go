package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/plugin/remote/python"
)

// A new plugin for Python passes its tests and runs, with the lines of its README.
func TestNewPluginForPython(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "polite")
	interpreter, err := python.Interpreter(dir)
	if err != nil {
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	code, _, stderr := clitest.Run(t, newRoot, nil, "plugin", "new", "polite", "--lang", "python", "--dir", dir)
	require.Zero(t, code, stderr)
	test := exec.Command(interpreter, "-m", "unittest", "plugin_test")
	test.Dir = dir
	out, err := test.CombinedOutput()
	require.NoError(t, err, "%s", out)

	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "said.yaml"), []byte("- say: the Secret is out\n"), 0o600))
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	_, yaml, ok := strings.Cut(string(readme), "```yaml\n")
	require.True(t, ok)
	yaml, _, _ = strings.Cut(yaml, "```")
	yaml = strings.Replace(yaml, "/usr/bin/python3", interpreter, 1)
	yaml = "agent: {model: 'script:said.yaml'}\n" + strings.Replace(yaml, "    config:",
		"    timeout: 60s\n    start_timeout: 60s\n    config:", 1)
	config := filepath.Join(dir, "runner.yaml")
	require.NoError(t, os.WriteFile(config, []byte(yaml), 0o600))
	code, _, stderr = clitest.Run(t, newRoot, nil, "plugin", "lock", "--config", config)
	require.Zero(t, code, stderr)
	code, stdout, stderr := clitest.Run(t, newRoot, nil, "run", "--config", config, "Tell me")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "the … is out")
	code, _, stderr = clitest.Run(t, newRoot, nil, "run", "--config", config, "What is the secret?")
	require.Equal(t, exit.Denied.Number, code, stderr)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "plughook", "values.py"), nil, 0o600))
	code, _, stderr = clitest.Run(t, newRoot, nil, "run", "--config", config, "Tell me")
	require.NotZero(t, code)
	require.Contains(t, stderr, "values.py",
		"all files of the library are in the README's list, so they are pinned")
}
