package llm_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

func to(name string) *model.Response {
	return calls("transfer_to_agent", `{"agent_name":"`+name+`"}`)
}

// team is a front desk with two sub-agents.
func team(t *testing.T, front, flights, hotels *fake, plugins ...*plugin.Plugin) *bench {
	return newBench(t, llm.Config{Name: "front", Model: front, SubAgents: []agent.Agent{
		build(t, llm.Config{Name: "flights", Description: "books flights", Model: flights}),
		build(t,
			llm.Config{Name: "hotels", Description: "books hotels", Model: hotels, NoParent: true}),
	}}, plugins...)
}

func TestTransfer(t *testing.T) {
	front, flights, hotels := answers(to("flights")), answers("a flight", to("hotels")), answers("a room")
	b := team(t, front, flights, hotels)
	b.says(
		"fly",
		"user: fly",
		`front: transfer_to_agent({"agent_name":"flights"})`,
		`front: transfer_to_agent={"result":"handed over to flights"} →flights`,
		"flights: a flight",
	)
	require.Equal(t, `user: fly
user: For context: [front] called transfer_to_agent with {"agent_name":"flights"}
user: For context: [front] transfer_to_agent answered: {"result":"handed over to flights"}`, shown(flights.asked[0]))
	require.Contains(t, front.asked[0].Config.SystemInstruction.Parts[0].Text,
		"- flights: books flights\n- hotels: books hotels")
	require.Contains(t, flights.asked[0].Config.SystemInstruction.Parts[0].Text,
		"- front (the agent that you were handed over from")

	b.says("sleep", "user: sleep", `flights: transfer_to_agent({"agent_name":"hotels"})`,
		`flights: transfer_to_agent={"result":"handed over to hotels"} →hotels`, "hotels: a room")
	require.Nil(t, target(hotels.asked[0], "front"), "it cannot hand back")

	front.answers = []any{"welcome back"}
	b.says("hm", "user: hm", "front: welcome back")
}

// target reports how a request's transfer function names an agent.
func target(req *model.Request, name string) any {
	for _, tools := range req.Config.Tools {
		for _, f := range tools.FunctionDeclarations {
			if f.Name != llm.Transfer {
				continue
			}
			properties := f.ParametersJsonSchema.(map[string]any)["properties"].(map[string]any)
			for _, n := range properties["agent_name"].(map[string]any)["enum"].([]any) {
				if n == name {
					return n
				}
			}
		}
	}
	return nil
}

func TestTheNextTurnIsWhoseTheLiveViewSays(t *testing.T) {
	front, flights := answers(to("flights"), "front again"), answers("a flight", "another")
	rewinds := &plugin.Plugin{
		Name: "rewind",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			c, ok := e.Command()
			if !ok {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Withhold: true,
				Stop:     true,
				Emit: []*session.Event{
					{
						Actions: session.Actions{
							Rewind: &session.Rewind{To: int64(c.Args["to"].(float64))},
						},
					},
				},
			}, nil
		},
	}
	b := team(t, front, flights, answers(), rewinds)
	_, err := b.run("fly")
	require.NoError(t, err)
	b.says("more", "user: more", "flights: another")
	_, err = b.run(session.Command{Name: "rewind", Args: map[string]any{"to": 0.0}}.Event())
	require.NoError(t, err)
	b.says("hello", "user: hello", "front: front again")
}

func TestAPluginVetoesATransfer(t *testing.T) {
	for name, veto := range map[string]func(e *session.Event) plugin.Outcome{
		"at the call": func(e *session.Event) (out plugin.Outcome) {
			for _, c := range session.Calls([]*session.Event{e}) {
				out.Emit = append(out.Emit, session.Respond(c.FunctionCall, map[string]any{"error": "not open"}))
			}
			return out
		},
		"at the response": func(e *session.Event) plugin.Outcome {
			if e.Actions.TransferToAgent == "" {
				return plugin.Outcome{}
			}
			stay := e.Clone()
			stay.Actions.TransferToAgent = ""
			stay.Content.Parts[0].FunctionResponse.Response = map[string]any{"error": "not open"}
			return plugin.Outcome{Replace: stay}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := team(t, answers(to("flights"), "then I answer"), answers(), answers(),
				onEvent("veto", veto))
			lines, err := b.run("fly")
			require.NoError(t, err)
			require.Equal(t, "front: then I answer", lines[len(lines)-1])
			require.Contains(t, lines[2], `transfer_to_agent={"error":"not open"}`)
		})
	}
}

