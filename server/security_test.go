package server_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// withTokens lets in ann, who reaches the app desk, bob, who reaches no app that there is, and an admin.
func withTokens(o *server.Options) {
	o.Caller = func(r *http.Request) (server.Caller, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer ann":
			return server.Caller{User: "ann", Apps: []string{"desk"}}, nil
		case "Bearer bob":
			return server.Caller{User: "bob", Apps: []string{"other"}}, nil
		case "Bearer root":
			return server.Caller{User: "root", Admin: true}, nil
		case "Bearer shop":
			return server.Caller{User: "shop", OnBehalfOf: []string{"an*"}}, nil
		case "Bearer other-shop":
			return server.Caller{User: "other-shop", OnBehalfOf: []string{"b*", "an"}, Roles: []string{"finance"}}, nil
		case "Bearer broken":
			return server.Caller{}, fmt.Errorf("the directory at ldap://secret cannot be reached")
		}
		return server.Caller{}, server.ErrUnauthorized
	}
}

func TestATokenReachesItsUsersSessionsAndNoOthers(t *testing.T) {
	s := serve(t, servertest.Echo, withTokens)
	const one = "/v1/apps/desk/sessions/secret"
	status, _ := s.Do("POST", one+"/run", `{"message":"mine"}`, "Authorization", "Bearer ann")
	require.Equal(t, 200, status)
	_, missing := s.Do("GET", "/v1/apps/desk/sessions/nothing", "", "Authorization", "Bearer root")
	for _, row := range []struct {
		token, method, path, body string
		status                    int
	}{
		{"", "GET", one, "", 401},
		{"", "POST", "/chat", `{"message":"x","session":"secret"}`, 401},
		{"nobody", "GET", one, "", 401},
		{"broken", "GET", one, "", 500},
		{"bob", "GET", one, "", 404},
		{"bob", "GET", "/v1/apps", "", 200},
		{"root", "GET", one, "", 404},
		{"root", "GET", one + "?user=ann", "", 200},
		{"shop", "GET", one + "?user=ann", "", 200},
		{"shop", "POST", one + "/run?user=ann", `{"message":"more"}`, 200},
		{"shop", "GET", one + "?user=bob", "", 404},
		{"shop", "POST", "/v1/apps/desk/retention", `{"days":1}`, 403},
		{"other-shop", "GET", one + "?user=ann", "", 404},
		{"root", "GET", one + "/events?follow=1", "", 404},
		{"root", "GET", one + "/export", "", 404},
		{"root", "DELETE", one, "", 404},
		{"root", "POST", one + "/rewind", `{"turns":1}`, 404},
		{"root", "POST", one + "/invocations/x/cancel", "", 404},
		{"ann", "GET", one + "?user=root", "", 404},
		{"ann", "DELETE", "/v1/apps/desk/users/root", "", 404},
		{"ann", "POST", "/v1/apps/desk/retention", `{"days":1}`, 403},
	} {
		status, body := s.Do(row.method, row.path, row.body, "Authorization", "Bearer "+row.token)
		require.Equal(t, row.status, status, "%v: %s", row, body)
		require.NotContains(t, body, "ldap")
		if row.status == 404 && row.token == "root" {
			require.Equal(t, missing, body,
				"%v: a session of somebody else looks as one that is missing", row)
		}
	}
	require.NotContains(
		t,
		func() string { _, b := s.Do("GET", "/v1/apps", "", "Authorization", "Bearer bob"); return b }(),
		"desk",
	)
	status, _ = s.Do("DELETE", "/v1/apps/desk/users/ann", "", "Authorization", "Bearer root")
	require.Equal(t, 200, status)
	status, _ = s.Do("GET", one, "", "Authorization", "Bearer ann")
	require.Equal(t, 404, status)
}

// Who has a token that was revoked sees nothing more, also on streams that are open.
func TestTheStreamsOfACallerWhoIsLetInNoMoreEnd(t *testing.T) {
	var revoked atomic.Bool
	s := serve(t, servertest.Echo, func(o *server.Options) {
		o.Caller = func(*http.Request) (server.Caller, error) {
			if revoked.Load() {
				return server.Caller{}, server.ErrUnauthorized
			}
			return server.Caller{User: "ann"}, nil
		}
	})
	status, _ := s.Do("POST", "/v1/apps/desk/sessions/a/run", `{"message":"Hello there"}`)
	require.Equal(t, 200, status)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp := s.Open(ctx, "GET", "/v1/apps/desk/sessions/a/events?follow=1", "")
	defer resp.Body.Close()
	list := servertest.NewFrames(resp.Body)
	for range 3 { // who runs, and two events
		_, err := list.Next()
		require.NoError(t, err)
	}
	revoked.Store(true)
	f, err := list.Next()
	require.NoError(t, err)
	require.Equal(t, "error", f.Name)
	require.Contains(t, f.Data, "unauthorized")
	_, err = list.Next()
	require.ErrorIs(t, err, io.EOF)
}

