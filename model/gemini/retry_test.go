package gemini_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

// A network answers without one, in the time of a synctest bubble.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

func respond(status int, body string, header ...string) *http.Response {
	r := &http.Response{
		StatusCode: status,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader(body)),
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

const done = `{"candidates":[{"content":{"parts":[{"text":"done"}]},"finishReason":"STOP"}]}`

// over returns a model on a network, and the times at which it asked.
func over(t *testing.T, c gemini.Config, n network) (model.Model, *[]time.Time) {
	var asked []time.Time
	c.Model, c.APIKey, c.Backend = "m", canary, genai.BackendGeminiAPI
	c.HTTPClient = &http.Client{Transport: network(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, time.Now())
		return n(r)
	})}
	m, err := gemini.New(t.Context(), c)
	require.NoError(t, err)
	return m, &asked
}

func TestWaitsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := over(
			t,
			gemini.Config{Attempts: 10},
			func(*http.Request) (*http.Response, error) {
				return nil, syscall.ECONNREFUSED
			},
		)
		e := fails(t, m, request(false), "UNAVAILABLE")
		require.ErrorContains(t, e, "generativelanguage.googleapis.com: connection refused")
		require.Len(t, *asked, 10)
		longest := time.Second
		for i, at := range (*asked)[1:] {
			wait := at.Sub((*asked)[i])
			require.LessOrEqual(t, wait, longest)
			require.GreaterOrEqual(t, wait, longest/2)
			longest = min(2*longest, time.Minute)
		}
	})
}

func TestWhatIsAskedAgainAndWhen(t *testing.T) {
	info := func(delay string) string {
		return `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}}`
	}
	for name, c := range map[string]struct {
		first *http.Response // nil is a reset connection
		waits time.Duration  // negative if it is not asked again
		code  string
	}{
		"a reset connection":          {nil, time.Second, ""},
		"the usual wait":              {respond(503, ""), time.Second, ""},
		"a timeout at the server":     {respond(408, ""), time.Second, ""},
		"a gateway's page":            {respond(502, "<html>"), time.Second, ""},
		"Retry-After in seconds":      {respond(429, "", "Retry-After", "17"), 17 * time.Second, ""},
		"Retry-After at once":         {respond(429, "", "Retry-After", "0"), 0, ""},
		"Retry-After a date":          {respond(503, "", "Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT"), 30 * time.Second, ""},
		"Retry-After a date gone by":  {respond(503, "", "Retry-After", "Fri, 31 Dec 1999 00:00:30 GMT"), 0, ""},
		"Retry-After nonsense":        {respond(503, "", "Retry-After", "soon"), time.Second, ""},
		"Retry-After too long":        {respond(429, "", "Retry-After", "3600"), -1, "RESOURCE_EXHAUSTED"},
		"RetryInfo":                   {respond(429, info("34.5s")), 34500 * time.Millisecond, ""},
		"RetryInfo too long":          {respond(429, info("86400s")), -1, "RESOURCE_EXHAUSTED"},
		"RetryInfo nonsense":          {respond(429, info("soon")), time.Second, ""},
		"a bad request":               {respond(400, ""), -1, "INVALID_ARGUMENT"},
		"a key that is not allowed":   {respond(401, "no"), -1, "UNAUTHENTICATED"},
		"an answer that has begun":    {respond(200, `{"candidates":`), -1, model.Failed},
		"a status that is none of it": {respond(418, "tea"), -1, model.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // it begins at 2000-01-01
				m, asked := over(t, gemini.Config{}, func(*http.Request) (*http.Response, error) {
					if first := c.first; first != nil {
						c.first = respond(200, done)
						return first, nil
					}
					c.first = respond(200, done)
					return nil, syscall.ECONNRESET
				})
				if c.waits < 0 {
					fails(t, m, request(false), c.code)
					require.Len(t, *asked, 1)
					return
				}
				_, whole, err := ask(t, t.Context(), m, request(false))
				require.NoError(t, err)
				require.Equal(t, "done", text(whole))
				require.Len(t, *asked, 2)
				wait := (*asked)[1].Sub((*asked)[0])
				if c.waits == time.Second {
					require.GreaterOrEqual(t, wait, time.Second/2)
					require.LessOrEqual(t, wait, time.Second)
					return
				}
				require.Equal(t, c.waits, wait)
			})
		})
	}
}

func TestAttemptsAreLimited(t *testing.T) {
	for attempts, want := range map[int]int{0: 4, 1: 1, 2: 2} {
		synctest.Test(t, func(t *testing.T) {
			m, asked := over(t, gemini.Config{Attempts: attempts},
				func(*http.Request) (*http.Response, error) { return respond(503, ""), nil })
			require.ErrorContains(t, fails(t, m, request(false), "UNAVAILABLE"),
				"Service Unavailable")
			require.Len(t, *asked, want)
		})
	}
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the user has left")
		m, asked := over(
			t,
			gemini.Config{},
			func(*http.Request) (*http.Response, error) { return respond(429, "", "Retry-After", "50"), nil },
		)
		began := time.Now()
		time.AfterFunc(20*time.Second, func() { cancel(left) })
		_, _, err := ask(t, ctx, m, request(false))
		require.Equal(t, left, err)
		require.Len(t, *asked, 1)
		require.Equal(t, 20*time.Second, time.Since(began))
	})
}

// What cannot be done in time is told at once, with its reason.
func TestNoWaitBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		m, _ := over(
			t,
			gemini.Config{},
			func(*http.Request) (*http.Response, error) { return respond(429, "", "Retry-After", "10"), nil },
		)
		began := time.Now()
		_, _, err := ask(t, ctx, m, request(false))
		var coded *model.Error
		require.ErrorAs(t, err, &coded)
		require.Equal(t, "RESOURCE_EXHAUSTED", coded.Code)
		require.Zero(t, time.Since(began))
	})
}

// The client's timeout in the middle of an answer shows in the request's context alone.
func TestAClientsTimeoutInTheMiddle(t *testing.T) {
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, err := gemini.New(t.Context(), gemini.Config{
				Model:   "m",
				APIKey:  canary,
				Backend: genai.BackendGeminiAPI,
				HTTPClient: &http.Client{
					Timeout: 5 * time.Second,
					Transport: network(func(r *http.Request) (*http.Response, error) {
						answer := respond(200, "")
						answer.Body = io.NopCloser(
							io.MultiReader(strings.NewReader("data: "), stuck{r.Context()}))
						return answer, nil
					}),
				},
			})
			require.NoError(t, err)
			began := time.Now()
			require.ErrorContains(t, fails(t, m, request(stream), "DEADLINE_EXCEEDED"),
				"request canceled")
			require.Equal(t, 5*time.Second, time.Since(began))
		})
	}
}

// stuck is a body from which nothing comes.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, errors.New("request canceled")
}
