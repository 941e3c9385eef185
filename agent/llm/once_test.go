package llm_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// does is a tool of a function, which takes any arguments.
func does(name string, run func(context.Context, *tool.Call) (map[string]any, error)) *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 name,
			ParametersJsonSchema: map[string]any{"type": "object"},
		},
		Run: run,
	}
}

// stopAtCalls is a plugin that ends the run once a call is in the log.
func stopAtCalls() *plugin.Plugin {
	return onEvent(
		"stop",
		func(e *session.Event) plugin.Outcome { return plugin.Outcome{Stop: len(e.FunctionCalls()) > 0} },
	)
}

// Models count their calls from one in each answer.
func TestAYesIsToOneCallOfThoseThatTheModelGaveOneID(t *testing.T) {
	m := answers(calls("write", `{"text":"a"}`), calls("write", `{"text":"b"}`), "a is written",
		"b is written")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "write")}}, ask("write"))
	b.says(
		"write a",
		"user: write a",
		`bot: write({"text":"a"})`,
		"plugin/ask: confirm(c1 sure? false)",
	)
	b.says(
		"write b",
		"user: write b",
		`bot: write({"text":"b"})`,
		"plugin/ask: confirm(c1-2 sure? false)",
	)
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)",
		`bot: write={"result":"write a"}`, "bot: a is written")
	b.decidesNothing(session.Decision(true, "c1"))
	b.says(session.Decision(true, "c1-2"), "user: confirm(c1-2  true)",
		`bot: write={"result":"write b"}`, "bot: b is written")
	b.decidesNothing(session.Decision(true, "c1-2"))
}

func TestAYesIsToOneCallOfAgentsAtOnce(t *testing.T) {
	one, two := answers(calls("write", `{"text":"1"}`), "one is done"), answers(calls("write", `{"text":"2"}`), "two is done")
	writer := func(name string, m *fake) agent.Agent {
		return build(t, llm.Config{Name: name, Model: m, Tools: []*tool.Tool{echo(t, "write")}})
	}
	last := answers("all is done")
	root := workflow.Sequential("all", "",
		workflow.Parallel("pair", "", writer("one", one), writer("two", two)),
		build(t, llm.Config{Name: "last", Model: last}))
	b := &bench{
		t,
		root,
		[]*plugin.Plugin{ask("write")},
		memory.New(),
		session.RunConfig{Create: true},
	}
	_, err := b.run("go")
	require.NoError(t, err)
	b.says(session.Decision(true, "c1-pair_two"), "user: confirm(c1-pair_two  true)",
		`two|pair.two: write={"result":"write 2"}`, "two|pair.two: two is done")
	require.Empty(t, last.asked, "one waits")
	b.says(
		session.Decision(true, "c1-pair_one"),
		"user: confirm(c1-pair_one  true)",
		`one|pair.one: write={"result":"write 1"}`,
		"one|pair.one: one is done",
		"last: all is done",
	)
}

func TestASecondConversationWithACalleeDoesNotShowTheFirst(t *testing.T) {
	expert := answers("42", "4")
	main := answers(calls("expert", `{"request":"6*7?"}`), "it is 42",
		calls("expert", `{"request":"2*2?"}`), "it is 4")
	b := newBench(t, llm.Config{
		Model:      main,
		AgentTools: []agent.Agent{build(t, llm.Config{Name: "expert", Model: expert})},
	})
	for _, question := range []string{"one", "two"} {
		_, err := b.run(question)
		require.NoError(t, err)
	}
	require.Equal(t, "user: 2*2?", shown(expert.asked[1]))
}

// The input has approved a call, and the process was cancelled in it: nobody knows how far it came.
func TestAnInputThatIsTriedAgainDoesNotRunACallAgain(t *testing.T) {
	cancelled, cancel := context.WithCancel(ctx)
	runs := 0
	pay := does("pay", func(ctx context.Context, _ *tool.Call) (map[string]any, error) {
		runs++
		cancel()
		return nil, ctx.Err()
	})
	b := newBench(t,
		llm.Config{Model: answers(calls("pay", ""), "sorry"), Tools: []*tool.Tool{pay}}, ask("pay"))
	_, err := b.run("go")
	require.NoError(t, err)
	yes := session.Decision(true, "c1")
	yes.ID = "the same"
	r, err := runner.New(runner.Options{Agent: b.agent, Sessions: b.svc, Plugins: b.plugins})
	require.NoError(t, err)
	for _, e := range r.Run(cancelled, key, yes, b.cfg) {
		err = e
	}
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, r.Close(ctx))
	lines, err := b.run(yes)
	require.NoError(t, err)
	require.Equal(t, 1, runs)
	require.Contains(t, lines[1], `bot: pay={"error":"interrupted: `)
	require.Equal(t, "bot: sorry", lines[2])
}

