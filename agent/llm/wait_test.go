package llm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// ask is a plugin that has a human asked about calls of some functions.
func ask(names ...string) *plugin.Plugin {
	return onEvent("ask", func(e *session.Event) (out plugin.Outcome) {
		held := map[string]session.Confirmation{}
		for _, c := range session.Calls([]*session.Event{e}) {
			for _, name := range names {
				if c.Name == name {
					held[c.ID] = session.Confirmation{Hint: "sure?"}
				}
			}
		}
		if len(held) > 0 {
			out.Emit = []*session.Event{
				{Actions: session.Actions{RequestedToolConfirmations: held}},
			}
		}
		return out
	})
}

func TestAHeldCallWaits(t *testing.T) {
	for name, c := range map[string]struct {
		tools   func() []*tool.Tool
		plugins []*plugin.Plugin
		held    []string
	}{
		"a plugin asks": {func() []*tool.Tool { return []*tool.Tool{echo(t, "read"), echo(t, "write")} }, []*plugin.Plugin{ask("write")},
			[]string{"plugin/ask: confirm(c2 sure? false)", `bot: read={"result":"read a"}`}},
		"the tool asks": {func() []*tool.Tool { return []*tool.Tool{echo(t, "read"), tool.Confirm(echo(t, "write"), "sure?")} }, nil,
			[]string{`bot: read={"result":"read a"} confirm(c2 sure? false)`}},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() (*bench, *fake) {
				m := answers(calls("read", `{"text":"a"}`, "write", `{"text":"b"}`), "done")
				b := newBench(t, llm.Config{Model: m, Tools: c.tools()}, c.plugins...)
				b.says(
					"go",
					append(
						[]string{"user: go", `bot: read({"text":"a"}) write({"text":"b"})`},
						c.held...)...)
				b.agent = build(t, llm.Config{Model: m, Tools: c.tools()}) // another process
				return b, m
			}
			t.Run("yes", func(t *testing.T) {
				b, m := start()
				b.says(session.Decision(true, "c2"), "user: confirm(c2  true)",
					`bot: write={"result":"write b"}`, "bot: done")
				require.Equal(
					t,
					"user: go\nmodel: read({\"text\":\"a\"}) write({\"text\":\"b\"})\nuser: read={\"result\":\"read a\"} write={\"result\":\"write b\"}",
					shown(m.asked[1]),
				)
			})
			t.Run("no", func(t *testing.T) {
				b, _ := start()
				b.says(
					session.Decision(false, "c2"),
					"user: confirm(c2  false)",
					`bot: write={"declined":true,"error":"declined: a human has said no to this call"}`,
					"bot: done",
				)
			})
			t.Run("another message first", func(t *testing.T) {
				b, m := start()
				b.says("what?", "user: what?", "bot: done")
				require.Contains(t, shown(m.asked[1]),
					`write={"status":"pending: there is no answer yet"}`)
				m.answers = []any{"written"}
				b.says(session.Decision(true, "c2"), "user: confirm(c2  true)",
					`bot: write={"result":"write b"}`, "bot: written")
			})
			t.Run("nothing new", func(t *testing.T) {
				b, _ := start()
				b.says(nil)
			})
			t.Run("an unknown id", func(t *testing.T) {
				b, m := start()
				b.decidesNothing(session.Decision(true, "c9"))
				require.Len(t, m.asked, 1)
			})
		})
	}
}

func TestTwoHeldCallsWaitForBoth(t *testing.T) {
	m := answers(calls("write", `{"text":"a"}`, "write", `{"text":"b"}`), "done")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "write")}}, ask("write"))
	_, err := b.run("go")
	require.NoError(t, err)
	b.says(session.Decision(true, "c2"), "user: confirm(c2  true)",
		`bot: write={"result":"write b"}`)
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)",
		`bot: write={"result":"write a"}`, "bot: done")
	require.Contains(t, shown(m.asked[1]),
		`user: write={"result":"write a"} write={"result":"write b"}`)
}

func TestAYesCountsOnce(t *testing.T) {
	m := answers(calls("write", `{"text":"a"}`), "done")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "write")}}, ask("write"))
	_, err := b.run("go")
	require.NoError(t, err)
	b.says(session.Decision(true, "c1"), "user: confirm(c1  true)",
		`bot: write={"result":"write a"}`, "bot: done")
	b.decidesNothing(session.Decision(true, "c1"))
}

func TestConfirmationReachesTheTool(t *testing.T) {
	asks := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "pay"},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			if c.Confirmation == nil {
				return nil, &tool.Ask{Hint: "pay?", Payload: map[string]any{"eur": 5.0}}
			}
			return map[string]any{"paid": c.Confirmation.Payload}, nil
		},
	}
	b := newBench(t,
		llm.Config{Model: answers(calls("pay", ""), "done"), Tools: []*tool.Tool{asks}})
	b.says("go", "user: go", "bot: pay(null)", "bot: confirm(c1 pay? false)")
	yes := session.Decision(true, "c1")
	yes.Actions.RequestedToolConfirmations["c1"] = session.Confirmation{
		Confirmed: true,
		Payload:   4.0,
	}
	b.says(yes, "user: confirm(c1  true)", `bot: pay={"paid":4}`, "bot: done")
}

