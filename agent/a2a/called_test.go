package a2a_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// delegates is a model that calls the remote agent with what the user says, and repeats its answer.
type delegates struct{}

func (delegates) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	last := req.Contents[len(req.Contents)-1].Parts[0]
	content := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{
		FunctionCall: &genai.FunctionCall{Name: "far", Args: map[string]any{"request": last.Text}},
	}}}
	if r := last.FunctionResponse; r != nil {
		answer, _ := r.Response["result"].(string)
		content = genai.NewContentFromText("It says: "+answer, genai.RoleModel)
	}
	return func(yield func(*model.Response, error) bool) { yield(&model.Response{Content: content}, nil) }
}

func TestARemoteAgentIsCalledLikeATool(t *testing.T) {
	w := connectAs(t, func(far agent.Agent) agent.Agent {
		boss, err := llm.New(
			llm.Config{Name: "boss", Model: delegates{}, AgentTools: []agent.Agent{far}})
		require.NoError(t, err)
		return boss
	})
	events, _ := w.run("s", session.Message("one"))
	require.Equal(t, "It says: You said: one!", events[len(events)-1].Text())

	// Each call is a conversation of its own, of which nothing is kept.
	events, _ = w.run("s", session.Message("two"))
	require.Equal(t, "It says: You said: two!", events[len(events)-1].Text())
	require.Len(t, w.contexts(), 2)
	require.Empty(t, w.state("s"))

	// What it asks for is asked of the human.
	events, _ = w.run("s", session.Message("book"))
	held := events[len(events)-1]
	for held.Actions.RequestedToolConfirmations == nil {
		events = events[:len(events)-1]
		held = events[len(events)-1]
	}
	require.NotEmpty(t, w.state("s"))
	events, _ = w.run("s", session.Decision(true, held.FunctionCalls()[0].ID))
	require.Equal(t, "It says: Booked.", events[len(events)-1].Text())
	require.Empty(t, w.state("s"))
}

// state returns the state of a session here.
func (w *world) state(id string) map[string]any {
	s, err := w.local.Get(w.Context(), session.Key{App: "a", User: "u", ID: id})
	require.NoError(w, err)
	return s.State
}

func TestAForkHasAContextOfItsOwn(t *testing.T) {
	w := connect(t, nil)
	w.run("s", session.Message("one"))
	_, err := session.Fork(t.Context(), w.local, session.Key{App: "a", User: "u", ID: "s"}, 2,
		"fork")
	require.NoError(t, err)
	require.Equal(t, w.state("s"), w.state("fork"))
	w.run("fork", session.Message("two"))
	require.Len(t, w.contexts(), 2)
	require.Equal(t, []string{"one"}, w.heard(w.contexts()[0]))
	require.Equal(t, []string{"oneFor context: [you] said: You said: one!two"},
		w.heard(w.contexts()[1]))
}

// The run ends after the remote agent has answered and before that is in the log: the input is run
// again, and the remote agent does not work twice.
func TestAnInputThatIsRunAgainIsNotWorkedOnTwice(t *testing.T) {
	crash := false
	w := connect(t, nil, &plugin.Plugin{
		Name: "crash",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if crash && e.Author == "far" {
				return plugin.Outcome{}, errors.New("crash")
			}
			return plugin.Outcome{}, nil
		},
	})
	w.run("s", session.Message("one"))
	input := session.Message("two")
	input.ID = "in"
	crash = true
	var failed error
	for _, err := range w.here.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, input, session.RunConfig{}) {
		failed = err
	}
	require.ErrorContains(t, failed, "crash")
	crash = false
	events, _ := w.run("s", input)
	require.Equal(t, "You said: two!!", events[0].Text())
	require.Equal(t, []string{"one", "two"}, w.heard(w.contexts()[0]))
}