// What an input says of its time, its branch, of errors and of where agents go on does not count.
func TestACallerDoesNotSayWhatAgentsAndRunnersDo(t *testing.T) {
	s := serve(t, servertest.Echo, withTokens)
	const one = "/v1/apps/desk/sessions/s"
	made, _ := s.Do("POST", "/v1/apps/desk/sessions", `{"id":"s"}`, "Authorization", "Bearer ann")
	require.Equal(t, 201, made)
	event := `{"content":{"parts":[{"text":"Hello there"}]},"customMetadata":{"a":1},"branch":"desk.billing","timestamp":"2001-01-01T00:00:00Z",` +
		`"errorCode":"DENIED","errorMessage":"no","interrupted":true,"longRunningToolIds":["x"],"output":1,"finishReason":"STOP",` +
		`"actions":{"stateDelta":{"mood":"good"},"transferToAgent":"billing","escalate":true,"skipSummarization":true,"route":"a","artifactDelta":{"a":1}}}`
	status, body := s.Do("POST", one+"/run", `{"event":`+event+`}`, "Authorization", "Bearer ann")
	require.Equal(t, 200, status, body)
	_, body = s.Do("GET", one+"/events", "", "Authorization", "Bearer ann")
	require.Contains(t, body, "Hello there")
	require.Contains(t, body, `"mood":"good"`)
	for _, key := range []string{"billing", "2001", "DENIED", "interrupted", "longRunning", "output", "escalate", "skipSumm", "route", "artifactDelta"} {
		require.NotContains(t, body, key)
	}
}

func TestRequestsThatAPageOfAnotherOriginMayHaveSentAreRefused(t *testing.T) {
	s := serve(t, servertest.Echo, func(o *server.Options) {
		o.Origins = []string{"https://chat.example.com"}
		o.Hosts = []string{"desk.example.com"}
	})
	for _, row := range []struct {
		host, origin, fetch string
		method              string
		status              int
	}{
		{"", "", "", "POST", 200},
		{"localhost:8080", "", "", "POST", 200},
		{"desk.example.com", "", "", "POST", 200},
		{"desk.example.com:443", "https://desk.example.com:443", "", "POST", 200},
		{"evil.example.com", "", "", "POST", 403},
		{"evil.example.com", "", "", "GET", 403},
		{"127.0.0.1.evil.example.com", "", "", "GET", 403},
		{"localhost, evil.example.com", "", "", "GET", 403},
		{"", "https://evil.example.com", "", "POST", 403},
		{"", "https://evil.example.com", "", "GET", 403},
		{"", "null", "", "GET", 403},
		{"", "https://chat.example.com", "cross-site", "POST", 200},
		{"", "https://chat.example.com", "cross-site", "OPTIONS", 204},
		{"", "https://chat.example.com.evil.example.com", "", "POST", 403},
		{"", "", "cross-site", "POST", 403},
		{"", "", "same-origin", "POST", 200},
	} {
		path, body := "/v1/apps/desk/sessions/ada/run", `{"message":"Hello"}`
		if row.method == "GET" {
			path, body = "/v1/apps", ""
		}
		req, err := http.NewRequestWithContext(t.Context(), row.method, s.URL+path,
			strings.NewReader(body))
		require.NoError(t, err)
		req.Host = row.host
		for name, value := range map[string]string{"Origin": row.origin, "Sec-Fetch-Site": row.fetch} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if row.method == "OPTIONS" {
			req.Header.Set("Access-Control-Request-Method", "POST")
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, row.status, resp.StatusCode, "%+v", row)
		allowed := resp.Header.Get("Access-Control-Allow-Origin")
		require.Equal(t, row.origin == "https://chat.example.com",
			allowed == row.origin && row.origin != "", "%+v", row)
		require.NotEqual(t, "*", allowed)
	}
}

// A request from another machine is let in by nobody, if nobody says who sends it.
func TestAServerWithoutCallersServesThisMachineOnly(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	far := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(far))
	req, err := http.NewRequestWithContext(ctx, "GET", "http://192.0.2.7:8080/v1/apps", nil)
	require.NoError(t, err)
	req.RequestURI = ""
	w := newRecorder()
	s.Server.ServeHTTP(w, req)
	require.Equal(t, 403, w.status)
}

// recorder is the simplest http.ResponseWriter.
type recorder struct {
	http.ResponseWriter
	header http.Header
	status int
}

func newRecorder() *recorder                       { return &recorder{header: http.Header{}} }
func (r *recorder) Header() http.Header            { return r.header }
func (r *recorder) WriteHeader(status int)         { r.status = status }
func (r *recorder) Write(data []byte) (int, error) { return len(data), nil }

