package server_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// FuzzRequests sends any request as the user ann. No answer is the server's fault, and nothing of another
// user changes.
func FuzzRequests(f *testing.F) {
	for _, seed := range [][5]string{
		{"POST", "run", "", "", `{"message":"Hello there","id":"one"}`},
		{"POST", "run", "", "text/event-stream", `{"content":{"parts":[{"text":"x"}]},"onBusy":"rollback","streaming":false}`},
		{"POST", "run", "2", "", `{"event":{"id":"e","actions":{"stateDelta":{"a":[1e400,null,{"":-0}]}}}}`},
		{"POST", "run", "-1", "", `{"message":"\u0000\ud83d\ude00","stateDelta":{"temp:x":1},"customMetadata":{"plughook":{"stopped":"x"}}}`},
		{"PATCH", "?user=bob", "", "", `{"state":{"user:x":null,"app:y":1,"rewind:z":2}}`},
		{"POST", "approve", "", "", `{"calls":["a","a",""],"message":"yes"}`},
		{"POST", "respond", "", "", `{"call":"c","id":"i","response":[1]}`},
		{"POST", "rewind", "", "", `{"to":-9223372036854775808,"dryRun":true}`},
		{"POST", "fork", "", "", `{"at":1,"id":".."}`},
		{"GET", "events?limit=1&live=1&after=0", "9223372036854775807", "", ""},
		{"GET", "../bob/events", "", "", ""},
		{"GET", "%2e%2e/%2e%2e/users/bob", "", "", ""},
		{"PUT", "artifacts/a%2f..%2f..%2fb", "", "text/html", "<script>"},
		{"GET", "artifacts/x?version=9223372036854775808", "", "", ""},
		{"POST", "invocations/%00/cancel?wait=1", "", "", ""},
		{"DELETE", "", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	sessions := memory.New()
	a := agent.New(
		"helper",
		"It helps.",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { yield(session.Reply("Yes."), nil) }
		},
	)
	plugins := []*plugin.Plugin{rewind.New(sessions)}
	r, err := runner.New(runner.Options{Agent: a, Sessions: sessions, Plugins: plugins})
	require.NoError(f, err)
	o := server.Options{
		Apps:   []server.App{{Name: "desk", Runner: r, Artifacts: artifact.NewMemory()}},
		Hosts:  []string{"desk"},
		Limits: server.Limits{Run: 2 * time.Second},
	}
	withTokens(&o)
	s, err := server.New(o)
	require.NoError(f, err)
	bob := session.Key{App: "desk", User: "bob", ID: "bob"}
	_, err = sessions.Create(f.Context(), bob, map[string]any{"app:open": true})
	require.NoError(f, err)

	f.Fuzz(func(t *testing.T, method, path, position, accept, body string) {
		ctx, cancel := context.WithTimeout(t.Context(),
			200*time.Millisecond) // a stream does not end by itself
		defer cancel()
		u, err := url.Parse("http://desk/v1/apps/desk/sessions/s/" + path)
		if err != nil {
			t.Skip()
		}
		if path == "" || path[0] == '?' {
			u.Path = strings.TrimSuffix(u.Path, "/")
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://desk/", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		req.URL = u
		req.Header.Set("Authorization", "Bearer ann")
		req.Header.Set("Accept", accept)
		req.Header.Set("Content-Type", accept)
		if position != "" {
			req.Header.Set("Last-Event-ID", position)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		answer, err := io.ReadAll(w.Body)
		require.NoError(t, err)
		if ctx.Err() == nil && w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Errorf("%s %s %q: %d: %s", method, path, body, w.Code, answer)
		}
		was, err := sessions.Get(t.Context(), bob)
		require.NoError(t, err)
		require.Zero(t, was.Position)
		require.Equal(t, map[string]any{"app:open": true}, was.State)
	})
}
