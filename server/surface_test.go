package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// A yes without the names of calls says yes to nothing: the answer names the calls that wait. The end of a
// run says that they wait.
func TestWhichCallsAreMeant(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	status, body := s.Do("POST", servertest.Ada+"/run", `{"message":"book twice"}`)
	require.Equal(t, 200, status)
	require.Contains(t, body, `"kind":"waiting"`)
	for _, wrong := range []string{`{}`, ``, `{"calls":[]}`, `{"all":false}`} {
		for _, how := range []string{"/approve", "/decline"} {
			status, body = s.Do("POST", servertest.Ada+how, wrong)
			require.Equal(t, 400, status, body)
			require.Contains(t, body, "these wait: b1, b2")
		}
	}
	status, _ = s.Do("POST", servertest.Ada+"/approve", `{"all":true,"calls":["b1"]}`)
	require.Equal(t, 400, status)
	status, _ = s.Do("POST", servertest.Ada+"/approve", `{"all":true,"id":"x"}`)
	require.Equal(t, 400, status)
	status, body = s.Do("POST", servertest.Ada+"/approve", `{"all":true}`)
	require.Equal(t, 200, status, body)
	_, body = s.Do("GET", servertest.Ada+"/waiting", "")
	require.NotContains(t, body, `"confirm":true`)
}

// A parameter that a route does not have is refused; what asks whether the server lives may have any.
func TestUnknownParameters(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	s.Do("POST", servertest.Ada+"/run", `{"message":"Hello"}`)
	for path, status := range map[string]int{
		servertest.Ada + "/events?folow=1":        400,
		servertest.Ada + "/events?live=1&limit=1": 200,
		servertest.Ada + "?usr=ann":               400,
		servertest.Ada + "?user=user":             200,
		"/v1/apps?x=1":                            400,
		"/v1/apps/desk/sessions?usr=1":            400,
		"/v1/apps/desk/sessions?user=x":           200,
		"/health?t=1":                             200,
		"/ready?t=1":                              200,
	} {
		got, body := s.Do("GET", path, "")
		require.Equal(t, status, got, "%s: %s", path, body)
	}
}

// A request with a method that its route does not take is told which it takes.
func TestMethods(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	for path, takes := range map[string]string{
		"/chat":                  "POST",
		servertest.Ada:           "GET, PATCH, DELETE",
		servertest.Ada + "/undo": "POST",
		"/a2a/desk":              "POST",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL+path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 405, resp.StatusCode, path)
		require.Equal(t, takes, resp.Header.Get("Allow"), path)
	}
	status, _ := s.Do("PUT", "/nowhere", "")
	require.Equal(t, 404, status)
}

// A key that is misspelt is named before what is missing because of it.
func TestAMisspeltKeyOfChat(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	status, body := s.Do("POST", "/chat", `{"message":"Hello","sesion":"ada"}`)
	require.Equal(t, 400, status)
	require.Contains(t, body, "sesion")
	require.NotContains(t, body, "is missing")
}

// Who follows a session is told how a run ended.
func TestTheEndOfARunOnASessionsStream(t *testing.T) {
	goOn := make(chan struct{})
	s := serve(t, servertest.Waiting(goOn), nil)
	_, err := s.Sessions.Create(t.Context(), session.Key{App: "desk", User: "user", ID: "ada"}, nil)
	require.NoError(t, err)
	resp := s.Open(t.Context(), "GET", servertest.Ada+"/events?follow=1", "")
	defer resp.Body.Close()
	run := s.Open(
		t.Context(),
		"POST",
		servertest.Ada+"/run",
		`{"message":"Hello","invocationId":"i-1"}`,
		"Accept",
		"text/event-stream",
	)
	defer run.Body.Close()
	time.AfterFunc(100*time.Millisecond, func() { close(goOn) })
	list := servertest.Frames(t, resp.Body,
		func(f servertest.Frame) bool { return strings.Contains(f.Data, `"ended"`) })
	last := list[len(list)-1]
	require.Equal(t, "run", last.Name)
	require.Contains(t, last.Data, `"running":""`)
	require.Contains(t, last.Data, `"ended":{"kind":"done","invocationId":"i-1"}`)
	require.Contains(t, list[len(list)-2].Data, "done", "the run's events come first")
}

// The agent card names the address that the request has reached, below whatever path the server is mounted.
func TestTheAgentCardBelowAPrefix(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	below := httptest.NewServer(http.StripPrefix("/agents", s.Server))
	defer below.Close()
	resp, err := http.Get(below.URL + "/agents/a2a/desk/.well-known/agent-card.json?x=1")
	require.NoError(t, err)
	defer resp.Body.Close()
	card, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(card), `"`+below.URL+`/agents/a2a/desk"`)
}

