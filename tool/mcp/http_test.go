//go:build unix

package mcp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/mcp"
)

// An endpoint is an HTTP server whose handler can be changed, and which notes what it was asked.
type endpoint struct {
	*httptest.Server
	handler atomic.Value // of http.HandlerFunc
	mu      sync.Mutex
	seen    []*http.Request
}

// protocol is a handler with sessions of its own, which end with the test: that of a client whose handler
// was changed is told to nobody.
func protocol(t testing.TB, stateless bool) http.HandlerFunc {
	s := server()
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: stateless}).ServeHTTP
}

// legacy is a handler of a protocol that has sessions.
func legacy(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") > "2025-11-25" {
			http.Error(w, "not known", http.StatusBadRequest)
			return
		}
		h(w, r)
	}
}

func listen(t testing.TB, h http.HandlerFunc) *endpoint {
	e := &endpoint{}
	e.handler.Store(h)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.seen = append(e.seen, r)
		e.mu.Unlock()
		e.handler.Load().(http.HandlerFunc)(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) requests() []*http.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*http.Request(nil), e.seen...)
}

func TestHTTP(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{"stateless": protocol(t, true), "sessions": protocol(t, false), "sessions of old": legacy(protocol(t, false))} {
		e := listen(t, h)
		client, err := mcp.Open(context.Background(), mcp.Config{
			URL:     e.URL + "/mcp?key=sesame-sesame",
			Headers: map[string]string{"Authorization": "Bearer sesame-street"},
		})
		require.NoError(t, err, name)
		got, err := run(t, client, "object", nil)
		require.NoError(t, err, name)
		require.Equal(t, map[string]any{"sky": "blue"}, got)
		_, err = run(t, client, "fail", map[string]any{"text": "x"})
		require.EqualError(t, err, "no: x")
		require.NoError(t, client.Close())
		all := e.requests()
		for _, r := range all {
			require.Equal(t, "Bearer sesame-street", r.Header.Get("Authorization"))
		}
		require.Equal(t, name != "stateless", all[len(all)-1].Method == http.MethodDelete,
			"Close ends the session")
		_, err = run(t, client, "object", nil)
		require.ErrorContains(t, err, "the client was closed")
	}
}

