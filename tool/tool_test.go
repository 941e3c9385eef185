package tool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

func TestConfirmAsksFirst(t *testing.T) {
	ran := 0
	plain := must(
		t,
		func(_ context.Context, call *tool.Call, _ struct{}) (string, error) { ran++; return "done", nil },
	)
	asks := tool.Confirm(plain, "Delete all?")
	_, err := asks.Run(context.Background(), &tool.Call{})
	var ask *tool.Ask
	require.ErrorAs(t, err, &ask)
	require.Equal(t, "Delete all?", ask.Hint)
	require.EqualError(t, err, "a human is asked: Delete all?")
	require.Zero(t, ran)
	response, err := asks.Run(context.Background(),
		&tool.Call{Confirmation: &session.Confirmation{Confirmed: true}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"result": "done"}, response)
	require.Equal(t, 1, ran)
	_, err = plain.Run(context.Background(), &tool.Call{})
	require.NoError(t, err, "the tool itself is as it was")
}

func TestTimeout(t *testing.T) {
	broken := errors.New("broken")
	waits := must(t, func(ctx context.Context, _ *tool.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	fails := must(t,
		func(context.Context, *tool.Call, struct{}) (string, error) { return "", broken })
	stubborn := must(
		t,
		func(ctx context.Context, _ *tool.Call, _ struct{}) (string, error) { <-ctx.Done(); return "late", nil },
	)

	_, err := tool.Timeout(waits, time.Millisecond).Run(context.Background(), &tool.Call{})
	require.EqualError(t, err, "f did not finish within 1ms: context deadline exceeded")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = tool.Timeout(fails, time.Hour).Run(context.Background(), &tool.Call{})
	require.Equal(t, broken, err)
	response, err := tool.Timeout(stubborn, time.Millisecond).
		Run(context.Background(), &tool.Call{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"result": "late"}, response)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = tool.Timeout(waits, time.Hour).Run(ctx, &tool.Call{})
	require.Equal(t, context.Canceled, err, "somebody else's end is not the tool's slowness")
	_, err = tool.Timeout(tool.Confirm(waits, "sure?"), time.Hour).
		Run(context.Background(), &tool.Call{})
	var ask *tool.Ask
	require.ErrorAs(t, err, &ask)
}

func TestExitLoop(t *testing.T) {
	exit := tool.ExitLoop()
	check, err := exit.Check()
	require.NoError(t, err)
	require.NoError(t, check(context.Background(), map[string]any{"reason": "done"}))
	call := &tool.Call{}
	response, err := exit.Run(context.Background(), call)
	require.NoError(t, err)
	require.Empty(t, response)
	require.Equal(t, session.Actions{Escalate: true, SkipSummarization: true}, call.Actions)
}

func TestStateInACall(t *testing.T) {
	inv := &session.Invocation{State: map[string]any{"a": 1.0, "b": "x"}}
	call := &tool.Call{Invocation: inv}
	require.Equal(t, 1.0, call.Get("a"))
	require.Nil(t, call.Get("none"))
	call.Set("a", 2.0)
	call.Set("b", nil)
	require.Equal(t, 2.0, call.Get("a"))
	require.Nil(t, call.Get("b"), "deleted is not what the session still has")
	require.Equal(t, map[string]any{"a": 2.0, "b": nil}, call.Actions.StateDelta)
	require.Equal(t, map[string]any{"a": 1.0, "b": "x"}, inv.State)
}

// shelf is an artifact service that only saves.
type shelf struct {
	artifact.Service
	err   error
	saved map[string]int64
	key   session.Key
}

func (s *shelf) Save(
	_ context.Context,
	key session.Key,
	name string,
	_ *genai.Part,
) (int64, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.key = key
	v, again := s.saved[name]
	if again {
		v++
	}
	s.saved[name] = v
	return v, nil
}

func TestSaveNotesTheVersion(t *testing.T) {
	s := &shelf{saved: map[string]int64{}}
	key := session.Key{App: "a", User: "u", ID: "s"}
	shared := map[string]int64{"old": 3}
	call := &tool.Call{
		Invocation: &session.Invocation{Key: key},
		Artifacts:  s,
		Actions:    session.Actions{ArtifactDelta: shared},
	}
	for want := range int64(2) {
		v, err := call.Save(context.Background(), "plot.png", genai.NewPartFromText("x"))
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	require.Equal(t, map[string]int64{"old": 3, "plot.png": 1}, call.Actions.ArtifactDelta)
	require.Equal(t, map[string]int64{"old": 3}, shared)
	require.Equal(t, key, s.key)

	s.err = errors.New("disk full")
	_, err := call.Save(context.Background(), "other", genai.NewPartFromText("x"))
	require.Equal(t, s.err, err)
	require.NotContains(t, call.Actions.ArtifactDelta, "other")
	call.Artifacts = nil
	_, err = call.Save(context.Background(), "other", genai.NewPartFromText("x"))
	require.ErrorContains(t, err, "no artifact service")
}
