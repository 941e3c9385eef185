package hooks_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// An agent in Python is judged by a plugin here, and what it does is in the log.
func TestAgentHooksHostInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Empty(t, os.Getenv("PLUGHOOK_TEST_ALL"), "python3 is not in PATH")
		t.Skip("python3 is not in PATH; install it to run this test")
	}
	policy := &plugin.Plugin{
		Name: "policy",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, c := range e.FunctionCalls() {
				if c.Args["command"] == "git push --force" {
					no := session.Respond(c, map[string]any{"error": "Do not push by force."})
					return plugin.Outcome{Emit: []*session.Event{no}, Reason: "no force"}, nil
				}
			}
			return plugin.Outcome{}, nil
		},
	}
	sessions := memory.New()
	r, err := runner.New(runner.Options{
		Agent:    agent.Outside("snake", "an agent in Python"),
		Sessions: sessions,
		Plugins:  []*plugin.Plugin{policy},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	s, err := server.New(server.Options{Apps: []server.App{{Name: "desk", Runner: r}}})
	require.NoError(t, err)
	web := httptest.NewServer(s)
	defer web.Close()

	out, err := exec.Command(python, "agent_hooks_host.py", web.URL+"/hooks/agent-hooks").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "pre_tool_call allow")
	require.Contains(t, string(out), "pre_tool_call deny no force")
	found := 0
	for hit, err := range sessions.Search(context.Background(), session.Query{Author: "snake", Match: "done"}) {
		require.NoError(t, err)
		require.Equal(t, "It is done.", hit.Event.Text())
		found++
	}
	require.Equal(t, 1, found)
}
