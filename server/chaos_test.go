package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// chaos is what the clients of TestReplicasAreKilledUnderLoad share.
type chaos struct {
	t        *testing.T
	balancer *balancer
	keys     []session.Key

	mu   sync.Mutex
	runs []*attempt
}

// attempt is one input, as the client sees what becomes of it.
type attempt struct {
	key    session.Key
	id     string
	steps  int
	events []*session.Event
	err    error
}

// Three processes serve one store behind a balancer. They are killed at random and started again, while
// clients send inputs, follow sessions and cancel runs. Then the logs are compared with what the clients were
// told. PLUGHOOK_SOAK=60 makes it five minutes.
func TestReplicasAreKilledUnderLoad(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		var replicas []*replica
		for range 3 {
			replicas = append(replicas, startReplica(t, store))
		}
		c := &chaos{t: t, balancer: balance(t, replicas...)}
		sessions, err := openStore(t.Context(), store)
		require.NoError(t, err)
		defer sessions.Close()
		for i := range 5 {
			key := session.Key{App: "desk", User: "user", ID: fmt.Sprint("s", i)}
			_, err := sessions.Create(t.Context(), key, nil)
			require.NoError(t, err)
			c.keys = append(c.keys, key)
		}

		// Followers read until they are told to leave; the others work as long as the load lasts.
		following, leave := context.WithCancel(t.Context())
		defer leave()
		var followers, workers sync.WaitGroup
		views := make([]view, 2*len(c.keys))
		errs := make([]error, len(views))
		for i := range views {
			followers.Go(func() { errs[i] = c.follow(following, c.keys[i%len(c.keys)], &views[i]) })
		}
		over := make(chan struct{})
		for range 6 {
			workers.Go(func() { c.work(over) })
		}
		workers.Go(func() { c.cancelSome(over) })
		kills := 0
		for until := time.Now().Add(soakTime(5 * time.Second)); time.Now().Before(until); {
			time.Sleep(time.Duration(500+rand.IntN(2500)) * time.Millisecond)
			i := rand.IntN(3)
			c.balancer.get(i).kill()
			kills++
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			c.balancer.put(i, startReplica(t, store))
		}
		close(over)
		ended := make(chan struct{})
		go func() {
			workers.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(5 * time.Minute):
			require.Fail(t, "a client's run did not end")
		}

		// Let the followers come to the logs' ends.
		logs := map[session.Key][]*session.Event{}
		total := 0
		for _, key := range c.keys {
			logs[key] = c.log(sessions, key)
			total += len(logs[key])
		}
		for i := range views {
			want := len(logs[c.keys[i%len(c.keys)]])
			assert.Eventually(t, func() bool {
				return views[i].length() >= want
			}, time.Minute, 20*time.Millisecond, "follower %d does not come to the end", i)
		}
		leave()
		followers.Wait()
		for i := range views {
			require.NoError(t, errs[i], "follower %d", i)
			c.checkView(logs[c.keys[i%len(c.keys)]], &views[i])
		}
		cancelled, failed := c.checkRuns(logs)
		t.Logf(
			"%d kills, %d inputs (%d cancelled, %d without an answer), %d events, %d followers saw each of them once",
			kills,
			len(c.runs),
			cancelled,
			failed,
			total,
			len(views),
		)
		assert.NotZero(t, kills)
		assert.Zero(t, failed)
	})
}

// work sends inputs, one after the other, until the load is over.
func (c *chaos) work(over <-chan struct{}) {
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	user, err := client.New(c.balancer.url, client.Options{HTTP: web})
	if !assert.NoError(c.t, err) {
		return
	}
	for {
		select {
		case <-over:
			return
		default:
		}
		a := &attempt{
			key:   c.keys[rand.IntN(len(c.keys))],
			id:    session.NewID(),
			steps: rand.IntN(12),
		}
		input := session.Message(fmt.Sprintf("steps %d %dms", a.steps, rand.IntN(60)))
		input.ID = a.id
		input.InvocationID = a.id
		for e, err := range user.Run(c.t.Context(), a.key, input, session.RunConfig{Streaming: session.SSE}) {
			if err != nil {
				a.err = err
				break
			}
			if !e.Partial {
				a.events = append(a.events, e)
			}
		}
		c.mu.Lock()
		c.runs = append(c.runs, a)
		c.mu.Unlock()
	}
}