func TestAnInvocationsIDThatIsUsedAgainDoesNotRunACallAgain(t *testing.T) {
	runs := 0
	pay := does("pay", func(context.Context, *tool.Call) (map[string]any, error) {
		runs++
		return nil, nil
	})
	b := newBench(t,
		llm.Config{Model: answers(calls("pay", ""), "sorry"), Tools: []*tool.Tool{pay}},
		stopAtCalls())
	first, second := session.Message("go"), session.Message("go on")
	first.InvocationID, second.InvocationID = "i", "i"
	b.says(first, "user: go", "bot: pay(null)")
	b.plugins = nil
	lines, err := b.run(second)
	require.NoError(t, err)
	require.Zero(t, runs)
	require.Contains(t, lines[1], `bot: pay={"error":"interrupted: `)
	require.Equal(t, "bot: sorry", lines[2])
}

// A plugin has withheld that the call was interrupted: it is open, and still not to be executed.
func TestACallOfAnEarlierRunIsNotExecuted(t *testing.T) {
	runs := 0
	pay := does("pay", func(context.Context, *tool.Call) (map[string]any, error) {
		runs++
		return nil, nil
	})
	b := newBench(t,
		llm.Config{Model: answers(calls("pay", ""), "sorry"), Tools: []*tool.Tool{pay}}, ask("pay"))
	_, err := b.run("go")
	require.NoError(t, err)
	stop := &plugin.Plugin{
		Name: "stop",
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			return plugin.Outcome{Stop: true}, nil
		},
	}
	b.plugins = []*plugin.Plugin{stop}
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)")
	b.plugins = []*plugin.Plugin{
		onEvent(
			"silent",
			func(e *session.Event) plugin.Outcome { return plugin.Outcome{Withhold: len(e.FunctionResponses()) > 0} },
		),
	}
	b.says("and?", "user: and?", "bot: sorry")
	require.Zero(t, runs)
}

// The plugin reads the log while the tool changes what it was given: the race detector tells if it
// is one thing.
func TestACallsArgumentsAreItsOwn(t *testing.T) {
	changes := does("change", func(_ context.Context, call *tool.Call) (map[string]any, error) {
		call.Args["new"] = true
		call.Args["deep"].(map[string]any)["n"] = 2
		call.Args["list"].([]any)[0] = "z"
		return nil, nil
	})
	reads := &plugin.Plugin{
		Name: "reads",
		OnEvent: func(_ context.Context, inv *session.Invocation, _ *session.Event) (plugin.Outcome, error) {
			_, err := json.Marshal(inv.Live)
			return plugin.Outcome{}, err
		},
	}
	const args = `{"deep":{"n":1},"list":["a"]}`
	m := answers(calls("change", args, "expert", `{"request":"x"}`), "done")
	b := newBench(
		t,
		llm.Config{
			Model:      m,
			Tools:      []*tool.Tool{changes},
			AgentTools: []agent.Agent{build(t, llm.Config{Name: "expert", Model: answers("y")})},
		},
		reads,
	)
	_, err := b.run("go")
	require.NoError(t, err)
	require.Equal(t, args, js(b.live()[1].FunctionCalls()[0].Args))
	require.Equal(t, args, js(m.asked[1].Contents[1].Parts[0].FunctionCall.Args))
}

func TestAYesToAPluginIsNotOneToTheTool(t *testing.T) {
	b := newBench(
		t,
		llm.Config{
			Model: answers(calls("pay", `{"text":"5"}`), "paid"),
			Tools: []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?")},
		},
		ask("pay"),
	)
	b.says("go", "user: go", `bot: pay({"text":"5"})`, "plugin/ask: confirm(c1 sure? false)")
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)", "bot: confirm(c1 pay? false)")
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)", `bot: pay={"result":"pay 5"}`,
		"bot: paid")
}

// An id becomes part of a branch, in which a dot and an @ have a meaning: one call's must not look
// like what is below another's.
func TestAnIDIsNoPartOfABranchsForm(t *testing.T) {
	two := calls("expert", `{"request":"a"}`, "expert", `{"request":"b"}`)
	two.Content.Parts[0].FunctionCall.ID, two.Content.Parts[1].FunctionCall.ID = "f", "f.1@x"
	pay := func(req *model.Request) any {
		if shown(req) == "user: b" {
			return calls("pay", `{"text":"5"}`)
		}
		return "fine"
	}
	expert := build(t, llm.Config{
		Name:  "expert",
		Model: answers(pay, pay, "paid"),
		Tools: []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?")},
	})
	b := newBench(t, llm.Config{Model: answers(two, "done"), AgentTools: []agent.Agent{expert}})
	lines, err := b.run("go")
	require.NoError(t, err)
	require.Equal(t, `bot: expert={"result":"fine"} later[f_1_x]`, lines[len(lines)-1],
		"one has answered, the other waits")
	b.says(
		session.Decision(true, "c1-expert_f__1__x"),
		"user: confirm(c1-expert_f__1__x  true)",
		`expert|expert@f_1_x: pay={"result":"pay 5"}`,
		"expert|expert@f_1_x: paid",
		`bot: expert={"result":"paid"}`,
		"bot: done",
	)
}
