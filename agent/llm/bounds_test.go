package llm_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

var place = map[string]any{
	"type":       "object",
	"required":   []any{"city"},
	"properties": map[string]any{"city": map[string]any{"type": "string"}},
}

// always is a model that says one thing again and again, at most 20 times.
func always(next func(*model.Request) any) *fake {
	return answers(slices.Repeat([]any{next}, 20)...)
}

func TestWhatBecomesOfAnAnswerThatWasGivenByACall(t *testing.T) {
	for name, c := range map[string]struct {
		out   plugin.Outcome // on the answer
		asked int
		last  string
	}{
		"withheld":                 {plugin.Outcome{Withhold: true}, 1, `bot: set_model_response={"result":"ok"}`},
		"not good enough":          {plugin.Outcome{Emit: []*session.Event{session.Message("Do better.")}}, 3, "bot: !MODEL_CALL_LIMIT"},
		"not good enough to be in": {plugin.Outcome{Withhold: true, Emit: []*session.Event{session.Message("Do better.")}}, 3, "bot: !MODEL_CALL_LIMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			critic := onEvent("critic", func(e *session.Event) plugin.Outcome {
				if e.Text() != `{"city":"Rome"}` {
					return plugin.Outcome{}
				}
				return c.out
			})
			m := always(
				func(*model.Request) any { return calls("set_model_response", `{"city":"Rome"}`) })
			lines, err := newBench(
				t,
				llm.Config{
					Model:         m,
					Output:        place,
					Tools:         []*tool.Tool{echo(t, "echo")},
					MaxModelCalls: 3,
				},
				critic,
			).run("where?")
			require.NoError(t, err)
			require.Len(t, m.asked, c.asked)
			require.Equal(t, c.last, lines[len(lines)-1])
		})
	}
}

func TestAnAnswerThatWasGivenByACallIsGivenOnce(t *testing.T) {
	critic := onEvent("critic", func(e *session.Event) (out plugin.Outcome) {
		if e.Text() == `{"city":"Rome"}` {
			out.Emit = []*session.Event{session.Message("Do better.")}
		}
		return out
	})
	final := does("final", func(_ context.Context, c *tool.Call) (map[string]any, error) {
		c.Actions.SkipSummarization = true
		return map[string]any{"n": 1}, nil
	})
	m := answers(calls("set_model_response", `{"city":"Rome"}`), calls("final", "{}"))
	b := newBench(t, llm.Config{Model: m, Output: place, Tools: []*tool.Tool{final}}, critic)
	b.says(
		"where?",
		"user: where?",
		`bot: set_model_response({"city":"Rome"})`,
		`bot: set_model_response={"result":"ok"}`,
		`bot: {"city":"Rome"}`,
		"plugin/critic: Do better.",
		"bot: final({})",
		`bot: final={"n":1}`,
	)
}

func TestAPluginThatCallsOnEveryResponseReachesTheLimit(t *testing.T) {
	runs := 0
	count := does("count", func(context.Context, *tool.Call) (map[string]any, error) {
		if runs++; runs > 20 {
			return nil, &tool.Ask{Hint: "for ever?"} // which ends it
		}
		return nil, nil
	})
	again := onEvent("again", func(e *session.Event) plugin.Outcome {
		if len(e.FunctionResponses()) == 0 {
			return plugin.Outcome{}
		}
		call := calls("count", "")
		call.Content.Parts[0].FunctionCall.ID = fmt.Sprint("p", runs)
		return plugin.Outcome{Emit: []*session.Event{call.Event()}}
	})
	m := answers(calls("count", ""))
	lines, err := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{count}, MaxModelCalls: 3},
		again).run("go")
	require.NoError(t, err)
	require.Equal(t, "bot: !MODEL_CALL_LIMIT", lines[len(lines)-1])
	require.Equal(t, 3, runs)
	require.Len(t, m.asked, 1)
}

// The other branch speaks between the answer and the agent's look at what has become of it.
func TestAnAnswerIsWithheldWhileAnotherBranchSpeaks(t *testing.T) {
	gone := onEvent(
		"gone",
		func(e *session.Event) plugin.Outcome { return plugin.Outcome{Withhold: e.Author == "bot"} },
	)
	m := answers("a", "b", "c")
	bot := build(t, llm.Config{Model: m})
	turn, did := make(chan struct{}), make(chan struct{})
	quiet := agent.New(
		"quiet",
		"",
		func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				defer close(turn)
				agent.Run(ctx, bot, h, func(e *session.Event, err error) bool {
					more := yield(e, err)
					turn <- struct{}{}
					<-did
					return more
				})
			}
		},
		bot,
	)
	busy := agent.New(
		"busy",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				for range turn {
					yield(session.Reply("I am here"), nil)
					did <- struct{}{}
				}
			}
		},
	)
	b := &bench{
		t,
		workflow.Parallel("pair", "", quiet, busy),
		[]*plugin.Plugin{gone},
		memory.New(),
		session.RunConfig{Create: true},
	}
	b.says("go", "user: go", "busy|pair.busy: I am here")
	require.Len(t, m.asked, 1)
}

func TestNewRefusesAnOutputThatNoCallCanGive(t *testing.T) {
	text := map[string]any{"type": "string"}
	_, err := llm.New(llm.Config{Name: "a", Model: answers(), Output: text})
	require.NoError(t, err)
	expert := build(t, llm.Config{Name: "expert", Model: answers()})
	for _, c := range []llm.Config{{Tools: []*tool.Tool{echo(t, "echo")}}, {AgentTools: []agent.Agent{expert}}, {SubAgents: []agent.Agent{expert}}} {
		c.Name, c.Model, c.Output = "a", answers(), text
		_, err := llm.New(c)
		require.ErrorContains(t, err,
			"gives its answer by a call, so the schema must be that of an object")
	}
}
