package gemini_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

var errLeft = errors.New("the user has left")

// held answers with a chunk, if streamed, and then nothing; asked has the request.
func held() (answer geminitest.Answer, asked chan *geminitest.Request) {
	asked = make(chan *geminitest.Request, 1)
	return geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
		asked <- r
		return geminitest.Reply{
			Chunks: [][]geminitest.Part{{geminitest.Text("so far")}},
			Hold:   make(chan struct{}),
		}
	}), asked
}

func TestTheContextEndsACall(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		answer, asked := held()
		m, srv := start(t, answer)
		ctx, cancel := context.WithCancelCause(t.Context())
		var leaving sync.WaitGroup
		leaving.Go(func() {
			<-asked
			cancel(errLeft)
		})
		_, _, err := ask(t, ctx, m, request(stream))
		leaving.Wait()
		require.Equal(t, errLeft, err)
		require.Len(t, srv.Requests(), 1)
	})
}

func TestTheContextEndsAStreamInTheMiddle(t *testing.T) {
	answer, _ := held()
	m, _ := start(t, answer)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var failure error
	for r, err := range m.Generate(ctx, request(true)) {
		if err != nil {
			failure = err
			continue
		}
		require.Equal(t, "so far", text(r))
		cancel(errLeft)
	}
	require.Equal(t, errLeft, failure)
}

func TestAContextThatIsDoneAsksNothing(t *testing.T) {
	m, srv := start(t, geminitest.Text("ok"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLeft)
	_, _, err := ask(t, ctx, m, request(false))
	require.Equal(t, errLeft, err)
	require.Empty(t, srv.Requests())
}

// A caller that leaves takes the connection along.
func TestTheCallerLeaves(t *testing.T) {
	answer, asked := held()
	m, _ := start(t, answer)
	for range m.Generate(t.Context(), request(true)) {
		break
	}
	<-(<-asked).Context.Done()
}

// A caller's panic is the caller's, and takes the connection along too.
func TestTheCallerPanics(t *testing.T) {
	answer, asked := held()
	m, _ := start(t, answer)
	require.PanicsWithValue(t, "mine", func() {
		for range m.Generate(t.Context(), request(true)) {
			panic("mine")
		}
	})
	<-(<-asked).Context.Done()
}

func TestATimeoutIsADeadline(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		answer, _ := held()
		m, _ := start(t, answer)
		req := request(stream)
		req.Config = &genai.GenerateContentConfig{
			HTTPOptions: &genai.HTTPOptions{Timeout: genai.Ptr(time.Millisecond)},
		}
		fails(t, m, req, "DEADLINE_EXCEEDED")

		answer, _ = held()
		srv := geminitest.New(answer)
		defer srv.Close()
		c := config(srv)
		c.HTTPClient = &http.Client{Timeout: time.Millisecond}
		m, err := gemini.New(t.Context(), c)
		require.NoError(t, err)
		fails(t, m, request(stream), "DEADLINE_EXCEEDED")
	})
}

func TestNobodyIsThere(t *testing.T) {
	srv := geminitest.New()
	m, err := gemini.New(t.Context(), config(srv))
	require.NoError(t, err)
	srv.Close()
	both(t, func(t *testing.T, stream bool) {
		require.Zero(t, fails(t, m, request(stream), "UNAVAILABLE").Status)
	})
}

// A server that cannot be trusted is not asked again.
func TestAServerThatNobodyVouchesFor(t *testing.T) {
	connections := make(chan struct{}, 10)
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections <- struct{}{}
		}
	}
	srv.StartTLS()
	defer srv.Close()
	m, err := gemini.New(t.Context(), gemini.Config{
		Model:   "m",
		APIKey:  canary,
		Backend: genai.BackendGeminiAPI,
		BaseURL: srv.URL,
		Backoff: time.Nanosecond,
	})
	require.NoError(t, err)
	require.ErrorContains(t, fails(t, m, request(false), model.Failed), "certificate")
	require.Len(t, connections, 1)
}

// A redirect would take the key to another host.
func TestARedirectIsNotFollowed(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		other := geminitest.New(geminitest.Text("thank you for the key"))
		defer other.Close()
		for _, status := range []int{301, 302, 307, 308} {
			m, _ := start(t, geminitest.Reply{
				Error: &geminitest.Error{Code: status},
				Header: http.Header{
					"Location": {other.URL + "/v1beta/models/m:generateContent"},
				},
			})
			_, _, err := ask(t, t.Context(), m, request(stream))
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, status, coded.Status)
			require.ErrorContains(t, err, "set the base URL")
		}
		require.Empty(t, other.Requests())
	})
}