func TestWhatIsTooLargeOrTooManyIsRefused(t *testing.T) {
	block := make(chan struct{})
	s := serve(t, servertest.Waiting(block), func(o *server.Options) {
		o.Limits.Body = 1000
		o.Limits.UserRuns = 2
		o.Limits.Streams = 3
	})
	defer close(block)
	status, body := s.Do("POST", "/chat",
		`{"session":"a","message":"`+strings.Repeat("x", 1000)+`"}`)
	require.Equal(t, 413, status)
	require.Contains(t, body, "1000 bytes")

	// Two runs of one user, and no third.
	for range 2 {
		resp := s.Open(t.Context(), "POST", "/chat", `{"session":"a","message":"x"}`)
		defer resp.Body.Close()
		require.Equal(t, 200, resp.StatusCode)
	}
	resp := s.Open(t.Context(), "POST", "/chat", `{"session":"b","message":"x"}`)
	resp.Body.Close()
	require.Equal(t, 429, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))

	// Three streams, and no fourth.
	third := s.Open(t.Context(), "GET", "/v1/apps/desk/sessions/a/events?follow=1", "")
	defer third.Body.Close()
	require.Equal(t, 200, third.StatusCode)
	fourth := s.Open(t.Context(), "GET", "/v1/apps/desk/sessions/a/events?follow=1", "")
	defer fourth.Body.Close()
	require.Equal(t, 429, fourth.StatusCode)
}

func TestABodyThatIsNestedDeepIsRefused(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	for depth, want := range map[int]int{150: 200, 300: 400, 9000: 400} {
		body := `{"message":"x","stateDelta":{"a":` + strings.Repeat("[",
			depth) + `"]\\"` + strings.Repeat("]", depth) + `}}`
		status, answer := s.Do("POST", "/v1/apps/desk/sessions/ada/run", body)
		require.Equal(t, want, status, "%d: %s", depth, answer)
	}
}

func TestIDsThatAreNoNamesOfFilesReachNone(t *testing.T) {
	s := serve(t, servertest.Echo, servertest.WithFiles)
	for _, id := range []string{"..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "a%00b", "a%0ab", strings.Repeat("x", 600), "%ff"} {
		for _, path := range []string{"/v1/apps/desk/sessions/" + id + "/run", "/v1/apps/" + id + "/sessions/s/run"} {
			status, body := s.Do("POST", path, `{"message":"x"}`)
			require.Less(t, status, 500, "%s: %s", path, body)
		}
		s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"message":"x"}`)
		status, body := s.Do("PUT", "/v1/apps/desk/sessions/ada/artifacts/"+id+"%2f..%2fx", "data")
		require.Less(t, status, 500, "%s: %s", id, body)
	}
}

// A reader that stops is cut off, and the run goes on without it.
func TestAReaderThatStopsIsCutOffAndTheRunGoesOn(t *testing.T) {
	s := serve(t, flood, func(o *server.Options) { o.Limits.Patience = 200 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = io.WriteString(
		conn,
		"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 33\r\n\r\n"+`{"message":"flood","session":"a"}`,
	)
	require.NoError(t, err)
	key := session.Key{App: "desk", User: "user", ID: "a"}
	require.Eventually(t, func() bool {
		now, err := s.Sessions.Get(t.Context(), key)
		return err == nil && now.Position == 1+floodEvents && now.Holder == ""
	}, 5*time.Minute, 20*time.Millisecond)
}

// Whoever asks for a large answer and does not read it has the server keep it no longer than a stream.
func TestAReaderThatStopsIsCutOffOnEveryRoute(t *testing.T) {
	s := serve(t, flood, func(o *server.Options) { o.Limits.Patience = 500 * time.Millisecond })
	// The log is not made by a request: the test itself may stop reading its answer for so long.
	made, err := s.Sessions.Create(t.Context(), session.Key{App: "desk", User: "user", ID: "a"},
		nil)
	require.NoError(t, err)
	at := session.AppendTarget{Key: made.Key}
	for e, err := range flood(t.Context(), nil) {
		require.NoError(t, err)
		at.After, err = s.Sessions.Append(t.Context(), at, e)
		require.NoError(t, err)
	}
	answered := make(chan struct{}, 1)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { answered <- struct{}{} }()
		s.Server.ServeHTTP(w, r)
	}))
	defer h.Close()
	for _, path := range []string{"export", "events?limit=1000"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(conn,
			"GET /v1/apps/desk/sessions/a/"+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		select {
		case <-answered:
		case <-time.After(5 * time.Minute):
			t.Errorf("%s: the server waits for a client that does not read", path)
			conn.Close()
			<-answered
		}
	}
}

// flood is an agent that says 12 MB in floodEvents events.
func flood(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		text := strings.Repeat("flood ", 16<<10)
		for range floodEvents {
			if !yield(session.Reply(text), nil) {
				return
			}
		}
	}
}

const floodEvents = 120
