package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// A call that waits for two people of a role is not the customer's to approve, on any route; those who have the role see it
// over all sessions, and answer it without reading the session.
func TestACallThatWaitsForARole(t *testing.T) {
	callers := map[string]server.Caller{
		"ann":  {User: "ann"},
		"bob":  {User: "bob", Roles: []string{"finance"}},
		"eve":  {User: "eve", Roles: []string{"finance"}},
		"shop": {User: "shop", OnBehalfOf: []string{"ann"}},
		"root": {User: "root", Admin: true},
	}
	s := serve(t, servertest.Desk, func(o *server.Options) {
		o.Kit = true
		o.Caller = func(r *http.Request) (server.Caller, error) {
			who, ok := callers[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
			if !ok {
				return who, server.ErrUnauthorized
			}
			return who, nil
		}
	})
	ask := func(who, method, path, body string) (int, string) {
		return s.Do(method, path, body, "Authorization", "Bearer "+who)
	}
	const one = "/v1/apps/desk/sessions/s"
	status, body := ask("ann", "POST", one+"/run", `{"message":"refund"}`)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"by":[{"by":"finance","names":2}]`)

	yes := `{"approve":true,"app":"desk","user":"ann","session":"s","calls":["refund-1"]}`
	event := `{"event":{"author":"user","actions":{"requestedToolConfirmations":{"refund-1":{"confirmed":true,"name":"bob","roles":["finance"]}}}}}`
	for _, row := range []struct {
		who, path, body string
		status          int
	}{
		{"ann", one + "/approve", `{"calls":["refund-1"]}`, 403},
		{"ann", one + "/decline", `{"calls":["refund-1"]}`, 403},
		{"ann", one + "/approve", `{"all":true}`, 409},
		{"ann", one + "/run", event, 403},
		{"ann", "/v1/approvals", yes, 404},
		{"shop", one + "/approve?user=ann", `{"calls":["refund-1"]}`, 403},
		{"root", one + "/approve?user=ann", `{"calls":["refund-1"]}`, 403},
		{"bob", one + "/run?user=ann", `{"message":"hi"}`, 404},
		{"bob", "/v1/approvals", strings.Replace(yes, `"s"`, `"none"`, 1), 404},
		{"bob", "/v1/approvals", yes, 200},
		{"bob", "/v1/approvals", yes, 403},
	} {
		status, body := ask(row.who, "POST", row.path, row.body)
		require.Equal(t, row.status, status, "%v: %s", row, body)
	}
	for who, waits := range map[string]int{"ann": 0, "shop": 0, "root": 0, "eve": 1} {
		_, body := ask(who, "GET", "/v1/approvals", "")
		require.Equal(t, waits, strings.Count(body, `"id":"refund-1"`), "%s: %s", who, body)
	}
	status, body = ask("eve", "POST", "/v1/approvals", yes)
	require.Equal(t, 200, status, body)

	// The log says who it was, and the tool ran once.
	_, body = ask("root", "GET", one+"/events?user=ann", "")
	for _, name := range []string{"bob", "eve"} {
		require.Contains(t, body, fmt.Sprintf(`"name":%q,"roles":["finance"]`, name))
	}
	var booked string
	require.Eventually(t, func() bool {
		_, booked = ask("ann", "GET", one+"/events", "")
		return strings.Contains(booked, `"booked":true`)
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, strings.Count(booked, `"booked":true`))
}

// An AG-UI client goes on while somebody else's answer is missing, and cannot give it.
func TestAGUIShowsNobodyElsesQuestions(t *testing.T) {
	s := serve(t, servertest.Desk, func(o *server.Options) {
		o.Caller = func(*http.Request) (server.Caller, error) { return server.Caller{User: "user"}, nil }
	})
	_, body := s.Do("POST", "/agui/desk", servertest.AGUIRequest("r1", "refund"))
	require.Contains(t, body, `"outcome":{"type":"success"}`)
	_, body = s.Do("POST", "/agui/desk", servertest.AGUIRequest("r2", "refund", "book"))
	require.Contains(t, body, `"interrupt"`)
	require.NotContains(t, strings.Split(body, "RUN_FINISHED")[1], "refund-1")
	log := s.Log("ada")
	require.NotEmpty(t, log)
	require.Equal(t, session.User, log[0].Author)
}