// A session that the server knows no longer is made anew, and the call made again: nothing was done.
func TestHTTPSessionIsGone(t *testing.T) {
	for _, body := range []string{"", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`} {
		first, second := protocol(t, false), protocol(t, false)
		e := listen(t, legacy(first))
		client := open(t, mcp.Config{URL: e.URL})
		_, err := run(t, client, "echo", nil)
		require.NoError(t, err)
		var sessions sync.Map
		for _, r := range e.requests() {
			sessions.Store(r.Header.Get("Mcp-Session-Id"), true)
		}
		e.handler.Store(legacy(func(w http.ResponseWriter, r *http.Request) {
			if id := r.Header.Get("Mcp-Session-Id"); id != "" {
				if _, old := sessions.Load(id); old {
					w.WriteHeader(http.StatusNotFound)
					_, _ = w.Write([]byte(body))
					return
				}
			}
			second(w, r)
		}))
		for range 2 {
			_, err = run(t, client, "echo", nil)
			require.NoError(t, err)
		}
	}
}

func TestHTTPFailures(t *testing.T) {
	e := listen(t, protocol(t, false))
	fails := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "denied to "+r.Header.Get("X-Key"), status)
		}
	}
	config := mcp.Config{
		URL:     e.URL + "?key=sesame-sesame",
		Headers: map[string]string{"X-Key": "sesame-street"},
	}
	client := open(t, config)
	for _, status := range []int{503, 500, 401} {
		e.handler.Store(fails(status))
		_, err := run(t, client, "echo", nil)
		require.ErrorContains(t, err, http.StatusText(status))
		require.NotContains(t, err.Error(), "sesame")
		_, err = mcp.Open(context.Background(), config)
		require.ErrorContains(t, err, http.StatusText(status))
		require.NotContains(t, err.Error(), "sesame")
		e.handler.Store(protocol(t, false))
		_, err = run(t, client, "echo", nil)
		require.NoError(t, err, "after %d", status)
	}
	e.Server.Close()
	_, err := run(t, client, "echo", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "sesame")
	_, err = mcp.Open(context.Background(), config)
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "sesame")
}

// Neither the headers nor what the model says go to a host that nobody has configured, which may be
// one that only this machine reaches.
func TestHTTPRedirectsStayWithTheirHost(t *testing.T) {
	other := listen(t, protocol(t, true))
	config := mcp.Config{Headers: map[string]string{"X-Key": "sesame-street"}}
	elsewhere := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) }
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		e := listen(t, elsewhere(status))
		config.URL = e.URL
		_, err := mcp.Open(context.Background(), config)
		require.ErrorContains(t, err, "only redirects to its own host are followed")

		e = listen(t, protocol(t, false))
		config.URL = e.URL
		client := open(t, config)
		e.handler.Store(elsewhere(status))
		_, err = run(t, client, "echo", nil)
		require.Error(t, err)
	}
	require.Empty(t, other.requests())

	// One to another path of the host is followed.
	serve := protocol(t, true)
	e := listen(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
			return
		}
		serve(w, r)
	})
	config.URL = e.URL
	_, err := run(t, open(t, config), "echo", nil)
	require.NoError(t, err)
	for _, r := range e.requests() {
		require.Equal(t, "sesame-street", r.Header.Get("X-Key"))
	}
}

func TestHTTPCallThatTakesTooLong(t *testing.T) {
	e := listen(t, protocol(t, false))
	client := open(t, mcp.Config{URL: e.URL, Timeout: time.Second})
	_, err := find(
		t,
		client,
		"hang",
	).Run(context.Background(), &tool.Call{Args: map[string]any{"text": t.TempDir() + "/x"}})
	require.EqualError(
		t,
		err,
		"MCP server "+strings.TrimPrefix(e.URL,
			"http://")+": it did not answer within 1s, and was told to stop",
	)
	again := func() bool { // a busy machine may need several attempts
		_, err := run(t, client, "echo", nil)
		return err == nil
	}
	require.Eventually(t, again, time.Minute, time.Millisecond)
}

// What a server sends has a bound, whatever it is. The client can be used after it.
func TestHTTPAnswersWithoutAnEnd(t *testing.T) {
	e := listen(t, protocol(t, false))
	client := open(t, mcp.Config{URL: e.URL})
	for name, c := range map[string]struct {
		status            int
		kind, begin, text string
		want              string
	}{
		"a whole answer": {200, "application/json", `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`, "x", "33554432 bytes"},
		"values":         {200, "application/json", `{"jsonrpc":"2.0","id":2,"result":{"content":[`, "{},", "500000 JSON values"},
		"a stream":       {200, "text/event-stream", "", ": " + strings.Repeat("x", 10_000) + "\n\n", "33554432 bytes"},
		"events":         {200, "text/event-stream", "", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\r\n\r\n", "10000 events"},
		"an event":       {200, "text/event-stream", "data: ", "x", "33554432 bytes"},
		"an error":       {500, "text/plain", "no", "x", "Internal Server Error"},
	} {
		e.handler.Store(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, err := io.WriteString(w, c.begin)
			block := strings.Repeat(c.text, 1+64<<10/len(c.text))
			for err == nil {
				_, err = io.WriteString(w, block)
			}
		}))
		_, err := run(t, client, "echo", nil)
		require.ErrorContains(t, err, c.want, name)
		require.Less(t, len(err.Error()), 2000, name)
		e.handler.Store(protocol(t, false))
		_, err = run(t, client, "echo", nil)
		require.NoError(t, err, name)
	}
}

// A server that asks, and does not take the answer, is not kept waiting for: what it sends meanwhile
// would be kept. The connection ends, and the next call makes another one.
func TestHTTPAServerThatDoesNotTakeAnswers(t *testing.T) {
	serve := protocol(t, true)
	var hung atomic.Int32
	e := listen(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		switch text := string(data); {
		case strings.Contains(text, `"tools/call"`) && hung.Load() == 0:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Repeat(
				"data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}\n\n", 100))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case r.Method == http.MethodPost && !strings.Contains(text, `"method"`):
			hung.Add(1)
			<-r.Context().Done()
		default:
			r.Body = io.NopCloser(strings.NewReader(text))
			serve(w, r)
		}
	})
	client := open(t, mcp.Config{URL: e.URL})
	_, err := run(t, client, "echo", nil)
	require.ErrorContains(t, err, "it did not take what was sent to it")
	_, err = run(t, client, "echo", nil)
	require.NoError(t, err)
	require.Less(t, hung.Load(), int32(100), "the other requests are not answered")
}
