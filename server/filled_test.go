package server_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
)

// The state that sessions begin with fills the user's share of the store, on every route that makes sessions.
func TestTheStateOfNewSessionsIsBounded(t *testing.T) {
	s := servertest.Serve(t, servertest.Echo, func(o *server.Options) {
		o.Kit = true
		o.Limits.UserSessions = 100_000
	})
	state := `{"state":{"x":"` + strings.Repeat("y", 30_000) + `"}}`
	for range 3 {
		status, body := s.Do("POST", "/v1/apps/desk/sessions", state)
		require.Equal(t, 201, status, body)
	}
	status, body := s.Do("POST", "/v1/apps/desk/sessions", `{"id":"small","state":{"x":1}}`)
	require.Equal(t, 201, status, body)
	for _, r := range [][2]string{
		{"/v1/apps/desk/sessions", state},
		{"/apps/desk/users/user/sessions", state},
		{"/v1/apps/desk/sessions/small/run", `{"message":"` + strings.Repeat("y", 30_000) + `"}`},
	} {
		status, body := s.Do("POST", r[0], r[1])
		require.Equal(t, 413, status, "%s %s", r[0], body)
		require.Contains(t, body, "user_sessions")
	}

	// A fork begins with the same state.
	s = servertest.Serve(t, servertest.Echo, func(o *server.Options) { o.Limits.UserSessions = 100_000 })
	status, body = s.Do("POST", "/v1/apps/desk/sessions", strings.Replace(state, "{", `{"id":"s",`, 1))
	require.Equal(t, 201, status, body)
	for i, want := range []int{201, 201, 413} {
		status, body := s.Do("POST", "/v1/apps/desk/sessions/s/fork", fmt.Sprintf(`{"id":"f%d"}`, i))
		require.Equal(t, want, status, body)
	}
}

// What hooks tell of an agent is bounded as a run's input is.
func TestWhatHooksTellIsBounded(t *testing.T) {
	number := 0
	hook := func(s *servertest.Service, id, point string, size int) (int, string) {
		number++
		return s.Do("POST", "/hooks/agent-hooks", fmt.Sprintf(`{"spec":"agent-hooks/0.1","interception_point":%q,`+
			`"timestamp":"2026-01-01T00:00:00Z","sequence":%d,"agent":{"id":"desk","framework":"x"},"session":{"id":%q},`+
			`"input":{"content":%q,"role":"user"}}`, point, number, id, strings.Repeat("z", size)))
	}
	s := servertest.Serve(t, servertest.Echo, func(o *server.Options) {
		o.Limits.Session = 50_000
		o.Limits.UserSessions = 80_000
	})
	for _, step := range []struct {
		id   string
		want int
		says string
	}{{"a", 200, ""}, {"a", 413, "limit session"}, {"b", 200, ""}, {"c", 413, "limit user_sessions"}} {
		status, body := hook(s, step.id, "input", 30_000)
		require.Equal(t, step.want, status, body)
		require.Contains(t, body, step.says)
	}
	status, body := hook(s, "a", "pre_model_call", 60_000) // what it repeats is not stored
	require.Equal(t, 200, status, body)

	// It is one of the user's runs.
	block := make(chan struct{})
	s = servertest.Serve(t, servertest.Waiting(block), func(o *server.Options) { o.Limits.UserRuns = 1 })
	resp := s.Open(t.Context(), "POST", "/chat", `{"session":"busy","message":"Hello"}`)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
	status, body = hook(s, "other", "input", 10)
	close(block)
	require.Equal(t, 429, status, body)
	require.Contains(t, body, "limit user_runs")
}

// A fork whose ID the store makes is compared with a session's limit by itself, and not with all sessions of its user.
func TestAForkWithoutAnIDIsASessionByItself(t *testing.T) {
	s := servertest.Serve(t, servertest.Echo, func(o *server.Options) { o.Limits.Session = 30_000 })
	for _, id := range []string{"a", "b"} {
		status, body := s.Do("POST", "/v1/apps/desk/sessions/"+id+"/run", `{"message":"`+strings.Repeat("y", 10_000)+`"}`)
		require.Equal(t, 200, status, body)
	}
	status, body := s.Do("POST", "/v1/apps/desk/sessions/tiny/run", `{"message":"Hello"}`)
	require.Equal(t, 200, status, body)
	status, body = s.Do("POST", "/v1/apps/desk/sessions/tiny/fork", `{}`)
	require.Equal(t, 201, status, body)
}

// Artifacts that are saved at once do not share the same room, and one without content takes some.
func TestArtifactsThatAreSavedAtOnceAreBounded(t *testing.T) {
	files, err := artifact.Open(t.TempDir())
	require.NoError(t, err)
	defer files.Close()
	const most = 5
	s := servertest.Serve(t, servertest.Echo, func(o *server.Options) {
		o.Apps[0].Artifacts = files
		o.Limits.UserArtifacts = most << 10
	})
	status, body := s.Do("POST", "/v1/apps/desk/sessions", `{"id":"s"}`)
	require.Equal(t, 201, status, body)
	var stored atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if status, _ := s.Do("PUT", fmt.Sprintf("/v1/apps/desk/sessions/s/artifacts/f%d", i), ""); status == 201 {
				stored.Add(1)
			}
		})
	}
	all.Wait()
	require.Positive(t, stored.Load())
	require.LessOrEqual(t, stored.Load(), int64(most))
}
