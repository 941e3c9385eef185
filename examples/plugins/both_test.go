//go:build unix

package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// needNode skips a test where toolpolicy cannot be started; where nothing may be skipped that is a
// failure, unless whoever runs the tests has said that no npm registry can be reached.
func needNode(t *testing.T) {
	why := ""
	if _, err := exec.LookPath("node"); err != nil {
		why = "node is not in PATH: install Node.js 20 or later"
	} else if _, err := os.Stat("toolpolicy/node_modules/@grpc/grpc-js"); err != nil {
		why = "the plugin's packages are not installed: run npm ci in examples/plugins/toolpolicy"
	}
	switch {
	case why == "":
	case os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
}

// Both plugins, started from the one configuration, and what each of the commands in it comes to.
func TestBoth(t *testing.T) {
	t.Parallel()
	needNode(t)
	dir := t.TempDir()
	runner := theRunner(t)
	program := build(t, filepath.Join(dir, "bin"), "./audit")
	for _, name := range []string{"runner.yaml", "script.yaml"} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		// Machines can be busy, and Node.js is slow then.
		text := strings.NewReplacer("timeout: 5s", "timeout: 1m\n    start_timeout: 1m", "timeout: 2s", "timeout: 1m").
			Replace(string(data))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	here, err := filepath.Abs("toolpolicy")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(here, filepath.Join(dir, "toolpolicy")))

	for _, c := range []struct {
		input, says string
		code        int
	}{
		{"Refund 50", "Your money is on its way.", 0},
		{"Refund 500", "Refunds above 200 need a person.", 7},
		{"Delete my account", "I cannot do that, Nothing is deleted here.", 3},
	} {
		cmd := exec.Command(runner, "run", c.input, "--config", filepath.Join(dir, "runner.yaml"))
		out, _ := cmd.CombinedOutput() // the exit code tells
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), string(out))
		require.Contains(t, string(out), c.says)
	}
	data, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	record := string(data)
	require.Equal(t, 3, strings.Count(record, `"kind":"end"`))
	require.Contains(
		t,
		record,
		`"author":"plugin/toolpolicy","reason":"Refunds above 200 need a person.","confirmations":[{"call":"desk-1","confirmed":false}]`,
	)
	require.Regexp(
		t,
		`"author":"plugin/toolpolicy","reason":"Nothing is deleted here.","responses":\[\{"name":"delete_account",.*"error":"DENIED"`,
		record,
	)
	require.Equal(t, 1, strings.Count(record, `"responses":[{"name":"refund"`),
		"the one that waits was not made")
	out, err := exec.Command(program, "verify", filepath.Join(dir, "audit.jsonl")).CombinedOutput()
	require.NoError(t, err, string(out))
}
