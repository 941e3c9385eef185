package llm_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

func TestTwoCalleesWaitForBoth(t *testing.T) {
	main, expert := answers(calls("expert", `{"request":"a"}`, "expert", `{"request":"b"}`),
		"all paid"), answers(calls("pay", `{"text":"5"}`), calls("pay", `{"text":"5"}`), "paid", "paid too")
	tree := func() agent.Agent {
		return build(t, llm.Config{Model: main, AgentTools: []agent.Agent{
			build(t, llm.Config{
				Name:  "expert",
				Model: expert,
				Tools: []*tool.Tool{tool.Confirm(echo(t, "pay"), "pay?")},
			})}})
	}
	b := &bench{t, tree(), nil, memory.New(), session.RunConfig{Create: true}}
	_, err := b.run("go")
	require.NoError(t, err)
	b.agent = tree()
	b.says(
		session.Decision(true, "c1-expert_c2"),
		"user: confirm(c1-expert_c2  true)",
		`expert|expert@c2: pay={"result":"pay 5"}`,
		"expert|expert@c2: paid",
		`bot: expert={"result":"paid"}`,
	)
	require.Len(t, main.asked, 1, "the other one waits")
	b.agent = tree()
	b.says(
		session.Decision(true, "c1-expert_c1"),
		"user: confirm(c1-expert_c1  true)",
		`expert|expert@c1: pay={"result":"pay 5"}`,
		"expert|expert@c1: paid too",
		`bot: expert={"result":"paid too"}`,
		"bot: all paid",
	)
	require.Contains(t, shown(main.asked[1]),
		`user: expert={"result":"paid too"} expert={"result":"paid"}`)
}

func TestACalleesResponseThatIsTheAnswerIsTheResult(t *testing.T) {
	final := does("final", func(_ context.Context, c *tool.Call) (map[string]any, error) {
		c.Actions.SkipSummarization = true
		return map[string]any{"answer": 42}, nil
	})
	expert := build(t, llm.Config{
		Name:  "expert",
		Model: answers(calls("final", "{}")),
		Tools: []*tool.Tool{final},
	})
	b := newBench(t, llm.Config{
		Model:      answers(calls("expert", `{"request":"x"}`), "done"),
		AgentTools: []agent.Agent{expert},
	})
	b.says(
		"go",
		"user: go",
		`bot: expert({"request":"x"})`,
		"bot|expert@c1: x",
		"expert|expert@c1: final({})",
		`expert|expert@c1: final={"answer":42}`,
		`bot: expert={"answer":42}`,
		"bot: done",
	)
}

// What goes wrong in a callee is of its call: the run goes on, and so do the calls beside it.
func TestACalleeThatBreaksIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(yield func(*session.Event, error) bool)
		want   string
	}{
		"an error": {func(yield func(*session.Event, error) bool) { yield(nil, errors.New("no luck")) }, "agent expert: no luck"},
		"an error after more": {func(yield func(*session.Event, error) bool) {
			_ = yield(session.Reply("well"), nil) && yield(nil, errors.New("no luck"))
		}, "agent expert: no luck"},
		"a panic": {func(func(*session.Event, error) bool) { panic("oops") }, "agent expert: panic: oops"},
		"silence": {func(func(*session.Event, error) bool) {}, "expert has said nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			expert := agent.New(
				"expert",
				"",
				func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] { return c.breaks },
			)
			other := build(t, llm.Config{Name: "other", Model: answers("fine")})
			counts := does(
				"count",
				func(_ context.Context, call *tool.Call) (map[string]any, error) {
					call.Set("n", 1)
					return map[string]any{"n": 1}, nil
				},
			)
			m := answers(
				calls("expert", `{"request":"x"}`, "other", `{"request":"y"}`, "count", "{}"),
				"sorry")
			b := newBench(t, llm.Config{
				Model:      m,
				Tools:      []*tool.Tool{counts},
				AgentTools: []agent.Agent{expert, other},
			})
			lines, err := b.run("go")
			require.NoError(t, err)
			require.Equal(
				t,
				[]string{
					`bot: expert={"error":"` + c.want + `"} other={"result":"fine"} count={"n":1} {"n":1}`,
					"bot: sorry",
				},
				lines[len(lines)-2:],
			)
		})
	}
}

func TestOneAgentCanBeCalledByTwo(t *testing.T) {
	expert := build(t, llm.Config{Name: "expert", Model: answers("for front", "for books")})
	books := build(t, llm.Config{
		Name:       "books",
		Model:      answers(calls("expert", `{"request":"b"}`), "from books"),
		AgentTools: []agent.Agent{expert},
	})
	front := answers(calls("expert", `{"request":"a"}`), to("books"))
	b := newBench(t, llm.Config{
		Name:       "front",
		Model:      front,
		AgentTools: []agent.Agent{expert},
		SubAgents:  []agent.Agent{books},
	})
	b.says(
		"go",
		"user: go",
		`front: expert({"request":"a"})`,
		"front|expert@c1: a",
		"expert|expert@c1: for front",
		`front: expert={"result":"for front"}`,
		`front: transfer_to_agent({"agent_name":"books"})`,
		`front: transfer_to_agent={"result":"handed over to books"} →books`,
		`books: expert({"request":"b"})`,
		"books|expert@c1-3: b",
		"expert|expert@c1-3: for books",
		`books: expert={"result":"for books"}`,
		"books: from books",
	)
}

func TestACalleesInputIsItsRequest(t *testing.T) {
	expert := answers("fine")
	instruct := func(_ context.Context, inv *session.Invocation) (string, error) {
		return "You are asked: " + inv.Input.Text(), nil
	}
	b := newBench(
		t,
		llm.Config{Model: answers(calls("expert", `{"request":"the request"}`), "done"),
			AgentTools: []agent.Agent{
				build(t, llm.Config{Name: "expert", Model: expert, InstructionFunc: instruct}),
			}},
	)
	_, err := b.run("go")
	require.NoError(t, err)
	require.Equal(t, "You are asked: the request",
		expert.asked[0].Config.SystemInstruction.Parts[0].Text)
}
