package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// A call is answered by whoever has the role that is asked. The runner writes down who that was, whatever the input says.
func TestACallIsAnsweredByTheRoleThatIsAsked(t *testing.T) {
	s := stage(t, does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		if h.Now().Input.Text() != "go" {
			return
		}
		e := &session.Event{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
			{FunctionCall: &genai.FunctionCall{ID: "c", Name: "refund"}},
		}}}
		e.Actions.Confirm("c", session.Confirmation{Ask: []session.Approver{{By: "finance"}}})
		yield(e, nil)
	}))
	_, err := s.run("go")
	require.NoError(t, err)
	decide := func(who session.Sender) error {
		in := session.Decision(true, "c")
		in.Actions.Confirm("c", session.Confirmation{Confirmed: true, Name: "boss", Roles: []string{"finance"}})
		for _, err := range s.start().Run(ctx, key, in, session.RunConfig{Sender: who}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	require.ErrorIs(t, decide(session.Sender{}), runner.ErrNotYours)
	require.ErrorIs(t, decide(session.Sender{Name: "svc", Roles: []string{session.UserRole}}), runner.ErrNotYours)
	before := len(s.log())
	require.NoError(t, decide(session.Sender{Name: "bob", Roles: []string{"finance"}}))
	input := s.events(session.Selection{})[before]
	said := input.Actions.RequestedToolConfirmations["c"]
	require.Equal(t, session.Confirmation{Confirmed: true, Name: "bob", Roles: []string{"finance"}}, said)
	require.ErrorIs(t, decide(session.Sender{Name: "bob", Roles: []string{"finance"}}), runner.ErrNotWaiting)
}

func TestAnInputWithAFunctionCallIsRefused(t *testing.T) {
	s := stage(t, says("hi"))
	in := session.Message("look")
	in.Content.Parts = append(in.Content.Parts,
		&genai.Part{FunctionCall: &genai.FunctionCall{ID: "f", Name: "refund"}},
		&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "f", Name: "refund"}})
	for _, err := range s.start().Run(ctx, key, in, session.RunConfig{}) {
		require.ErrorIs(t, err, session.ErrInvalid)
		require.ErrorContains(t, err, "only agents call functions")
	}
	require.Empty(t, s.log())
}
