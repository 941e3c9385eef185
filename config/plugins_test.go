package config

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A timeout and what a failure does are wrapped around the plugin as the configuration says.
func TestTimeoutAndFailure(t *testing.T) {
	slow := session.Message(strings.Repeat("a", 1<<22)) // takes the regular expression long
	for onError, open := range map[string]bool{"closed": false, "open": true} {
		c, err := parse("c.yaml", []byte(
			`plugins: [{name: p, timeout: 1ns, on_error: `+onError+`, earlyexit: {rules: [{text: "(a.)*z", answer: b}]}}]`,
		))
		require.NoError(t, err)
		plugins, err := c.plugins(t.Context(), dependencies{log: slog.Default()})
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