// There is no memory beside the sessions, and the kit's route says so.
func TestTheKitsMemory(t *testing.T) {
	s := serve(t, servertest.Act, func(o *server.Options) { o.Kit = true })
	status, body := s.Do("PATCH", "/apps/desk/users/user/memory", `{"sessionId":"ada"}`)
	require.Equal(t, 501, status)
	require.Contains(t, body, `"detail":"the app keeps no memory beside its sessions"`)
}

// A Go program makes, lists, follows and cancels over the client, and answers calls with inputs.
func TestWhatTheClientDoes(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	c, err := client.New(s.URL, client.Options{HTTP: s.Client})
	require.NoError(t, err)
	key := session.Key{App: "desk", User: "ann", ID: "a/b"}
	one, err := c.Create(t.Context(), key, map[string]any{"mood": "fine"})
	require.NoError(t, err)
	require.Equal(t, key, one.Key)
	require.Equal(t, "fine", one.State["mood"])
	_, err = c.Create(t.Context(), key, nil)
	require.ErrorIs(t, err, session.ErrExists)
	made, err := c.Create(t.Context(), session.Key{App: "desk", User: "ann"}, nil)
	require.NoError(t, err)
	var ids []string
	for listed, err := range c.List(t.Context(), "desk", "ann") {
		require.NoError(t, err)
		ids = append(ids, listed.ID)
	}
	require.ElementsMatch(t, []string{key.ID, made.ID}, ids)

	// A call waits, and is answered.
	for _, err := range c.Run(t.Context(), key, session.Message("book"), session.RunConfig{}) {
		require.NoError(t, err)
	}
	var live []*session.Event
	for e, err := range c.Read(t.Context(), key, session.Selection{Live: true}) {
		require.NoError(t, err)
		live = append(live, e)
	}
	calls := session.Calls(live)
	require.True(t, calls[0].Waits())
	var said string
	for e, err := range c.Run(t.Context(), key, session.Decision(true, calls[0].ID), session.RunConfig{}) {
		require.NoError(t, err)
		said += e.Text()
	}
	require.Equal(t, "Booked.", said)

	// One follows what another one does, until that is cancelled.
	now, err := c.Get(t.Context(), key)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range c.Run(t.Context(), key, named("m1", "wait"), session.RunConfig{}) {
			last = err
		}
		ended <- last
	}()
	var seen []*session.Event
	for e, err := range c.Follow(t.Context(), key, now.Position) {
		require.NoError(t, err)
		seen = append(seen, e)
		if e.ID == "m1" {
			go func() { _ = c.Cancel(t.Context(), key, "m1") }()
		}
		if e.ErrorCode == session.Cancelled {
			break
		}
	}
	require.ErrorIs(t, <-ended, session.ErrCancelled)
	require.Equal(t, now.Position+1, seen[0].Seq)
	for i, e := range seen {
		require.Equal(t, seen[0].Seq+int64(i), e.Seq)
	}
}

func named(id, text string) *session.Event {
	e := session.Message(text)
	e.ID = id
	return e
}

// Where nobody listens, a client says so at once.
func TestAClientWhereNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	require.NoError(t, listener.Close())
	tries := 0
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			tries++
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}
	c, err := client.New("http://"+addr, client.Options{HTTP: &http.Client{Transport: transport}})
	require.NoError(t, err)
	key := session.Key{App: "desk", User: "ann", ID: "s"}
	for _, err = range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{}) {
	}
	require.ErrorContains(t, err, "the server was not reached")
	require.LessOrEqual(t, tries, 1)
}

// Whom a proxy's header names, a client reaches the sessions of, without naming the user itself.
func TestAClientThatAHeaderNames(t *testing.T) {
	s := serve(t, servertest.Act, func(o *server.Options) {
		o.Caller = func(r *http.Request) (server.Caller, error) {
			return server.Caller{User: r.Header.Get("X-User")}, nil
		}
	})
	c, err := client.New(s.URL,
		client.Options{HTTP: s.Client, Header: http.Header{"X-User": {"ann"}}})
	require.NoError(t, err)
	key := session.Key{App: "desk", User: "user", ID: "s"} // as the command has it without --user
	for _, err := range c.Run(t.Context(), key, session.Message("Hello"), session.RunConfig{Create: true}) {
		require.NoError(t, err)
	}
	one, err := c.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "ann", one.User)
}

// A list is longer than what the server sends at once.
func TestAClientListsMoreThanOnePage(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	for range 1001 {
		_, err := s.Sessions.Create(t.Context(), session.Key{App: "desk", User: "ann"}, nil)
		require.NoError(t, err)
	}
	c, err := client.New(s.URL, client.Options{HTTP: s.Client})
	require.NoError(t, err)
	seen := map[string]bool{}
	for listed, err := range c.List(t.Context(), "desk", "ann") {
		require.NoError(t, err)
		seen[listed.ID] = true
	}
	require.Len(t, seen, 1001)
}
