package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// talker is an agent that answers with a few events, some of them streamed in small pieces.
func talker(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for n := range 1 + rand.IntN(4) {
			id := session.NewID()
			text := ""
			for piece := range rand.IntN(6) {
				part := session.Reply(fmt.Sprintf("%d.%d ", n, piece))
				part.ID = id
				part.Partial = true
				text += part.Text()
				if !yield(part, nil) {
					return
				}
				if rand.IntN(4) == 0 {
					time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
				}
			}
			whole := session.Reply(text + "end")
			whole.ID = id
			if !yield(whole, nil) {
				return
			}
		}
	}
}

// view is what a client shows: the events that it got, and the text of the one under way.
type view struct {
	mu     sync.Mutex
	last   string // the last id
	events []string
	shown  string // text of partial events
	of     string // the id of their event
}

// length returns how many events the client has got.
func (v *view) length() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.events)
}

// comeBack makes a request go on where the view is. What was shown of an event under way is sent again.
func (v *view) comeBack(req *http.Request) {
	if v.last != "" {
		req.Header.Set("Last-Event-ID", v.last)
	}
	v.of = ""
	v.shown = ""
}

// take takes in a frame, or returns what is wrong with it.
func (v *view) take(f servertest.Frame) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Name != "" && f.Name != "partial" {
		return nil
	}
	var e session.Event
	if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
		return err
	}
	if f.Name == "partial" {
		if f.ID != "" || e.Seq != 0 {
			return fmt.Errorf("a partial event has a position: %s", f.Data)
		}
		if v.of != e.ID {
			v.of = e.ID
			v.shown = ""
		}
		v.shown += e.Text()
		return nil
	}
	was, _ := strconv.ParseInt(v.last, 10, 64)
	if e.Seq != was+1 || f.ID != strconv.FormatInt(e.Seq, 10) {
		return fmt.Errorf("behind %q came %q with seq %d", v.last, f.ID, e.Seq)
	}
	if v.of == e.ID && !strings.HasPrefix(e.Text(), v.shown) {
		return fmt.Errorf("%q was shown of %q", v.shown, e.Text())
	}
	v.last = f.ID
	v.of = ""
	v.shown = ""
	v.events = append(v.events, canonical(f.Data))
	return nil
}

// Followers whose connections break at random moments come back, and show in the end what the log has:
// nothing is lost, doubled or out of order. PLUGHOOK_SOAK=100 makes more than 10,000 of such breaks.
func TestStreamsThatBreakGoOnWhereTheyWere(t *testing.T) {
	s := serve(t, talker, nil)
	const path = "/v1/apps/desk/sessions/s"
	s.Do("POST", "/v1/apps/desk/sessions", `{"id":"s"}`)
	turns := contract.Times(40)
	const followers = 4
	ctx, end := context.WithCancel(t.Context())
	defer end()
	views := make([]view, followers)
	breaks := make([]int, followers)
	errs := make([]error, followers)
	var wg sync.WaitGroup
	for i := range followers {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			most := 12 * time.Millisecond // for a connection; longer while none brings anything, on a slow machine
			for errs[i] == nil && ctx.Err() == nil {
				was := views[i].length()
				errs[i] = followOnce(ctx, client, s.URL+path+"/events?follow=1", &views[i], most)
				breaks[i]++
				if views[i].length() > was {
					most = 12 * time.Millisecond
				} else {
					most = min(most*5/4, 10*time.Second)
				}
			}
		})
	}
	for n := range turns {
		status, body := s.Do("POST", path+"/run", fmt.Sprintf(`{"message":"turn %d"}`, n), "Accept",
			[]string{"application/json", "text/event-stream"}[n%2])
		require.Equal(t, 200, status, body)
	}
	key := session.Key{App: "desk", User: "user", ID: "s"}
	now, err := s.Sessions.Get(t.Context(), key)
	require.NoError(t, err)
	for i := range views { // they come to the log's end
		require.Eventually(t, func() bool { return views[i].length() >= int(now.Position) },
			time.Minute, time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // for what they should not see
	end()
	wg.Wait()
	var log []string
	for e, err := range s.Sessions.Read(t.Context(), key, session.Selection{}) {
		require.NoError(t, err)
		data, err := e.MarshalJSON()
		require.NoError(t, err)
		log = append(log, canonical(string(data)))
	}
	total := 0
	for i := range followers {
		require.NoError(t, errs[i])
		require.Len(t, views[i].events, int(now.Position), "follower %d", i)
		require.Equal(t, log, views[i].events, "follower %d", i)
		total += breaks[i]
	}
	t.Logf("%d events, %d connections that broke", now.Position, total)
}

// followOnce follows a stream until the connection breaks at a random moment, before most has passed.
func followOnce(
	ctx context.Context,
	client *http.Client,
	url string,
	v *view,
	most time.Duration,
) error {
	ctx, hangUp := context.WithTimeout(ctx, rand.N(most))
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	v.comeBack(req)
	resp, err := client.Do(req)
	if err != nil {
		return nil // it broke before the answer
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%d: %s", resp.StatusCode, body)
	}
	r := servertest.NewFrames(resp.Body)
	for {
		f, err := r.Next()
		if err != nil {
			return nil // it broke
		}
		if err := v.take(f); err != nil {
			return err
		}
	}
}

// canonical returns JSON with its keys in order: an event has them in that of its making, or of its reading.
func canonical(data string) string {
	var v any
	if json.Unmarshal([]byte(data), &v) != nil {
		return data
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// A client with the position of another session would be shown nothing, and take that for all.
func TestAPositionBeyondTheLogIsRefused(t *testing.T) {
	s := serve(t, servertest.Echo, nil)
	const one = "/v1/apps/desk/sessions/ada"
	status, _ := s.Do("POST", one+"/run", `{"id":"one","message":"Hello there"}`)
	require.Equal(t, 200, status)
	for _, path := range []string{one + "/run", "/chat"} {
		status, body := s.Do(
			"POST",
			path,
			`{"id":"two","message":"Hello again"`+map[bool]string{true: `,"session":"ada"`}[path == "/chat"]+`}`,
			"Last-Event-ID",
			"3",
		)
		require.Equal(t, 400, status, body)
	}
	status, _ = s.Do("GET", one+"/events", "", "Last-Event-ID", "3")
	require.Equal(t, 400, status)
	status, body := s.Do(
		"POST",
		one+"/run",
		`{"id":"one","message":"Hello there"}`,
		"Last-Event-ID",
		"2",
	)
	require.Equal(t, 200, status)
	require.Contains(t, body, "event: end")
}
