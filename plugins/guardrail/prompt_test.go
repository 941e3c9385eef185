package guardrail_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// A conversation is edited with each call of a model, all of it: what was clean once is not looked at again, and nothing
// else, however many contents the rule has found something in.
func TestPromptIsEditedEachTime(t *testing.T) {
	guard, err := guardrail.New(guardrail.Config{Policy: parse(t, "rules: [{id: m, stages: [prompt], detect: {pii: [EMAIL_ADDRESS]}, action: redact}]"), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	inv := &session.Invocation{ID: "i", Key: session.Key{App: "a", User: "u", ID: "s"}}
	for range 3 {
		req := &model.Request{Agent: "bot"}
		for _, text := range []string{"nothing", "ann@example.com", "bob@example.com", "nothing, either", "cy@example.com"} {
			req.Contents = append(req.Contents, genai.NewContentFromText(text, genai.RoleUser))
		}
		_, err := guard.BeforeModel(t.Context(), inv, req)
		require.NoError(t, err)
		var said []string
		for _, c := range req.Contents {
			said = append(said, c.Parts[0].Text)
		}
		require.Equal(t, []string{"nothing", "[EMAIL_ADDRESS]", "[EMAIL_ADDRESS]", "nothing, either", "[EMAIL_ADDRESS]"}, said)
	}
}

// At prompt, too, what cannot be checked passes only where on_error says so, and is marked; what is too deep is taken out,
// of each request.
func TestPromptsThatCannotBeChecked(t *testing.T) {
	ask := func(p *plugin.Plugin, part *genai.Part) (*model.Request, plugin.Outcome) {
		req := &model.Request{Agent: "bot", Contents: []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{part}}}}
		out, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key}, req)
		require.NoError(t, err)
		return req, out
	}
	for _, onError := range []string{"block", "allow"} {
		p := quiet(t, with(t, `{on_error: `+onError+`, rules: [{id: r, stages: [prompt], when: 'state.n > 1', action: block}]}`))
		_, out := ask(p, &genai.Part{Text: "x"})
		require.Equal(t, onError == "block", out.Stop)
		require.Equal(t, onError == "allow", out.Unchecked != "")
	}
	var deep any = "x"
	for range 1100 {
		deep = []any{deep}
	}
	p := quiet(t, with(t, `rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: redact}]`))
	for range 2 {
		req, _ := ask(p, &genai.Part{FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"a": deep}}})
		require.Contains(t, inJSON(req.Contents[0].Parts[0].FunctionCall.Args), "TOO DEEP")
	}
}

// A request is judged by rules about where it stands each time: its agent, and the session's state.
func TestPromptsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		rule, agent string
		state       map[string]any
	}{
		"agent":     {"scope: {agent: desk}", "desk", nil},
		"condition": {`when: 'state?.n == 1'`, "bot", map[string]any{"n": 1}},
	} {
		p := quiet(t, with(t, `rules: [{id: r, stages: [prompt], `+c.rule+`, detect: {words: [heron]}, action: redact}]`))
		ask := func(agent string, state map[string]any) string {
			req := &model.Request{Agent: agent, Contents: []*genai.Content{genai.NewContentFromText("a heron", genai.RoleUser)}}
			_, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key, State: state}, req)
			require.NoError(t, err)
			return req.Contents[0].Parts[0].Text
		}
		require.Equal(t, "a heron", ask("bot", nil), name)
		require.Equal(t, "a [WORD]", ask(c.agent, c.state), name)
	}
}