func TestAToolCanHandOverAndMustNameAnAgent(t *testing.T) {
	over := func(name string) *tool.Tool {
		return &tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: "over"},
			Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
				c.Actions.TransferToAgent = name
				return nil, nil
			},
		}
	}
	sub := build(t, llm.Config{Name: "sub", Model: answers("me")})
	newBench(t, llm.Config{
		Model:     answers(calls("over", "")),
		Tools:     []*tool.Tool{over("sub")},
		SubAgents: []agent.Agent{sub},
	}).
		says("x", "user: x", "bot: over(null)", "bot: over={} →sub", "sub: me")
	newBench(t, llm.Config{Model: answers(calls("over", "")), Tools: []*tool.Tool{over("nobody")}}).
		says("x", "user: x", "bot: over(null)", "bot: over={} →nobody", "bot: !UNKNOWN_AGENT")
}

func TestTheRightAgentGoesOnAfterAYes(t *testing.T) {
	front, books := answers(to("books"), "I am front"), answers(calls("pay", `{"text":"5"}`), "paid")
	tree := func() agent.Agent {
		return build(t, llm.Config{Name: "front", Model: front, SubAgents: []agent.Agent{
			build(t, llm.Config{
				Name:     "books",
				Model:    books,
				Tools:    []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?")},
				NoParent: true,
			})}})
	}
	b := &bench{t, tree(), nil, memory.New(), session.RunConfig{Create: true}}
	lines, err := b.run("buy")
	require.NoError(t, err)
	require.Equal(t, "books: confirm(c1-2 pay? false)", lines[len(lines)-1])
	b.agent = tree()
	b.says(session.Decision(true, "c1-2"), "user: confirm(c1-2  true)",
		`books: pay={"result":"pay 5"}`, "books: paid")
}

func TestCallees(t *testing.T) {
	main := answers(
		calls("expert", `{"request":"what is 6*7?"}`, "expert", `{"request":"what is 2*2?"}`),
		"42 and 4")
	expert := answers(
		func(req *model.Request) any { return "I say: " + req.Contents[0].Parts[0].Text },
		func(req *model.Request) any { return "I say: " + req.Contents[0].Parts[0].Text })
	seen := map[string]bool{}
	watch := onEvent(
		"watch",
		func(e *session.Event) plugin.Outcome { seen[e.Author+"|"+e.Branch] = true; return plugin.Outcome{} },
	)
	b := newBench(
		t,
		llm.Config{
			Model: main,
			AgentTools: []agent.Agent{
				build(t, llm.Config{Name: "expert", Description: "knows", Model: expert}),
			},
		},
		watch,
	)
	lines, err := b.run("help")
	require.NoError(t, err)
	require.ElementsMatch(
		t,
		[]string{
			"user: help",
			`bot: expert({"request":"what is 6*7?"}) expert({"request":"what is 2*2?"})`,
			"bot|expert@c1: what is 6*7?",
			"bot|expert@c2: what is 2*2?",
			"expert|expert@c1: I say: what is 6*7?",
			"expert|expert@c2: I say: what is 2*2?",
			`bot: expert={"result":"I say: what is 6*7?"} expert={"result":"I say: what is 2*2?"}`,
			"bot: 42 and 4",
		},
		lines,
	)
	require.True(t, seen["expert|expert@c1"], "the same plugins")
	require.Equal(
		t,
		"user: help\nmodel: expert({\"request\":\"what is 6*7?\"}) expert({\"request\":\"what is 2*2?\"})\nuser: expert={\"result\":\"I say: what is 6*7?\"} expert={\"result\":\"I say: what is 2*2?\"}",
		shown(main.asked[1]),
	)
	require.Len(t, expert.asked[0].Contents, 1, "a conversation of its own")
}

