package llm_test

import (
	"context"
	"strings"
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

// later is a tool that is answered later.
func later(name string) *tool.Tool {
	t := does(name, func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil })
	t.LongRunning = true
	return t
}

func TestALongRunningCallThatNeverStartedIsInterrupted(t *testing.T) {
	b := newBench(
		t,
		llm.Config{
			Model: answers(calls("build", "{}"), "sorry"),
			Tools: []*tool.Tool{later("build")},
		},
		stopAtCalls(),
	)
	b.says("go", "user: go", "bot: build({})")
	b.plugins = nil
	lines, err := b.run("and?")
	require.NoError(t, err)
	require.Contains(t, lines[1], `bot: build={"error":"interrupted: `)
	require.Equal(t, "bot: sorry", lines[2])
}

func TestWhatAnAgentThatIsGoneWaitedForIsInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		tool  *tool.Tool
		waits string
	}{
		"a human's yes": {tool.Confirm(echo(t, "pay"), "pay?"), "books: confirm(c1-2 pay? false)"},
		"a response":    {later("pay"), "books: later[c1-2]"},
	} {
		t.Run(name, func(t *testing.T) {
			front := answers(to("books"), "I am alone")
			books := build(t, llm.Config{
				Name:  "books",
				Model: answers(calls("pay", "{}")),
				Tools: []*tool.Tool{c.tool},
			})
			b := newBench(t,
				llm.Config{Name: "front", Model: front, SubAgents: []agent.Agent{books}})
			lines, err := b.run("go")
			require.NoError(t, err)
			require.Equal(t, c.waits, lines[len(lines)-1])
			b.agent = build(t, llm.Config{Name: "front", Model: front})
			lines, err = b.run("and?")
			require.NoError(t, err)
			require.Contains(t, lines[1], `books: pay={"error":"interrupted: `)
			require.Equal(t, "front: I am alone", lines[2])
		})
	}
}

