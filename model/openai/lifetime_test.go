package openai_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

// A call is tried again until it is answered, and no answer that has begun is asked for twice.
func TestAttempts(t *testing.T) {
	for attempts, want := range map[int]int{0: 3, 1: 1, 2: 2, 5: 5} {
		srv := serve(t, fails(503, ""))
		m, err := openai.New(openai.Config{
			Model:      "tiny",
			BaseURL:    srv.URL + "/v1",
			Attempts:   attempts,
			HTTPClient: srv.Client(),
		})
		require.NoError(t, err)
		_, _, err = ask(t, m, hello(true))
		require.Error(t, err)
		require.Len(t, srv.bodies, want)
	}
	for name, c := range map[string]struct {
		first http.HandlerFunc
		ok    bool
		tries int
	}{
		"too many requests": {fails(429, ""), true, 2},
		"a server's error":  {fails(500, ""), true, 2},
		"a bad request":     {fails(400, ""), false, 1},
		"a cut stream":      {cut("text/event-stream", "data: "+delta(`{"content":"hel"}`)+"\n\n"), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var srv *server
			srv = serve(t, func(w http.ResponseWriter, r *http.Request) {
				srv.mu.Lock()
				first := len(srv.bodies) == 1
				srv.mu.Unlock()
				if first {
					c.first(w, r)
					return
				}
				streams(delta(`{"content":"hello"}`), finish("stop"))(w, r)
			})
			m, err := openai.New(
				openai.Config{Model: "tiny", BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
			require.NoError(t, err)
			_, _, err = ask(t, m, hello(true))
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.Len(t, srv.bodies, c.tries)
			for _, body := range srv.bodies {
				require.Equal(t, srv.bodies[0], body)
			}
		})
	}
}

// When the context is done, the call ends with its error: before, while waiting for an answer or for the
// next attempt, and in the middle of a stream.
func TestContext(t *testing.T) {
	why := errors.New("enough")
	for name, c := range map[string]func(leave func()) http.HandlerFunc{
		"before": func(leave func()) http.HandlerFunc { leave(); return sends(ok) },
		"before the answer": func(leave func()) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) { leave(); <-r.Context().Done() }
		},
		"between attempts": func(leave func()) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(503)
				w.(http.Flusher).Flush()
				leave()
			}
		},
		"in the stream": func(leave func()) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				streams(delta(`{"content":"hel"}`))(w, r)
				w.(http.Flusher).Flush()
				leave()
				<-r.Context().Done()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			srv := serve(t, c(func() { cancel(why) }))
			m, err := openai.New(
				openai.Config{Model: "tiny", BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
			require.NoError(t, err)
			var last error
			for r, err := range m.Generate(ctx, hello(true)) {
				require.NoError(t, last)
				if last = err; err == nil {
					require.True(t, r.Partial)
				}
			}
			require.Equal(t, why, last)
		})
	}
}

// A stream that is in the buffer already ends too.
func TestContextWithinTheBuffer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv := serve(t, streams(delta(`{"content":"a"}`), delta(`{"content":"b"}`), finish("stop")))
	n := 0
	for r, err := range srv.model(t).Generate(ctx, hello(true)) {
		switch n++; n {
		case 1:
			require.NoError(t, err)
			require.Equal(t, "a", texts(r))
			cancel()
		case 2:
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.Equal(t, 2, n)
}

// The client's own time limit is not the context's.
func TestClientTimeout(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within it": func(w http.ResponseWriter, r *http.Request) {
			streams(delta(`{"content":"hel"}`))(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, handler)
			client := *srv.Client()
			client.Timeout = 50 * time.Millisecond
			m, err := openai.New(openai.Config{
				Model:      "tiny",
				BaseURL:    srv.URL + "/v1",
				Attempts:   1,
				HTTPClient: &client,
			})
			require.NoError(t, err)
			_, _, err = ask(t, m, hello(true))
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, "DEADLINE_EXCEEDED", coded.Code)
			require.ErrorContains(t, err, "in time")
		})
	}
}
