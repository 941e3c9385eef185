package guardrail_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// waits is a house whose one run, the last that its limit allows, waits for a yes to refund (c1-0) and for what build
// (c1-1) brings.
func waits(t *testing.T, limits string) *house {
	h := open(t, memory.New(), limits, nil)
	h.model.say = func(n int) []*model.Response {
		if n == 1 {
			return loops(2, 0, "refund", "build")(1)
		}
		return hello(0)(n)
	}
	refund := tool.Confirm(&tool.Tool{Declaration: &genai.FunctionDeclaration{Name: "refund"}, Run: func(context.Context, *tool.Call) (map[string]any, error) {
		h.ran.Add(1)
		return map[string]any{"ok": true}, nil
	}}, "Well?")
	build := &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: "build"}, LongRunning: true, Run: func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil }}
	bot, err := llm.New(llm.Config{Name: "bot", Model: h.model, Tools: []*tool.Tool{refund, build}})
	require.NoError(t, err)
	guard, err := guardrail.New(guardrail.Config{Policy: parse(t, limits), Sessions: h.sessions})
	require.NoError(t, err)
	r, err := runner.New(runner.Options{Agent: bot, Sessions: h.sessions, Plugins: []*plugin.Plugin{guard}})
	require.NoError(t, err)
	h.runner = r
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	require.Contains(t, strings.Join(h.run(key, session.Message("go")), "\n"), "Well?")
	return h
}

func response(id, name string) *session.Event {
	e := session.Respond(&genai.FunctionCall{ID: id, Name: name}, map[string]any{"is": "there"})
	e.Author = session.User
	return e
}

// What was waited for is no run, and is not refused when there are none left; what nobody has asked for is one.
func TestAnswersAreNoRuns(t *testing.T) {
	both := response("c1-1", "build")
	both.Actions = session.Decision(true, "c1-0").Actions
	spoken := session.Message("and tell me a story")
	spoken.Actions = session.Decision(true, "c1-0").Actions
	written := response("c1-1", "build")
	written.Content.Parts = append(written.Content.Parts, &genai.Part{Text: "and tell me a story"})
	within := response("c1-1", "build")
	within.Content.Parts[0].Text = "tell me a story"
	twice := response("c1-1", "build")
	twice.Content.Parts = append(twice.Content.Parts, response("c1-1", "build").Content.Parts...)
	for name, c := range map[string]struct {
		inputs []*session.Event // all but the last are answers
		runs   bool             // the last one is a run
	}{
		"yes":                             {[]*session.Event{session.Decision(true, "c1-0")}, false},
		"no":                              {[]*session.Event{session.Decision(false, "c1-0")}, false},
		"a response":                      {[]*session.Event{response("c1-1", "build")}, false},
		"both":                            {[]*session.Event{both}, false},
		"one after the other":             {[]*session.Event{session.Decision(true, "c1-0"), response("c1-1", "build")}, false},
		"a message":                       {[]*session.Event{session.Decision(true, "c1-0"), session.Message("hi")}, true},
		"yes, and more":                   {[]*session.Event{spoken}, true},
		"a response, and more":            {[]*session.Event{written}, true},
		"more in the response":            {[]*session.Event{within}, true},
		"two responses":                   {[]*session.Event{twice}, true},
		"yes to something and to nothing": {[]*session.Event{session.Decision(true, "c1-0", "c9")}, true},
		"a response to nothing":           {[]*session.Event{response("c9", "web")}, true},
		"a response to what is held":      {[]*session.Event{response("c1-0", "refund")}, true},
		"a response again":                {[]*session.Event{response("c1-1", "build"), response("c1-1", "build")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := waits(t, `rules: [{id: r, limit: {runs: 1, per: user}, action: block, message: Enough.}]`)
			for i, input := range c.inputs {
				lines := strings.Join(h.run(key, input.Clone()), "\n")
				refused := c.runs && i == len(c.inputs)-1
				require.Equal(t, refused, strings.Contains(lines, "Enough. [DENIED]"), "%d: %s", i, lines)
				require.Equal(t, 1.0, total(h.counts(key.ID)))
			}
		})
	}
}

// Limits of what follows a yes hold before the model is asked.
func TestLimitsAfterAYes(t *testing.T) {
	for _, limit := range []string{"model_calls: 1", "tokens: 1"} {
		h := waits(t, `rules: [{id: r, limit: {`+limit+`, per: user}, action: block, message: Enough.}]`)
		lines := h.run(key, session.Decision(true, "c1-0"))
		require.NotContains(t, lines, "plugin/guardrail: Enough. [DENIED]", "build is waited for")
		require.EqualValues(t, 1, h.ran.Load(), lines)
		lines = h.run(key, response("c1-1", "build"))
		require.Equal(t, "plugin/guardrail: Enough. [DENIED]", lines[len(lines)-1])
		require.EqualValues(t, 1, h.model.calls.Load())
	}
}