// cancelSome cancels a run now and then, at whichever process.
func (c *chaos) cancelSome(over <-chan struct{}) {
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond):
		}
		path := c.balancer.url + "/v1/apps/desk/sessions/" + c.keys[rand.IntN(len(c.keys))].ID
		resp, err := web.Get(path)
		if err != nil {
			continue
		}
		var now struct{ Running string }
		err = json.NewDecoder(resp.Body).Decode(&now)
		resp.Body.Close()
		if err != nil || now.Running == "" {
			continue
		}
		if resp, err := web.Post(path+"/invocations/"+now.Running+"/cancel", "application/json", nil); err == nil {
			resp.Body.Close()
		}
	}
}

// follow shows a session to a view until the context is done. Whenever the stream breaks, it comes back.
func (c *chaos) follow(ctx context.Context, key session.Key, v *view) error {
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	for ctx.Err() == nil {
		if err := c.followOnce(ctx, web, key, v); err != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

// followOnce shows a session to a view until the stream breaks.
func (c *chaos) followOnce(ctx context.Context, web *http.Client, key session.Key, v *view) error {
	url := c.balancer.url + "/v1/apps/desk/sessions/" + key.ID + "/events?follow=1"
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	v.comeBack(req)
	resp, err := web.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode >= 500 {
			return nil // a process that has died
		}
		return fmt.Errorf("%d: %s", resp.StatusCode, body)
	}
	r := servertest.NewFrames(resp.Body)
	for {
		f, err := r.Next()
		if err != nil {
			return nil
		}
		if err := v.take(f); err != nil {
			return err
		}
	}
}

// log reads a session's log: its positions are dense, and no event is there twice.
func (c *chaos) log(sessions session.Service, key session.Key) []*session.Event {
	var list []*session.Event
	seen := map[string]int64{}
	for e, err := range sessions.Read(c.t.Context(), key, session.Selection{}) {
		require.NoError(c.t, err)
		require.EqualValues(c.t, len(list)+1, e.Seq)
		require.Zero(c.t, seen[e.ID], "event %s is there twice", e.ID)
		seen[e.ID] = e.Seq
		list = append(list, e)
	}
	return list
}

// checkView checks that a follower was shown the log: each event once, in order.
func (c *chaos) checkView(log []*session.Event, v *view) {
	require.Len(c.t, v.events, len(log))
	for i, e := range log {
		var shown session.Event
		require.NoError(c.t, json.Unmarshal([]byte(v.events[i]), &shown))
		require.Equal(c.t, e.ID, shown.ID)
		require.Equal(c.t, e.Seq, shown.Seq)
	}
}

// checkRuns checks what became of each input. An input whose run ended is in the log once. Its steps are
// there in order, none of them twice, and if it was not cancelled, all of them, and one answer. What the
// client was told is what the log has.
func (c *chaos) checkRuns(logs map[session.Key][]*session.Event) (cancelled, failed int) {
	for _, a := range c.runs {
		name := fmt.Sprintf("session %s, input %s", a.key.ID, a.id)
		inputs, steps, answers := 0, 0, 0
		open := ""
		at := map[string]int64{}
		for _, e := range logs[a.key] {
			own := e.InvocationID == a.id
			if own {
				at[e.ID] = e.Seq
			}
			switch responses := e.FunctionResponses(); {
			case len(responses) > 0:
				// The next run on the session answers a call that was under way when a process was killed.
				if strings.HasPrefix(responses[0].ID, a.id) {
					require.Equal(c.t, open, responses[0].ID, name)
					open = ""
				}
			case !own:
			case e.ID == a.id:
				inputs++
				require.Equal(c.t, 1, len(at), "%s: something stands before it", name)
			case len(e.FunctionCalls()) > 0:
				want := fmt.Sprintf("%s-%d", a.id, steps)
				require.Equal(c.t, want, e.FunctionCalls()[0].ID, name)
				require.Empty(c.t, open, "%s: a step begins before another has ended", name)
				open = want
				steps++
			case e.Text() == "done" && !e.Interrupted:
				answers++
			case e.Interrupted: // the text of an answer that was cut short
			default:
				require.Fail(c.t, "an event that nobody knows", "%s: %s", name, e.ID)
			}
		}
		for _, e := range a.events {
			require.Equal(c.t, e.Seq, at[e.ID],
				"%s: the client was shown what the log does not have", name)
		}
		switch {
		case errors.Is(a.err, session.ErrCancelled):
			cancelled++
			require.LessOrEqual(c.t, inputs, 1, name)
		case a.err != nil:
			failed++
			c.t.Logf("%s: %v", name, a.err)
		default:
			require.Equal(c.t, 1, inputs, name)
			require.Equal(c.t, a.steps, steps, name)
			require.Equal(c.t, 1, answers, name)
			require.Len(c.t, a.events, len(at), "%s: the client was not shown all", name)
		}
	}
	return cancelled, failed
}