func TestACalleeWaitsForAHuman(t *testing.T) {
	main, expert := answers(calls("expert", `{"request":"pay"}`), "all paid"), answers(calls("pay", `{"text":"5"}`), "paid 5")
	tree := func() agent.Agent {
		return build(t, llm.Config{Model: main, AgentTools: []agent.Agent{
			build(t, llm.Config{
				Name:  "expert",
				Model: expert,
				Tools: []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?")},
			})}})
	}
	b := &bench{t, tree(), nil, memory.New(), session.RunConfig{Create: true}}
	b.says(
		"go",
		"user: go",
		`bot: expert({"request":"pay"})`,
		"bot|expert@c1: pay",
		`expert|expert@c1: pay({"text":"5"})`,
		"expert|expert@c1: confirm(c1-expert_c1 pay? false)",
		"bot: later[c1]",
	)
	b.agent = tree()
	b.says(
		session.Decision(true, "c1-expert_c1"),
		"user: confirm(c1-expert_c1  true)",
		`expert|expert@c1: pay={"result":"pay 5"}`,
		"expert|expert@c1: paid 5",
		`bot: expert={"result":"paid 5"}`,
		"bot: all paid",
	)
}

func TestACalleesFailureIsAnswered(t *testing.T) {
	broken := build(t,
		llm.Config{Name: "expert", Model: answers(&model.Error{Code: "UNAVAILABLE"})})
	b := newBench(t, llm.Config{
		Model:      answers(calls("expert", `{"request":"x"}`), "sorry"),
		AgentTools: []agent.Agent{broken},
	})
	b.says(
		"go",
		"user: go",
		`bot: expert({"request":"x"})`,
		"bot|expert@c1: x",
		"expert|expert@c1: !UNAVAILABLE",
		`bot: expert={"error":"expert has failed: UNAVAILABLE: model: UNAVAILABLE"}`,
		"bot: sorry",
	)
}

func TestACustomAgentIsCalledWithItsRequest(t *testing.T) {
	echo := agent.New(
		"echo",
		"says it again",
		func(_ context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { yield(session.Reply("echo: "+h.Now().Input.Text()), nil) }
		},
	)
	b := newBench(t, llm.Config{
		Model:      answers(calls("echo", `{"request":"x"}`), "done"),
		AgentTools: []agent.Agent{echo},
	})
	b.says(
		"go",
		"user: go",
		`bot: echo({"request":"x"})`,
		"bot|echo@c1: x",
		"echo|echo@c1: echo: x",
		`bot: echo={"result":"echo: x"}`,
		"bot: done",
	)
}

func TestSequenceOfModels(t *testing.T) {
	writer, editor := answers("a draft"), answers("a text")
	s := workflow.Sequential("pipeline", "",
		build(t, llm.Config{Name: "writer", Model: writer, OutputKey: "draft"}),
		build(t, llm.Config{Name: "editor", Model: editor, Instruction: "Edit: {draft}"}))
	b := &bench{t, s, nil, memory.New(), session.RunConfig{Create: true}}
	b.says(
		"write",
		"user: write",
		"writer: a draft",
		`writer: {"draft":"a draft"}`,
		"editor: a text",
	)
	require.Equal(t, "Edit: a draft", editor.asked[0].Config.SystemInstruction.Parts[0].Text)
	require.Equal(t, "user: write\nuser: For context: [writer] said: a draft",
		shown(editor.asked[0]))
}

