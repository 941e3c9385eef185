package runs

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// tally counts inputs with content in a state key of its own, as plugin budget does.
var tally = &plugin.Plugin{
	Name: "tally",
	OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		if e.Author != session.User || e.Content == nil {
			return plugin.Outcome{}, nil
		}
		counted := e.Clone()
		counted.Actions.StateIncrement = map[string]float64{"user:tally:runs": 1}
		return plugin.Outcome{Replace: counted}, nil
	},
}

// A refunder answers "ask" with a call that needs a yes of finance. With everything else it waits, and
// says "done" then.
type refunder struct{ until <-chan struct{} }

func (r refunder) run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		calls := session.Calls(host.Now().Live)
		switch {
		case host.Now().Input.Text() == "ask":
			part := &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c-1", Name: "refund"}}
			e := &session.Event{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}
			e.Actions.Confirm("c-1", session.Confirmation{Ask: []session.Approver{{By: "finance"}}})
			yield(e, nil)
			return
		}
		select {
		case <-r.until:
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		if len(calls) > 0 && !yield(session.Respond(calls[0].FunctionCall, map[string]any{"ok": true}), nil) {
			return
		}
		yield(session.Reply("done"), nil)
	}
}

// A cutOffs is a store whose sessions all were cut off: it gives the invocation of their last event for that.
type cutOffs struct{ session.Service }

func (s cutOffs) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	q.CutOff = false
	return func(yield func(*session.Hit, error) bool) {
		for hit, err := range s.Service.Search(ctx, q) {
			if err == nil {
				var log []*session.Event
				log, err = session.ReadAll(ctx, s.Service, hit.Session.Key, session.Selection{})
				hit.Session.CutOff = log[len(log)-1].InvocationID
			}
			if !yield(hit, err) {
				return
			}
		}
	}
}

// A served has the runs of one server.
type served struct {
	*Runs
	on *runner.Runner
}

func serveRuns(t *testing.T, store session.Service, a refunder, log *slog.Logger) *served {
	on, err := runner.New(runner.Options{
		Agent: agent.New("refunder", "It refunds.", a.run), Sessions: store, Plugins: []*plugin.Plugin{tally},
	})
	require.NoError(t, err)
	return &served{Runs: New(limits.New(limits.Limits{}, log), log), on: on}
}

// A server ends below two runs: the input of the one was counted in a plugin's state, and the other has begun with
// the yes of somebody who is not the session's user. Another server goes on with both, and says so when they have ended.
// Nothing is counted twice, and the clients' inputs are the same for it. What has failed is logged, and tried again.
func TestAnInputThatOthersHaveAddedToIsGoneOnWith(t *testing.T) {
	store := memory.New()
	defer store.Close()
	first := serveRuns(t, store, refunder{}, slog.New(slog.DiscardHandler))
	inputs := map[string]*session.Event{"hello": session.Message("hello"), "yes": {}}
	inputs["yes"].Actions.Confirm("c-1", session.Confirmation{Confirmed: true})
	sender := session.Sender{Name: "fin", Roles: []string{"finance"}}
	ctx := WithSender(t.Context(), func(string) session.Sender { return sender })
	start := func(s *served, id string, input *session.Event) *Run {
		input = input.Clone()
		input.ID = id
		key := session.Key{App: "a", User: "u", ID: id}
		run, f, err := s.Start(ctx, Request{Runner: s.on, Key: key, Input: input}, 0)
		require.NoError(t, err)
		f.Close()
		return run
	}
	for id, input := range inputs {
		key := session.Key{App: "a", User: "u", ID: id}
		_, err := store.Create(t.Context(), key, nil)
		require.NoError(t, err)
		if id == "yes" {
			run, f, err := first.Start(ctx, Request{Runner: first.on, Key: key, Input: session.Message("ask")}, 0)
			require.NoError(t, err)
			f.Close()
			<-run.Done()
			require.Equal(t, Done, run.End().Kind, "%v", run.End().Err)
		}
		<-start(first, id, input).Begun()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	first.Close(gone)

	// The other server has tried one of the two in vain.
	var log bytes.Buffer
	joined := make(chan struct{})
	second := serveRuns(t, cutOffs{store}, refunder{joined}, slog.New(slog.NewTextHandler(&log, nil)))
	defer second.Close(gone)
	known := map[session.Key]*found{}
	for hit, err := range second.on.Sessions().Search(t.Context(), session.Query{}) {
		require.NoError(t, err)
		s := hit.Session
		known[s.Key] = &found{invocation: s.CutOff, position: s.Position, tried: s.ID == "hello"}
	}
	failed := &Run{done: make(chan struct{}), end: End{Kind: Failed, Err: errors.New("it was refused")}}
	close(failed.done)
	known[session.Key{App: "a", User: "u", ID: "hello"}].run = failed

	// It goes on with both, and the clients' inputs join.
	app := &apps.App{Name: "a", Runner: second.on}
	known, err := second.resumeIn(t.Context(), app, 0, known)
	require.NoError(t, err)
	require.Contains(t, log.String(), "it was refused")
	require.Len(t, known, 2)
	for key, c := range known {
		require.Same(t, c.run, start(second, key.ID, inputs[key.ID]))
	}
	close(joined)
	for key, c := range known {
		<-c.run.Done()
		require.Equal(t, End{Kind: Done}, c.run.End(), key.ID)
		events := c.run.Events()
		require.Equal(t, "done", events[len(events)-1].Text())
		s, err := store.Get(t.Context(), key)
		require.NoError(t, err)
		require.EqualValues(t, 2, s.State["user:tally:runs"], "hello and ask")
	}
	_, err = second.resumeIn(t.Context(), app, time.Hour, known)
	require.NoError(t, err)
	require.Contains(t, log.String(), "has gone on")
}
