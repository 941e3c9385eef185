package hooks_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// The example's interceptor, in Python, changes an answer and lets a call wait; verdicts are in the audit.
func TestAgentHooksInterceptorInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Empty(t, os.Getenv("PLUGHOOK_TEST_ALL"), "python3 is not in PATH")
		t.Skip("python3 is not in PATH; install it to run this test")
	}

	// The interceptor prints the port that it listens on.
	interceptor := exec.Command(python, "elsewhere/interceptor.py", "0")
	out, err := interceptor.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, interceptor.Start())
	defer func() { _ = interceptor.Wait() }()
	defer func() { _ = interceptor.Process.Kill() }()
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)

	file, err := os.ReadFile("elsewhere/runner.yaml")
	require.NoError(t, err)
	record := filepath.Join(t.TempDir(), "verdicts.jsonl")
	text := strings.NewReplacer("- agenthost:", "- name: keeper\n    agenthost:", "8900", strings.TrimSpace(port), "verdicts.jsonl", record).Replace(string(file))
	c, err := config.Parse("elsewhere/runner.yaml", []byte(text))
	require.NoError(t, err)
	report, err := c.Check(t.Context(), config.Options{})
	require.NoError(t, err)
	require.Empty(t, report.Needs)
	parts, err := c.Open(t.Context(), config.Options{Sessions: memory.New(), ServerStderr: io.Discard})
	require.NoError(t, err)
	defer func() { require.NoError(t, parts.Close(context.Background())) }()
	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions, Plugins: parts.Plugins})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	run := func(input *session.Event) string {
		var said []string
		for e, err := range r.Run(t.Context(), session.Key{App: "door", User: "ada", ID: "s"}, input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
			said = append(said, e.Text())
		}
		return strings.Join(said, "|")
	}

	require.Contains(t, run(session.Message("Is the door open?")), "The code is [code].")
	require.NotContains(t, run(session.Message("Open the door")), "is open")
	require.Contains(t, run(session.Decision(true, "porter-1")), "The door is open.")

	lines, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Contains(t, string(lines), `"kind":"hook"`)
	require.Contains(t, string(lines), `"verdict":{"decision":"transform"`)
	require.Contains(t, string(lines), `"reason":"door:ask"`)
	require.NotContains(t, string(lines), "4711")
	require.NotContains(t, string(lines), "Open the door?")
}