func TestParallelModelsDoNotSeeEachOther(t *testing.T) {
	first := make(chan struct{})
	one := answers(func(*model.Request) any { <-first; return "one" })
	two := answers(func(*model.Request) any { close(first); return "two" })
	after := answers("both")
	s := workflow.Sequential(
		"all",
		"",
		workflow.Parallel("pair", "", build(t, llm.Config{Name: "one", Model: one}),
			build(t, llm.Config{Name: "two", Model: two})),
		build(t, llm.Config{Name: "after", Model: after}),
	)
	b := &bench{t, s, nil, memory.New(), session.RunConfig{Create: true}}
	lines, err := b.run("go")
	require.NoError(t, err)
	require.ElementsMatch(t,
		[]string{"user: go", "one|pair.one: one", "two|pair.two: two", "after: both"}, lines)
	require.Equal(t, "user: go", shown(one.asked[0]))
	require.Equal(t, "user: go", shown(two.asked[0]))
	require.Contains(t, shown(after.asked[0]), "[one] said: one")
	require.Contains(t, shown(after.asked[0]), "[two] said: two")
}

func TestALoopEndsWhenItIsToldTo(t *testing.T) {
	critic := answers("not yet", calls("exit_loop", ""))
	writer := answers("v1", "v2", "v3")
	l := workflow.Loop("refine", "", 5, build(t, llm.Config{Name: "writer", Model: writer}),
		build(t, llm.Config{Name: "critic", Model: critic, Tools: []*tool.Tool{tool.ExitLoop()}}))
	b := &bench{t, l, nil, memory.New(), session.RunConfig{Create: true}}
	b.says(
		"go",
		"user: go",
		"writer: v1",
		"critic: not yet",
		"writer: v2",
		"critic: exit_loop(null)",
		"critic: exit_loop={}",
	)
}

func TestASequenceGoesOnWhereItWaited(t *testing.T) {
	first, second, third := answers("one"), answers(calls("pay", `{"text":"5"}`), "two"), answers("three")
	seq := func() agent.Agent {
		return workflow.Sequential(
			"seq",
			"",
			build(t, llm.Config{Name: "first", Model: first}),
			build(t, llm.Config{
				Name:  "second",
				Model: second,
				Tools: []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?")},
			}),
			build(t, llm.Config{Name: "third", Model: third}),
		)
	}
	b := &bench{t, seq(), nil, memory.New(), session.RunConfig{Create: true}}
	b.says(
		"go",
		"user: go",
		"first: one",
		`second: pay({"text":"5"})`,
		"second: confirm(c1 pay? false)",
	)
	b.agent = seq()
	b.says(
		session.Decision(true, "c1"),
		"user: confirm(c1  true)",
		`second: pay={"result":"pay 5"}`,
		"second: two",
		"third: three",
	)
}

func TestAgentsThatHandEachOtherOverForEverReachALimit(t *testing.T) {
	ping := func(*model.Request) any { return to("pong") }
	pong := func(*model.Request) any { return to("ping") }
	back := build(t, llm.Config{Name: "pong", Model: answers(pong, pong, pong, pong)})
	b := newBench(t, llm.Config{
		Name:          "ping",
		Model:         answers(ping, ping, ping, ping),
		SubAgents:     []agent.Agent{back},
		MaxModelCalls: 5,
	})
	lines, err := b.run("go")
	require.NoError(t, err)
	require.Equal(t, "pong: !MODEL_CALL_LIMIT", lines[len(lines)-1])
}

// Who wants to know what a model is offered need not ask it.
func TestWhatIsOfferedIsKnownBefore(t *testing.T) {
	slow := echo(t, "slow")
	slow.LongRunning = true
	m := answers("hello")
	b := newBench(t, llm.Config{
		Model:      m,
		Tools:      []*tool.Tool{echo(t, "fast"), slow},
		AgentTools: []agent.Agent{build(t, llm.Config{Name: "expert", Model: answers()})},
		SubAgents:  []agent.Agent{build(t, llm.Config{Name: "other", Model: answers()})},
	})
	_, err := b.run("hi")
	require.NoError(t, err)
	offered := b.agent.(interface {
		Offered() []*genai.FunctionDeclaration
	}).Offered()
	require.Len(t, offered, 3)
	given := m.asked[0].Config.Tools[0].FunctionDeclarations
	require.Equal(t, offered, given[:3])
	require.Equal(t, llm.Transfer, given[3].Name)
}