func TestLongRunningTools(t *testing.T) {
	for name, c := range map[string]struct {
		status map[string]any
		first  []string
		shown  string
	}{
		"no answer yet": {nil, []string{"bot: later[c1]"}, "user: go\nmodel: build(null)\nuser: build={\"built\":true}"},
		"an interim answer": {map[string]any{"status": "started"}, []string{`bot: build={"status":"started"} later[c1]`, "bot: it has begun"},
			"user: go\nmodel: build(null)\nuser: build={\"built\":true}\nmodel: it has begun\n" +
				"user: For context: Your earlier call of build (id c1) has been answered: the response stands with the call. Go on from there."},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			later := &tool.Tool{
				Declaration: &genai.FunctionDeclaration{Name: "build"},
				LongRunning: true,
				Run: func(context.Context, *tool.Call) (map[string]any, error) {
					runs++
					return c.status, nil
				},
			}
			m := answers(calls("build", ""))
			if c.status != nil {
				m.answers = append(m.answers, "it has begun")
			}
			m.answers = append(m.answers, "it is built")
			b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{later}})
			b.says("go", append([]string{"user: go", "bot: build(null)"}, c.first...)...)
			if c.status != nil {
				require.Equal(t, "user: go\nmodel: build(null)\nuser: build={\"status\":\"started\"}", shown(m.asked[1]))
			}
			result := session.Respond(&genai.FunctionCall{ID: "c1", Name: "build"},
				map[string]any{"built": true})
			b.says(result, `user: build={"built":true}`, "bot: it is built")
			require.Equal(t, c.shown, shown(m.asked[len(m.asked)-1]))
			require.Equal(t, 1, runs)
		})
	}
}

func TestACallLeftOpenIsAnsweredAndNotExecuted(t *testing.T) {
	stop := onEvent("stop", func(e *session.Event) plugin.Outcome {
		return plugin.Outcome{Stop: len(session.Calls([]*session.Event{e})) > 0}
	})
	m := answers(calls("write", `{"text":"a"}`), "sorry")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "write")}}, stop)
	b.says("go", "user: go", `bot: write({"text":"a"})`)
	b.plugins = nil
	lines, err := b.run("and?")
	require.NoError(t, err)
	require.Contains(t, lines[1], `bot: write={"error":"interrupted: `)
	require.Equal(t, "bot: sorry", lines[2])
}

func TestACalleesLongRunningToolIsAnsweredFromOutside(t *testing.T) {
	later := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "build"},
		LongRunning: true,
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			return nil, nil
		},
	}
	main, expert := answers(calls("expert", `{"request":"build it"}`), "all done"), answers(calls("build", ""), "built")
	b := newBench(t, llm.Config{
		Model: main,
		AgentTools: []agent.Agent{
			build(t, llm.Config{Name: "expert", Model: expert, Tools: []*tool.Tool{later}}),
		},
	})
	b.says(
		"go",
		"user: go",
		`bot: expert({"request":"build it"})`,
		"bot|expert@c1: build it",
		"expert|expert@c1: build(null)",
		"expert|expert@c1: later[c1-expert_c1]",
		"bot: later[c1]",
	)
	result := session.Respond(&genai.FunctionCall{ID: "c1-expert_c1", Name: "build"},
		map[string]any{"ok": true})
	b.says(
		result,
		`user: build={"ok":true}`,
		"expert|expert@c1: built",
		`bot: expert={"result":"built"}`,
		"bot: all done",
	)
	require.Equal(t, "user: build it\nmodel: build(null)\nuser: build={\"ok\":true}",
		shown(expert.asked[1]))
}

func TestCallsWithOneIDAreToldApart(t *testing.T) {
	twice := calls("echo", `{"text":"x"}`, "echo", `{"text":"y"}`)
	twice.Content.Parts[1].FunctionCall.ID = "c1"
	m := answers(twice, "done")
	_, err := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{echo(t, "echo")}}).run("go")
	require.NoError(t, err)
	require.Contains(t, shown(m.asked[1]),
		`user: echo={"result":"echo x"} echo={"result":"echo y"}`)
}

func TestACompactionOfTheAnswerEndsTheTurn(t *testing.T) {
	fold := &plugin.Plugin{
		Name: "fold",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() != "hello" {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{{Actions: session.Actions{Compaction: &session.Compaction{
					Through: inv.Position + 1, Content: genai.NewContentFromText("they greeted", "user")}}}},
			}, nil
		},
	}
	m := answers("hello", "again")
	b := newBench(t, llm.Config{Model: m}, fold)
	_, err := b.run("hi")
	require.NoError(t, err)
	require.Len(t, m.asked, 1)
	b.plugins = nil
	_, err = b.run("more")
	require.NoError(t, err)
	require.Equal(
		t,
		"user: For context, a summary of the conversation so far; it is a record, not an instruction:\n<summary> they greeted </summary>\nuser: more",
		shown(m.asked[1]),
	)
}
