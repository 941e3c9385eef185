package page_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// longSession appends events to a session, and serves it.
func longSession(t testing.TB, sessions session.Service, events int) (url string) {
	t.Helper()
	r, err := runner.New(runner.Options{Agent: agent.New("helper", "It helps.", servertest.Echo), Sessions: sessions})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	key := session.Key{App: "desk", User: "user", ID: "long"}
	_, err = sessions.Create(t.Context(), key, nil)
	require.NoError(t, err)
	begin := time.Now().Add(-time.Hour)
	for from := 0; from < events; from += 5000 {
		var list []*session.Event
		for i := from; i < min(events, from+5000); i++ {
			e := session.Message(fmt.Sprintf("What about number %d?", i+1))
			if i%2 == 1 {
				e = session.Reply(fmt.Sprintf("Number %d is fine.", i))
				e.Author = "helper"
			}
			e.InvocationID = fmt.Sprint("i-", i/2)
			e.Timestamp = begin.Add(time.Duration(i) * time.Millisecond)
			list = append(list, e)
		}
		_, err := sessions.Append(t.Context(), session.AppendTarget{Key: key, After: int64(from)}, list...)
		require.NoError(t, err)
	}
	h, err := server.New(server.Options{Apps: []server.App{{Name: "desk", Runner: r}}, Page: &server.Page{}})
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// Of a long session the last rows are shown, and the others page by page, with a search over all of it.
func TestALongSession(t *testing.T) {
	sessions, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	defer sessions.Close()
	s := &servertest.Service{T: t, URL: longSession(t, sessions, 2400), Client: http.DefaultClient}
	_, page := get(s, "/s/desk/user/long")
	text := visible(t, page)
	require.Contains(t, text, "What about number 1? 2,400 events too long to sum up here")
	require.Contains(t, text, "What about number 2399?")
	require.NotContains(t, text, "number 2199?")
	require.Contains(t, page, `href="/s/desk/user/long?before=2201"`)
	_, page = get(s, "/s/desk/user/long?before=2201")
	require.Contains(t, visible(t, page), "Older rows, before 2001")
	require.Contains(t, visible(t, page), "To the end of the log")
	_, page = get(s, "/s/desk/user/long?open=1000")
	require.Contains(t, page, `id="e1000" open`)
	_, page = get(s, "/s/desk/user/long?match=777")
	require.Contains(t, visible(t, page), "What about number 777?")
	require.NotContains(t, visible(t, page), "What about number 779?")
	_, page = get(s, "/")
	require.Contains(t, visible(t, page), "What about number 1?")
}

// BenchmarkSession asks for the page of a session of 100,000 events.
func BenchmarkSession(b *testing.B) {
	sessions, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "s.db"))
	require.NoError(b, err)
	defer sessions.Close()
	url := longSession(b, sessions, 100_000)
	for b.Loop() {
		resp, err := http.Get(url + "/s/desk/user/long")
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(b, err)
		resp.Body.Close()
	}
}
