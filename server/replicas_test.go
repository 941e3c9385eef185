package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// at is a replica, or what stands before several, that a test sends requests to.
func at(t *testing.T, url string, client *http.Client) *service {
	return &service{&servertest.Service{T: t, URL: url, Client: client}}
}

const replicaPath = "/v1/apps/desk/sessions/ada"

// replicaKey is the session of replicaPath.
var replicaKey = session.Key{App: "desk", User: "user", ID: "ada"}

// runsIn reads a stream until it says that an invocation runs, "" that none does. It returns the events until
// then.
func runsIn(t *testing.T, r *servertest.FrameReader, invocation string) []servertest.Frame {
	t.Helper()
	var events []servertest.Frame
	for {
		f, err := r.Next()
		require.NoError(t, err, "the stream ended before it told that %q runs", invocation)
		if f.Name == "" {
			events = append(events, f)
		}
		if f.Name == "run" && f.Data == `{"running":"`+invocation+`"}` {
			return events
		}
	}
}

// begin starts a run and returns its stream, which says that the input is in the log.
func (s *service) begin(body string) *servertest.FrameReader {
	s.Helper()
	resp := s.Open(s.Context(), "POST", replicaPath+"/run", body, "Accept", "text/event-stream")
	s.Cleanup(func() { resp.Body.Close() })
	require.Equal(s, 200, resp.StatusCode)
	r := servertest.NewFrames(resp.Body)
	_, err := r.Next()
	require.NoError(s, err)
	return r
}

// endOf reads a run's stream to its end, which it returns.
func endOf(t *testing.T, r *servertest.FrameReader) string {
	t.Helper()
	for {
		f, err := r.Next()
		require.NoError(t, err)
		if f.Name == "end" {
			return f.Data
		}
	}
}

// A session is used through three processes as if they were one: whichever has the run, another one shows it,
// ends it, answers its calls, takes it back, and goes on with it when its process was killed.
func TestReplicasServeOneSession(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		first := startReplica(t, store)
		a, b, c := at(t, first.url, client), at(t, startReplica(t, store).url, client), at(t, startReplica(t, store).url, client)
		sessions, err := openStore(t.Context(), store)
		require.NoError(t, err)
		defer sessions.Close()
		log := func() (list []*session.Event) {
			for e, err := range sessions.Read(t.Context(), replicaKey, session.Selection{}) {
				require.NoError(t, err)
				require.EqualValues(t, len(list)+1, e.Seq)
				list = append(list, e)
			}
			return list
		}
		status, body := b.Do("POST", "/v1/apps/desk/sessions", `{"id":"ada"}`)
		require.Equal(t, 201, status, body)

		// B follows all the time.
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		following := b.Open(ctx, "GET", replicaPath+"/events?follow=1", "")
		defer following.Body.Close()
		seen := servertest.NewFrames(following.Body)
		require.Empty(t, runsIn(t, seen, ""))

		// A run on A is seen on B, and cancelled from C.
		stream := a.begin(`{"message":"steps 2000 20ms","invocationId":"i-1"}`)
		require.NotEmpty(t, runsIn(t, seen, "i-1"))
		asked := time.Now()
		status, body = c.Do("POST", replicaPath+"/invocations/i-1/cancel?wait=1", "")
		require.Equal(t, 200, status, body)
		took := time.Since(asked)
		t.Logf("cancelled from another process after %v", took.Round(time.Millisecond))
		require.Contains(t, endOf(t, stream), `"kind":"cancelled"`,
			"it obeys, and does not lose the session")
		runsIn(t, seen, "")

		// What A asks, B shows as waiting, and C approves.
		status, body = a.Do("POST", replicaPath+"/run", `{"message":"book"}`)
		require.Equal(t, 200, status, body)
		status, body = b.Do("GET", replicaPath+"/waiting", "")
		require.Equal(t, 200, status)
		require.Contains(t, body, "5 EUR")
		status, body = c.Do("POST", replicaPath+"/approve", `{"all":true}`)
		require.Equal(t, 200, status, body)
		require.Contains(t, body, `"booked":true`)

		// A run that does not obey loses the session: C has it, and A can append no more.
		stream = a.begin(`{"message":"stubborn 10s","invocationId":"i-2"}`)
		runsIn(t, seen, "i-2")
		asked = time.Now()
		status, body = b.Do("POST", replicaPath+"/invocations/i-2/cancel?wait=1", "")
		require.Equal(t, 200, status, body)
		took = time.Since(asked)
		assert.GreaterOrEqual(t, took, session.CancelGrace-time.Second)
		assert.Less(t, took, 10*time.Second, "it is not waited for")
		status, body = c.Do("POST", replicaPath+"/run", `{"message":"Hello"}`)
		require.Equal(t, 200, status, body)
		require.Contains(t, body, "You said: Hello")
		require.NotContains(t, endOf(t, stream), `"kind":"done"`)
		for _, e := range log() {
			require.NotEqual(t, "too late", e.Text())
		}

		// C takes it back.
		status, body = c.Do("POST", replicaPath+"/rewind", `{"turns":1}`)
		require.Equal(t, 200, status, body)
		status, body = b.Do("GET", replicaPath+"/events?live=1", "")
		require.Equal(t, 200, status)
		require.NotContains(t, body, "You said: Hello")

		// A is killed in the middle of a run. B says so, and C goes on.
		const input = `{"message":"steps 40 50ms","id":"in-3","invocationId":"i-3"}`
		stream = a.begin(input)
		runsIn(t, seen, "i-3")
		for range 6 {
			_, err := stream.Next()
			require.NoError(t, err)
		}
		first.kill()
		killed := time.Now()
		runsIn(t, seen, "")
		took = time.Since(killed)
		t.Logf("another process said that nobody runs %v after the kill",
			took.Round(time.Millisecond))
		assert.Less(t, took, time.Minute, "a lease of 3 s, and a second to look")
		before := len(log())
		stream = c.begin(input)
		require.Contains(t, endOf(t, stream), `"kind":"done"`)
		all := log()
		assert.Greater(t, len(all), before)
		var calls []*session.Event
		for _, e := range all {
			if e.InvocationID == "i-3" && len(e.FunctionCalls()) > 0 {
				calls = append(calls, e)
			}
		}
		assert.Len(t, calls, 40, "no step was made twice, and none was left out")
		assert.Equal(t, "done", all[len(all)-1].Text())

		// B has shown exactly the log.
		leave()
		again := b.Open(t.Context(), "GET", replicaPath+"/events?limit=1000", "")
		defer again.Body.Close()
		var page struct{ Events []json.RawMessage }
		require.NoError(t, json.NewDecoder(again.Body).Decode(&page))
		require.Len(t, page.Events, len(all))
	})
}
