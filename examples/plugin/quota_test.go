package quota_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	quota "github.com/plughook/plughook/examples/plugin"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// say puts a text into a session and returns what comes back.
func say(t *testing.T, r *runner.Runner, key session.Key, text string) *session.Event {
	t.Helper()
	var last *session.Event
	for e, err := range r.Run(t.Context(), key, session.Message(text), session.RunConfig{Create: true}) {
		require.NoError(t, err)
		last = e
	}
	return last
}

func TestQuota(t *testing.T) {
	calls := 0
	counting := agent.New(
		"agent",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			calls++
			return func(yield func(*session.Event, error) bool) { yield(session.Reply("yes"), nil) }
		},
	)
	sessions := memory.New()
	r, err := runner.New(runner.Options{
		Agent:    counting,
		Sessions: sessions,
		Plugins:  []*plugin.Plugin{quota.New(2)},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()

	monday, tuesday := session.Key{
		App:  "a",
		User: "ada",
		ID:   "monday",
	}, session.Key{
		App:  "a",
		User: "ada",
		ID:   "tuesday",
	}
	require.Equal(t, "yes", say(t, r, monday, "one").Text())
	require.Equal(t, "yes", say(t, r, tuesday, "two").Text(),
		"the quota is the user's, not the session's")

	denied := say(t, r, monday, "three")
	require.Equal(t, session.Denied, denied.ErrorCode)
	require.Equal(t, "plugin/quota", denied.Author)
	require.Equal(t, 2, calls, "the agent is not asked once the quota is used up")

	s, err := sessions.Get(t.Context(), monday)
	require.NoError(t, err)
	require.Equal(t, int64(3), s.Position,
		"an input, its answer and the denial; the denied input is not kept")
	require.Equal(t, 2.0, s.State[quota.Key])

	require.Equal(t, "yes",
		say(t, r, session.Key{App: "a", User: "bob", ID: "monday"}, "one").Text())
}
