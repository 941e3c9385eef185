package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A timeout and what a failure does are wrapped around the plugin as the configuration says.
func TestTimeoutAndFailure(t *testing.T) {
	slow := session.Message(strings.Repeat("a", 1<<22)) // takes the regular expression long
	for onError, open := range map[string]bool{"closed": false, "open": true} {
		c, err := parseConfig("c.yaml", []byte(`plugins: [{name: p, timeout: 1ns, on_error: `+onError+`, earlyexit: {rules: [{text: "(a.)*z", answer: b}]}}]`))
		require.NoError(t, err)
		plugins, err := c.plugins(t.Context(), lent{log: slog.Default()})
		require.NoError(t, err)
		out, err := plugins[0].OnEvent(t.Context(), &session.Invocation{}, slow)
		if open {
			require.NoError(t, err)
			require.NotEmpty(t, out.Unchecked)
		} else {
			require.ErrorIs(t, err, plugin.ErrTimeout)
		}
		require.Equal(t, "p", plugins[0].Name)
	}
}

// Sessions go into PostgreSQL and come out as they were, too.
func TestPostgres(t *testing.T) {
	where := pgtest.Start(t).URL(t)
	code, _, stderr := inProcess(t, nil, "replay", "testdata/rich.jsonl", "--store", where)
	require.Zero(t, code, stderr)
	code, out, stderr := inProcess(t, nil, "session", "export", "--all", "--store", where)
	require.Zero(t, code, stderr)

	file := filepath.Join(t.TempDir(), "out.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(out), 0o600))
	code, _, stderr = inProcess(t, nil, "session", "import", file, "--store", "sqlite:"+file+".db")
	require.Zero(t, code, stderr)
	code, again, _ := inProcess(t, nil, "session", "export", "--all", "--store", "sqlite:"+file+".db")
	require.Zero(t, code)
	require.Equal(t, again, out)
}
