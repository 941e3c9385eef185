package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// answers returns a plugin that answers the call "c1" wherever somebody else has.
func answers(name string) *plugin.Plugin {
	return &plugin.Plugin{
		Name: name,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, r := range e.FunctionResponses() {
				if r.ID == "c1" {
					return plugin.Outcome{
						Emit: []*session.Event{
							session.Respond(&genai.FunctionCall{ID: "c1", Name: "f"},
								map[string]any{"from": name}),
						},
					}, nil
				}
			}
			return plugin.Outcome{}, nil
		},
	}
}

// Of a response that another one supersedes, the event stays if it carries anything else.
func TestRule2_SupersededResponseLeavesTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		carry func(e *session.Event)
		kept  func(e *session.Event) any // what the log has of it
		want  any
	}{
		"nothing else": {carry: func(*session.Event) {}},
		"how it went":  {carry: func(e *session.Event) { e.FinishReason, e.ModelVersion = genai.FinishReasonStop, "m" }},
		"usage": {func(e *session.Event) {
			e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: 7}
		}, func(e *session.Event) any { return e.UsageMetadata.TotalTokenCount }, int32(7)},
		"metadata": {func(e *session.Event) { e.CustomMetadata = map[string]any{"cost": 12.5} },
			func(e *session.Event) any { return e.CustomMetadata["cost"] }, 12.5},
		"mark of another call": {func(e *session.Event) { e.LongRunningToolIDs = []string{"c2"} },
			func(e *session.Event) any { return e.LongRunningToolIDs }, []string{"c2"}},
		"state": {func(e *session.Event) { e.Actions.StateDelta = map[string]any{"a": "b"} },
			func(e *session.Event) any { return e.Actions.StateDelta["a"] }, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(
				t,
				does(
					func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
						call := session.Reply("")
						call.Content.Parts = []*genai.Part{
							{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f"}},
							{FunctionCall: &genai.FunctionCall{ID: "c2", Name: "g"}},
						}
						e := session.Respond(&genai.FunctionCall{ID: "c1", Name: "f"},
							map[string]any{"from": "agent"})
						c.carry(e)
						_ = yield(call, nil) && yield(e, nil)
					},
				),
				answers("cache"),
			)
			_, err := s.run("hi")
			require.NoError(t, err)
			log := s.events(session.Selection{})
			require.Equal(t, map[string]any{"from": "cache"},
				log[len(log)-1].FunctionResponses()[0].Response)
			if c.kept == nil {
				require.Len(t, log, 3)
				return
			}
			require.Len(t, log, 4)
			require.Nil(t, log[2].Content)
			require.Equal(t, c.want, c.kept(log[2]))
			require.Equal(t, []plugin.Note{{Plugin: "cache", Reason: "it answered the call"}},
				plugin.NotesOf(log[2]).Changed)
		})
	}
}

// An input is in the log, and known when it comes again, though another response stands for what it
// has said.
func TestRule2_SupersededInputStays(t *testing.T) {
	asked := false
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			if call := session.Reply(""); !asked {
				call.Content.Parts = []*genai.Part{
					{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f"}},
				}
				call.LongRunningToolIDs, asked = []string{"c1"}, true
				yield(call, nil)
				return
			}
			yield(session.Reply("thanks"), nil)
		}),
		answers("notary"),
		&plugin.Plugin{
			Name: "input",
			BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
				require.NotNil(t, inv.Input)
				return plugin.Outcome{}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	in := session.Respond(&genai.FunctionCall{ID: "c1", Name: "f"}, map[string]any{"from": "ann"})
	in.ID = "answer"
	want := []string{
		"user: hi",
		"bot: call c1",
		"user: ",
		"plugin/notary: response c1",
		"bot: thanks",
	}
	for range 2 {
		for _, err := range s.start().Run(ctx, key, in, s.cfg) {
			require.NoError(t, err)
		}
		require.Equal(t, want, s.log())
	}
}
