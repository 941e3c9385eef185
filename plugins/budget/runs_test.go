package budget_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// waits starts a process whose one run waits for a yes to refund (c1-0) and for what build (c1-1)
// brings.
func waits(t *testing.T, c budget.Config) *process {
	p := &process{t: t, sessions: memory.New()}
	refund := tool.Confirm(&tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "refund"},
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			p.tools.Add(1)
			return map[string]any{"ok": true}, nil
		},
	}, "Well?")
	build := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "build"}, LongRunning: true,
		Run: func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
	}
	say := func(n int) *model.Response {
		if p.models.Load() > 1 {
			return reply("hello", 0)
		}
		return calls(1, 0, "refund", "build")(n)
	}
	bot, err := llm.New(
		llm.Config{Name: "bot", Model: talker{p, say}, Tools: []*tool.Tool{refund, build}})
	require.NoError(t, err)
	p.runner, err = runner.New(
		runner.Options{Agent: bot, Sessions: p.sessions, Plugins: []*plugin.Plugin{made(t, c)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.runner.Close(ctx)) })
	require.Contains(t, strings.Join(p.run(key("a"), session.Message("go")), "\n"), "Well?")
	return p
}

func response(id, name string) *session.Event {
	e := session.Respond(&genai.FunctionCall{ID: id, Name: name}, map[string]any{"is": "there"})
	e.Author = session.User
	return e
}

// What was waited for begins no run, and is not denied when no runs are left; what nobody has asked
// for begins one.
func TestAnswersBeginNoRun(t *testing.T) {
	both := response("c1-1", "build")
	both.Actions = session.Decision(true, "c1-0").Actions
	spoken := session.Message("and tell me a story")
	spoken.Actions = session.Decision(true, "c1-0").Actions
	written := response("c1-1", "build")
	written.Content.Parts = append(written.Content.Parts, &genai.Part{Text: "and tell me a story"})
	within := response("c1-1", "build")
	within.Content.Parts[0].Text = "tell me a story"
	for name, c := range map[string]struct {
		inputs []*session.Event // all but the last are answers
		runs   bool             // the last one begins a run
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
		"yes to something and to nothing": {[]*session.Event{session.Decision(true, "c1-0", "c9")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := waits(t, limits(
				budget.Limit{Name: "l", Count: "runs", Max: 1, Per: "user", Message: "Enough."}))
			for i, input := range c.inputs {
				lines := strings.Join(p.run(key("a"), input.Clone()), "\n")
				denied := c.runs && i == len(c.inputs)-1
				require.Equal(t, denied, strings.Contains(lines, "Enough. [DENIED]"), "%d: %s", i,
					lines)
				require.Equal(t, map[string]any{"user:budget:l:runs:ever:0": 1.0}, p.counts("a"))
			}
		})
	}
}

// Model calls that follow a yes are denied before the model is asked.
func TestLimitsHoldAfterAYes(t *testing.T) {
	p := waits(t, limits(
		budget.Limit{Name: "l", Count: "model_calls", Max: 1, Per: "user", Message: "Enough."}))
	lines := p.run(key("a"), session.Decision(true, "c1-0"))
	require.NotContains(t, lines, "plugin/budget: Enough. [DENIED]", "build is waited for")
	require.EqualValues(t, 1, p.tools.Load())
	lines = p.run(key("a"), response("c1-1", "build"))
	require.Equal(t, "plugin/budget: Enough. [DENIED]", lines[len(lines)-1])
	require.EqualValues(t, 1, p.models.Load())
}

// A run without an input counts; a command alone does not.
func TestRunsWithoutAMessage(t *testing.T) {
	p := start(
		t,
		memory.New(),
		limits(budget.Limit{
			Name:    "l",
			Count:   "runs",
			Max:     2,
			Per:     "user",
			Warn:    1,
			Message: "Enough.",
		}),
		hello(0),
	)
	p.say("a")
	p.run(key("a"), rewind.To(0).Event())
	require.Equal(t, 1.0, p.counts("a")["user:budget:l:runs:ever:0"])
	require.Contains(t, p.run(key("a"), nil), "plugin/budget: warning: 2 of 2")
	require.Equal(t, 2.0, p.counts("a")["user:budget:l:runs:ever:0"])
	require.Equal(t, []string{"plugin/budget: Enough. [DENIED]"}, p.run(key("a"), nil))
	require.Equal(t, 2.0, p.counts("a")["user:budget:l:runs:ever:0"])
}

// Programs read what was used from a denial.
func TestDenialSaysWhatWasUsed(t *testing.T) {
	p := start(
		t,
		memory.New(),
		limits(budget.Limit{
			Name:  "l",
			Count: "runs",
			Max:   1,
			Per:   "user",
			Until: "00:00 Europe/Berlin",
		}),
		hello(0),
	)
	p.say("a")
	for e, err := range p.runner.Run(ctx, key("a"), session.Message("hi"), session.RunConfig{}) {
		require.NoError(t, err)
		require.Equal(
			t,
			"The limit l (1 run per user until 00:00 Europe/Berlin) is used up; there is more in 10h.",
			e.Text(),
		)
		require.Equal(t,
			map[string]any{"limit": "l", "used": 1.0, "max": 1.0, "free": "2026-05-01T22:00:00Z"},
			e.CustomMetadata[budget.Key])
	}
}
