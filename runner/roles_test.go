package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A plugin that leaves out the role of a content does not make the agent take its own answer for something that it was
// told, and ask its model again.
func TestContentsOfPluginsHaveARole(t *testing.T) {
	bare := func(text string) *session.Event {
		return &session.Event{Content: &genai.Content{Parts: []*genai.Part{{Text: text}}}}
	}
	response := &session.Event{Content: &genai.Content{Parts: []*genai.Part{
		{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "a", Response: map[string]any{}}},
	}}}
	for name, tc := range map[string]struct {
		out   plugin.Outcome
		roles []string
	}{
		"a replacement":       {plugin.Outcome{Replace: bare("other")}, []string{"user", "model"}},
		"an emission":         {plugin.Outcome{Emit: []*session.Event{bare("note")}}, []string{"user", "model", "model"}},
		"one with a response": {plugin.Outcome{Emit: []*session.Event{response}, Stop: true}, []string{"user", "model", "user"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := script.Parse("m", []byte("- say: fine\n"))
			require.NoError(t, err)
			bot, err := llm.New(llm.Config{Name: "bot", Model: m})
			require.NoError(t, err)
			s := &scene{t: t, sessions: memory.New(), cfg: session.RunConfig{Create: true}, agent: bot, plugins: []*plugin.Plugin{{
				Name:   "p",
				Filter: &plugin.Filter{Authors: []string{"bot"}},
				OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
					return tc.out, nil
				},
			}}}
			_, err = s.run("Hello")
			require.NoError(t, err)
			var roles []string
			for _, e := range s.events(session.Selection{}) {
				roles = append(roles, e.Content.Role)
			}
			require.Equal(t, tc.roles, roles)
		})
	}
}
