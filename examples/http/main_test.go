package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// start serves a runner with this agent.
func start(t *testing.T, run func(context.Context, *agent.Host) iter.Seq2[*session.Event, error], plugins ...*plugin.Plugin) string {
	leaks := goleak.IgnoreCurrent()
	r, err := runner.New(runner.Options{Agent: agent.New("agent", "", run), Sessions: memory.New(), Plugins: plugins})
	require.NoError(t, err)
	srv := httptest.NewServer(handler{r})
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		srv.Close()
		require.NoError(t, r.Close(context.Background()))
		goleak.VerifyNone(t, leaks)
	})
	return srv.URL
}

func post(t *testing.T, url, accept, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(data)
}

const hello = `{"user":"ada","session":"s1","text":"Hello"}`

func TestJSONLines(t *testing.T) {
	resp, body := post(t, start(t, echo), "", hello)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "application/jsonl", resp.Header.Get("Content-Type"))
	var texts []string
	for line := range strings.Lines(body) {
		var e session.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		texts = append(texts, e.Author+": "+e.Text())
	}
	require.Equal(t, []string{"user: Hello", "agent: You said: Hello"}, texts)
}

func TestServerSentEvents(t *testing.T) {
	resp, body := post(t, start(t, echo), "text/event-stream", hello)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(t, 2, strings.Count(body, "data: {"))
	require.True(t, strings.HasSuffix(body, "}\n\n"))
}

func TestBadRequests(t *testing.T) {
	url := start(t, echo)
	for _, body := range []string{"", "{", `{"usr":"ada"}`, `{"user":"","session":"s1"}`} {
		resp, _ := post(t, url, "", body)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, body)
	}
}

func TestFailures(t *testing.T) {
	broken := &plugin.Plugin{Name: "broken", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		if e.Text() == "Hello" {
			return plugin.Outcome{}, nil
		}
		panic("secret")
	}}
	url := start(t, echo, broken)
	resp, body := post(t, url, "", `{"user":"ada","session":"s1","text":"first"}`)
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	require.JSONEq(t, `{"error":"plugin broken failed"}`, body)

	resp, body = post(t, url, "", hello) // fails on the answer, once the input was sent
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, `{"error":"plugin broken failed"}`)
}

func TestTheTurnEndsWhenTheClientLeaves(t *testing.T) {
	ended := make(chan error, 1)
	url := start(t, func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
		return func(func(*session.Event, error) bool) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(hello))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = bufio.NewReader(resp.Body).ReadString('\n') // the input is in the log, the agent runs
	require.NoError(t, err)
	leave()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestServeEndsInOrder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, serve(ctx, "localhost:0"))
	require.Error(t, serve(t.Context(), "nowhere:-1"))
}