// The plugin answers for the model of the second agent, with a call that it has a human asked
// about.
func TestTheAgentThatAPluginStoodInForGoesOn(t *testing.T) {
	standIn := &plugin.Plugin{
		Name: "standin",
		BeforeModel: func(_ context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			if req.Agent != "second" || len(session.Calls(inv.Live)) > 0 {
				return plugin.Outcome{}, nil
			}
			held := &session.Event{
				Actions: session.Actions{
					RequestedToolConfirmations: map[string]session.Confirmation{
						"c1": {Hint: "sure?"},
					},
				},
			}
			return plugin.Outcome{
				Withhold: true,
				Emit:     []*session.Event{calls("pay", `{"text":"5"}`).Event(), held},
			}, nil
		},
	}
	first, second, third := answers("one"), answers("two"), answers("three")
	seq := func() agent.Agent {
		return workflow.Sequential(
			"seq",
			"",
			build(t, llm.Config{Name: "first", Model: first}),
			build(t,
				llm.Config{Name: "second", Model: second, Tools: []*tool.Tool{echo(t, "pay")}}),
			build(t, llm.Config{Name: "third", Model: third}),
		)
	}
	b := &bench{t, seq(), []*plugin.Plugin{standIn}, memory.New(), session.RunConfig{Create: true}}
	b.says(
		"go",
		"user: go",
		"first: one",
		`plugin/standin: pay({"text":"5"})`,
		"plugin/standin: confirm(c1 sure? false)",
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

func TestAgentsWithoutHistoryGoOnWithTheirQuestion(t *testing.T) {
	m := answers("hello", calls("write", `{"text":"a"}`), "later", "written")
	b := newBench(t, llm.Config{Model: m, NoHistory: true, Tools: []*tool.Tool{echo(t, "write")}},
		ask("write"))
	for _, input := range []any{"hi", "write", "what?", session.Decision(true, "c1")} {
		_, err := b.run(input)
		require.NoError(t, err)
	}
	require.Equal(t, "user: what?", shown(m.asked[2]))
	require.Equal(
		t,
		"user: write\nmodel: write({\"text\":\"a\"})\nuser: write={\"result\":\"write a\"}\nuser: what?\nmodel: later\n"+
			"user: For context: Your earlier call of write (id c1) has been answered: the response stands with the call. Go on from there.",
		shown(m.asked[3]),
	)
}

// An answer that comes after other turns stands with its call, far up: the model is told that it is
// there, in this and in all later requests at the same place.
func TestLateAnswersAreTold(t *testing.T) {
	m := answers(calls("build", `{"n":1}`, "write", `{"text":"a"}`, "build", `{"n":2}`), "I wait",
		"fine", calls("echo", `{"text":"b"}`), "bye")
	b := newBench(t, llm.Config{
		Model: m,
		Tools: []*tool.Tool{
			later("build"),
			tool.Confirm(echo(t, "write"), "sure?"),
			echo(t, "echo"),
		},
	})
	both := session.Respond(&genai.FunctionCall{ID: "c1", Name: "build"},
		map[string]any{"result": "one"})
	both.Content.Parts = append(
		both.Content.Parts,
		session.Respond(&genai.FunctionCall{ID: "c3", Name: "build"},
			map[string]any{"result": "two"}).Content.Parts...)
	withText := session.Decision(true, "c2")
	withText.Content = genai.NewContentFromText("yes, do", genai.RoleUser)
	for _, input := range []any{"go", "how is it?", both, withText, "bye"} {
		_, err := b.run(input)
		require.NoError(t, err)
	}
	require.Len(t, m.asked, 5,
		"while a call waits the model is not asked about the others' answers")
	told := "user: For context: Your earlier call of build (id c1) has been answered: the response stands with the call. Your earlier call of write (id c2) has been answered: the response stands with the call. " +
		"Your earlier call of build (id c3) has been answered: the response stands with the call. Go on from there."
	require.Contains(t, shown(m.asked[2]),
		`user: build={"result":"one"} write={"result":"write a"} build={"result":"two"}`)
	require.Equal(t, "user: yes, do\n"+told,
		shown(m.asked[2])[strings.Index(shown(m.asked[2]), "user: yes"):])
	for i := 3; i < 5; i++ {
		require.True(t, strings.HasPrefix(shown(m.asked[i]), shown(m.asked[i-1])+"\n"),
			"the prompt only grows at its end")
	}
}

func TestAgentsWithoutHistorySeeNoSummary(t *testing.T) {
	fold := &plugin.Plugin{
		Name: "fold",
		BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
			if inv.Frontier > 0 || inv.Position < 3 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					{
						Actions: session.Actions{
							Compaction: &session.Compaction{
								Through: 2,
								Content: genai.NewContentFromText("they greeted", "user"),
							},
						},
					},
				},
			}, nil
		},
	}
	m := answers("hello", "what?")
	b := newBench(t, llm.Config{Model: m, NoHistory: true}, fold)
	for _, input := range []string{"hi", "and?"} {
		_, err := b.run(input)
		require.NoError(t, err)
	}
	require.Len(t, b.live(), 3, "the compaction heads the view")
	require.Equal(t, "user: and?", shown(m.asked[1]))
}

func TestAnAnswerThatIsGivenBesideAHeldCallWaits(t *testing.T) {
	rome := `{"city":"Rome"}`
	m := answers(calls("set_model_response", rome, "write", `{"text":"a"}`),
		calls("set_model_response", rome))
	b := newBench(
		t,
		llm.Config{
			Model:     m,
			Output:    place,
			OutputKey: "place",
			Tools:     []*tool.Tool{echo(t, "write")},
		},
		ask("write"),
	)
	b.says(
		"go",
		"user: go",
		`bot: set_model_response(`+rome+`) write({"text":"a"})`,
		"plugin/ask: confirm(c2 sure? false)",
		`bot: set_model_response={"result":"ok"}`,
	)
	require.Empty(t, b.state())
	b.says(session.Decision(true, "c2"), "user: confirm(c2  true)",
		`bot: write={"result":"write a"}`, "bot: set_model_response("+rome+")",
		`bot: set_model_response={"result":"ok"}`, "bot: "+rome, `bot: {"place":`+rome+`}`)
}

func TestANoHasItsReason(t *testing.T) {
	m := answers(calls("write", `{"text":"a"}`), "sorry")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "write")}}, ask("write"))
	_, err := b.run("go")
	require.NoError(t, err)
	no := session.Decision(false, "c1")
	no.Actions.RequestedToolConfirmations["c1"] = session.Confirmation{Payload: "not on a Sunday"}
	b.says(
		no,
		"user: confirm(c1  false)",
		`bot: write={"declined":true,"error":"declined: a human has said no to this call","reason":"not on a Sunday"}`,
		"bot: sorry",
	)
}
