package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// An input that only changes state goes by the plugins into the log, and no agent runs.
func TestAnInputWithoutAnAgent(t *testing.T) {
	offered := 0
	looks := &plugin.Plugin{
		Name: "looks",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			offered++
			return plugin.Outcome{}, nil
		},
	}
	s := stage(t, says("I was not asked"), looks)
	input := &session.Event{Author: session.User}
	input.Actions.StateDelta = map[string]any{"mood": "better"}
	var yielded []*session.Event
	for e, err := range s.start().Run(ctx, key, input, session.RunConfig{NoAgent: true}) {
		require.NoError(t, err)
		yielded = append(yielded, e)
	}
	require.Len(t, yielded, 1)
	require.Equal(t, session.User, yielded[0].Author)
	require.Equal(t, 1, offered)
	now, err := s.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "better", now.State["mood"])
	require.EqualValues(t, 1, now.Position)
}
