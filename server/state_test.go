package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
)

// What decides a tenant's budget or stands in an instruction is not the customer's to write, on no route; a service
// whose token has the role writes it.
func TestStateThatCallersMayNotWrite(t *testing.T) {
	callers := map[string]server.Caller{
		"ann":  {User: "ann"},
		"shop": {User: "shop", OnBehalfOf: []string{"ann"}, Roles: []string{"backend"}},
		"root": {User: "root", Admin: true},
	}
	limits, err := budget.New(budget.Config{
		TenantKey: "tenant",
		Limits:    []budget.Limit{{Name: "runs", Count: "runs", Max: 1000, Per: "tenant"}},
	})
	require.NoError(t, err)
	var rule server.StateRule
	start := func(t *testing.T) func(who, method, path, body string) (int, string) {
		s := servertest.Serve(t, servertest.Desk, func(o *server.Options) {
			o.Kit = true
			o.Apps[0].State = rule
			o.Caller = func(r *http.Request) (server.Caller, error) {
				return callers[r.Header.Get("Authorization")], nil
			}
		}, limits)
		return func(who, method, path, body string) (int, string) {
			return s.Do(method, path, body, "Authorization", who)
		}
	}
	rule = server.StateRule{Role: "backend", Read: []string{"shop"}}
	ask := start(t)
	const one = "/v1/apps/desk/sessions/s"
	const kit = "/apps/desk/users/ann/sessions"
	status, body := ask("ann", "POST", "/v1/apps/desk/sessions", `{"id":"s","state":{"mood":"good"}}`)
	require.Equal(t, 201, status, body)
	agui := strings.Replace(servertest.AGUIRequest("r1", "hi"), `"forwardedProps":{}`,
		`"forwardedProps":{"stateDelta":{"KEY":1}}`, 1)
	require.Contains(t, agui, "KEY")
	event := `{"event":{"author":"user","actions":{"stateIncrement":{"KEY":1}}}}`
	routes := []struct{ method, path, body string }{
		{"POST", "/v1/apps/desk/sessions", `{"state":{"KEY":1}}`},
		{"PATCH", one, `{"state":{"KEY":null}}`},
		{"POST", one + "/run", `{"message":"hi","stateDelta":{"KEY":1}}`},
		{"POST", one + "/run", event},
		{"POST", one + "/approve", `{"calls":["c"],"event":{"actions":{"stateDelta":{"KEY":"x"}}}}`},
		{"POST", "/chat", `{"message":"hi","session":"s","stateDelta":{"KEY":1}}`},
		{"POST", kit, `{"state":{"KEY":1}}`},
		{"PATCH", kit + "/s", `{"stateDelta":{"KEY":1}}`},
		{"POST", "/run", `{"appName":"desk","userId":"ann","sessionId":"s","newMessage":{"role":"user","parts":[{"text":"hi"}]},"stateDelta":{"KEY":1}}`},
		{"POST", "/agui/desk", agui},
		{"POST", "/v1/apps/desk/ui", `{"id":"s","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}],"stateDelta":{"KEY":1}}`},
	}
	for _, key := range []string{"tenant", "shop", "user:name", "app:name"} {
		for _, r := range routes {
			_, body := ask("ann", r.method, r.path, strings.ReplaceAll(r.body, "KEY", key))
			require.Contains(t, body, "it takes a caller who may", "%s by %s %s", key, r.method, r.path)
		}
		status, body := ask("shop", "PATCH", one+"?user=ann", `{"state":{"`+key+`":"acme"}}`)
		require.Equal(t, 200, status, body)
	}
	status, body = ask("ann", "PATCH", one, `{"state":{"mood":"bad"}}`)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"tenant":"acme"`)
	status, body = ask("root", "PATCH", one+"?user=ann", `{"state":{"app:name":"Desk"}}`)
	require.Equal(t, 200, status, body)
	status, body = ask("shop", "PATCH", one+"?user=ann", `{"state":{"budget:x":1}}`)
	require.Equal(t, 400, status, body) // that is the plugin's alone

	// The setting says it otherwise.
	rule = server.StateRule{Write: []string{"shop", "cart*", "user:lang"}}
	ask = start(t)
	for key, want := range map[string]int{
		"shop": 201, "cart.size": 201, "user:lang": 201, "mood": 400, "tenant": 400, "user:lang2": 400, "app:cart": 400,
	} {
		status, body := ask("ann", "POST", "/v1/apps/desk/sessions", `{"state":{"`+key+`":"x"}}`)
		require.Equal(t, want, status, "%s: %s", key, body)
	}
}
