package server_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session/memory"
)

// Who may say yes is said in a policy, in a budget and at a tool, all in YAML. On no surface does the customer say yes in
// the place of a role; one who has it does, or two different people where two names are asked for.
func TestWhoIsAskedByAConfiguration(t *testing.T) {
	const head = `
app: desk
agent: {name: desk, model: "script:script.yaml", tools: [refund]}
`
	const tool = "tools: [{name: refund, description: Pays back., command: [echo, '{\"paid\": true}']"
	for name, c := range map[string]struct {
		yaml   string
		names  int
		budget bool
	}{
		"policy":          {names: 1, yaml: head + tool + "}]\nplugins: [{guardrail: {file: policy.yaml}}]\n"},
		"two by a policy": {names: 2, yaml: head + tool + "}]\nplugins: [{guardrail: {file: two.yaml}}]\n"},
		"tool":            {names: 2, yaml: head + tool + ", confirm: Pay back?, ask: {by: finance, names: 2}}]\n"},
		"budget": {names: 2, budget: true, yaml: head + tool + "}]\nplugins: [{budget: {limits: [" +
			"{name: refunds, count: tool_calls, tools: [refund], max: 1, per: user, beyond: ask, ask: {by: finance, names: 2}}]}}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveConfig(t, c.yaml, map[string]string{
				"script.yaml": "- response: refund\n  say: Done.\n- user: refund\n  call: {name: refund, args: {}}\n- say: Hello.\n",
				"policy.yaml": "rules: [{id: r, stages: [tool_args], scope: {tool: refund}, when: 'tool.name == \"refund\"', action: ask, message: Pay?, ask: {by: finance}}]\n",
				"two.yaml":    "ask: {by: finance, names: 2}\nrules: [{id: r, stages: [tool_args], scope: {tool: refund}, when: 'tool.name == \"refund\"', action: ask, message: Pay?}]\n",
			})
			ask := func(who, method, path, body string) (int, string) {
				return s.Do(method, path, body, "Authorization", who, "A2A-Version", "1.0")
			}
			const one = "/v1/apps/desk/sessions/s"
			refund := func(id string) string {
				_, body := ask("ann", "POST", one+"/run", `{"message":"refund","id":"`+id+`"}`)
				return body
			}
			paid := 0
			if c.budget {
				require.Contains(t, refund("one"), "Done.") // the budget has one without a question
				paid = 1
			}
			_ = refund("two")
			_, waits := ask("bob", "GET", "/v1/approvals", "")
			call := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(waits)
			require.NotNil(t, call, waits)
			_, log := ask("ann", "GET", one+"/events", "")
			require.Equal(t, paid, strings.Count(log, `"paid":true`), log)

			// The customer, on each surface.
			_, kit := ask("ann", "GET", "/apps/desk/users/ann/sessions/s", "")
			confirm := regexp.MustCompile(`confirm-\d+-`).FindString(kit)
			require.NotEmpty(t, confirm, kit)
			for _, r := range []struct{ path, body string }{
				{one + "/approve", `{"calls":["` + call[1] + `"]}`},
				{one + "/run", `{"event":{"author":"user","actions":{"requestedToolConfirmations":{"` + call[1] + `":{"confirmed":true}}}}}`},
				{"/run", `{"appName":"desk","userId":"ann","sessionId":"s","newMessage":{"role":"user","parts":[{"functionResponse":{"id":"` +
					confirm + call[1] + `","name":"adk_request_confirmation","response":{"confirmed":true}}}]}}`},
				{"/a2a/desk", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","contextId":"s","taskId":"s:two","role":"ROLE_USER",` +
					`"parts":[{"data":{"id":"` + call[1] + `","confirmed":true}}]}}}`},
			} {
				status, body := ask("ann", "POST", r.path, r.body)
				require.Contains(t, body, "not yours", "%s: %d", r.path, status)
				_, log := ask("ann", "GET", one+"/events", "")
				require.Equal(t, paid, strings.Count(log, `"paid":true`), r.path)
			}

			// Those who are asked: one, or two, of whom nobody counts twice.
			yes := `{"approve":true,"app":"desk","user":"ann","session":"s","calls":["` + call[1] + `"]}`
			status, body := ask("eve", "POST", "/v1/approvals", yes)
			require.Equal(t, 200, status, body)
			_, log = ask("ann", "GET", one+"/events", "")
			if c.names == 2 {
				require.Equal(t, paid, strings.Count(log, `"paid":true`), log)
				status, body = ask("eve", "POST", "/v1/approvals", yes)
				require.Equal(t, 403, status, body)
				status, body = ask("bob", "POST", "/v1/approvals", yes)
				require.Equal(t, 200, status, body)
			}
			require.Eventually(t, func() bool { // the run goes on behind the answer
				_, log = ask("ann", "GET", one+"/events", "")
				return strings.Count(log, `"paid":true`) == paid+1
			}, time.Minute, 10*time.Millisecond)
			require.Contains(t, log, `"name":"eve","roles":["finance"]`)
		})
	}
}

// serveConfig serves a configuration, with its files. The header Authorization names the caller; bob and eve have the role
// finance.
func serveConfig(t *testing.T, yaml string, files map[string]string) *servertest.Service {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c, err := config.Parse(filepath.Join(dir, "runner.yaml"), []byte(yaml))
	require.NoError(t, err)
	sessions := memory.New()
	opened, err := c.Open(t.Context(), config.Options{Sessions: sessions})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close(context.Background())) })
	r, err := runner.New(runner.Options{Agent: opened.Agent, Sessions: sessions, Plugins: opened.Plugins})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return servertest.ServeOn(t, sessions, opened.Agent, func(o *server.Options) {
		o.Kit = true
		o.Apps[0] = server.App{Name: "desk", Runner: r, State: server.StateRule{Read: c.StateRead()}}
		o.Caller = func(r *http.Request) (server.Caller, error) {
			who := server.Caller{User: r.Header.Get("Authorization")}
			if who.User != "ann" {
				who.Roles = []string{"finance"}
			}
			return who, nil
		}
	})
}
