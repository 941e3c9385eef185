package v1_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A change of state that a plugin refuses is no success.
func TestADeniedPatchIsForbidden(t *testing.T) {
	guard := &plugin.Plugin{
		Name: "guard",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Actions.StateDelta["secret"] == nil {
				return plugin.Outcome{}, nil
			}
			no := session.Reply("No.")
			no.ErrorCode = session.Denied
			return plugin.Outcome{Emit: []*session.Event{no}, Withhold: true, Stop: true, Reason: "a rule"}, nil
		},
	}
	s := serve(t, servertest.Echo, nil, guard)
	const path = "/v1/apps/desk/sessions/ada"
	status, _ := s.Do("POST", "/v1/apps/desk/sessions", `{"id":"ada"}`)
	require.Equal(t, 201, status)
	status, body := s.Do("PATCH", path, `{"state":{"secret":1}}`)
	require.Equal(t, 403, status, body)
	require.Contains(t, body, `"code":"denied"`)
	require.Contains(t, body, "a rule")
	status, body = s.Do("PATCH", path, `{"state":{"plain":1}}`)
	require.Equal(t, 200, status, body)
	require.NotContains(t, body, "secret")
}

// A rewind, or an undo, that is sent again with its id is not carried out again, and told as it was.
func TestARewindSentAgain(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	const path = "/v1/apps/desk/sessions/ada"
	for _, text := range []string{"one", "two", "three"} {
		status, body := s.Do("POST", path+"/run", `{"message":"`+text+`"}`)
		require.Equal(t, 200, status, body)
	}
	for _, c := range [][3]string{
		{"/rewind", `{"id":"r-1","turns":1}`, `{"id":"r-1","turns":2}`}, {"/undo", `{"id":"u-1"}`, ""},
	} {
		route, body := c[0], c[1]
		status, was := s.Do("POST", path+route, body)
		require.Equal(t, 200, status, was)
		position := len(s.Log("ada"))
		status, is := s.Do("POST", path+route, body)
		require.Equal(t, 200, status, is)
		require.JSONEq(t, was, is)
		require.Len(t, s.Log("ada"), position)
		if c[2] != "" { // another one with its id is none that was carried out
			status, is = s.Do("POST", path+route, c[2])
			require.Equal(t, 409, status, is)
			require.Contains(t, is, "id_reused")
		}
	}
}

// Without a plugin that rewinds, a rollback is refused before it has cancelled the other run.
func TestARollbackWithoutItsPluginCancelsNobody(t *testing.T) {
	goOn := make(chan struct{})
	a := agent.New("helper", "It waits.", servertest.Waiting(goOn))
	s := servertest.ServeOn(t, memory.New(), a, nil)
	const path = "/v1/apps/desk/sessions/ada/run"
	first := s.Open(t.Context(), "POST", path, `{"message":"first"}`, "Accept", "text/event-stream")
	defer first.Body.Close()
	status, body := s.Do("POST", path, `{"message":"second","onBusy":"rollback"}`)
	require.Equal(t, 501, status, body)
	close(goOn)
	frames := servertest.Frames(t, first.Body, nil)
	require.Contains(t, frames[len(frames)-1].Data, `"kind":"done"`)
}

// What is refused before any route is refused as JSON, too; names that no path can have make no session.
func TestHeadersAndNamesThatAreRefused(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	resp := s.Open(t.Context(), "GET", "/v1/apps", "", "X-Long", strings.Repeat("x", 70<<10))
	defer resp.Body.Close()
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	for _, name := range []string{".", ".."} {
		status, body := s.Do("POST", "/v1/apps/desk/sessions", `{"id":"`+name+`"}`)
		require.Equal(t, 400, status, body)
	}
}
