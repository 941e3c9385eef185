package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// A session that can never be had in memory is told so, and nobody is told to try it again; others go on.
func TestASessionThatNeedsMoreMemoryThanThereIs(t *testing.T) {
	s := serve(t, servertest.Echo, func(o *server.Options) { o.Limits.Memory = 2 << 20 })
	key := session.Key{App: "desk", User: "user", ID: "large"}
	_, err := s.Sessions.Create(t.Context(), key, nil)
	require.NoError(t, err)
	for i := range int64(3) {
		e := session.Message(strings.Repeat("words ", 50_000))
		e.InvocationID = session.NewID()
		e.Author = session.User
		_, err := s.Sessions.Append(t.Context(), session.AppendTarget{Key: key, After: i}, e)
		require.NoError(t, err)
	}
	resp, err := http.Post(s.URL+"/v1/apps/desk/sessions/large/run", "application/json", strings.NewReader(`{"message":"Hello there"}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 413, resp.StatusCode, string(body))
	require.Empty(t, resp.Header.Get("Retry-After"))
	require.Contains(t, string(body), "session_too_large")
	status, text := s.Do("POST", "/v1/apps/desk/sessions/small/run", `{"message":"Hello there"}`)
	require.Equal(t, 200, status, text)
}

// What a body costs is counted before it is decoded: a megabyte of empty parts is a hundred times as large in memory.
func TestABodyOfEmptyParts(t *testing.T) {
	s := servertest.Serve(t, servertest.Act, func(o *server.Options) {
		o.Limits.Memory = 64 << 20
		o.Limits.UserMemory = 32 << 20
	})
	body := `{"content":{"role":"user","parts":[` + strings.Repeat("{},", 340_000) + `{"text":"hi"}]}}`
	status, answer := s.Do("POST", "/v1/apps/desk/sessions/s1/run", body, "Authorization", "eve")
	require.Contains(t, []int{413, 429, 503}, status, answer)
	status, answer = s.Do("POST", "/v1/apps/desk/sessions/s1/run", `{"message":"hi"}`, "Authorization", "eve")
	require.Equal(t, 200, status, answer)
}
