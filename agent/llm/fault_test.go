package llm_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/tool"
)

// What a tool does wrong is answered to the model, and the calls beside it have their results.
func TestWhatAToolDoesWrongIsItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context, *tool.Call) (map[string]any, error)
		want string
	}{
		"it ends its goroutine": {func(context.Context, *tool.Call) (map[string]any, error) { runtime.Goexit(); return nil, nil }, "it has ended its goroutine"},
		"a question that is no JSON": {func(context.Context, *tool.Call) (map[string]any, error) {
			return nil, &tool.Ask{Hint: "sure?", Payload: func() {}}
		}, "to a human has a value that JSON does not have"},
		"state that is no JSON": {func(_ context.Context, call *tool.Call) (map[string]any, error) {
			call.Set("k", math.Inf(1))
			return nil, nil
		}, "set a state key to a value that JSON does not have"},
		"state without a name": {func(_ context.Context, call *tool.Call) (map[string]any, error) {
			call.Set("", 1)
			return nil, nil
		}, "set a state key without a name"},
		"state, and it fails": {func(_ context.Context, call *tool.Call) (map[string]any, error) {
			call.Set("k", 1)
			panic("oops")
		}, "panic: oops"},
	} {
		t.Run(name, func(t *testing.T) {
			fine := does(
				"fine",
				func(context.Context, *tool.Call) (map[string]any, error) { return map[string]any{"ok": true}, nil },
			)
			serial := does("bad", c.run)
			serial.Serial = true
			callee := build(t, llm.Config{Name: "expert", Model: answers("fine", "fine")})
			for beside, config := range map[string]llm.Config{
				"alone":             {Tools: []*tool.Tool{does("bad", c.run)}, Model: answers(calls("bad", "{}"), "sorry")},
				"beside a tool":     {Tools: []*tool.Tool{does("bad", c.run), fine}, Model: answers(calls("bad", "{}", "fine", "{}"), "sorry")},
				"beside an agent":   {Tools: []*tool.Tool{does("bad", c.run)}, AgentTools: []agent.Agent{callee}, Model: answers(calls("bad", "{}", "expert", `{"request":"x"}`), "sorry")},
				"serially, in turn": {Tools: []*tool.Tool{serial, fine}, Model: answers(calls("bad", "{}", "fine", "{}"), "sorry")},
			} {
				b := newBench(t, config)
				lines, err := b.run("go")
				require.NoError(t, err, beside)
				require.Equal(t, "bot: sorry", lines[len(lines)-1], beside)
				answer := lines[len(lines)-2]
				require.True(t, strings.HasPrefix(answer, `bot: bad={"error":"`), answer)
				require.Contains(t, answer, c.want, beside)
				require.Empty(t, b.state(), beside)
				for _, other := range []string{"fine", "expert"} {
					if strings.Contains(lines[1], other) {
						require.Regexp(t, other+`=\{"(ok":true|result":"fine")\}$`, answer, beside)
					}
				}
			}
		})
	}
}

func TestStateOfALongRunningToolThatHasStartedIsKept(t *testing.T) {
	starts := later("build")
	starts.Run = func(_ context.Context, call *tool.Call) (map[string]any, error) {
		call.Set("job", "7")
		return nil, nil
	}
	b := newBench(t, llm.Config{Model: answers(calls("build", "{}")), Tools: []*tool.Tool{starts}})
	b.says("go", "user: go", "bot: build({})", `bot: later[c1] {"job":"7"}`)
	require.Equal(t, map[string]any{"job": "7"}, b.state())
}

func TestSerialToolsSeeEachOthersState(t *testing.T) {
	count := does("count", func(_ context.Context, call *tool.Call) (map[string]any, error) {
		n, _ := call.Get("n").(string)
		call.Set("n", n+"|")
		return map[string]any{"n": n + "|", "mark": call.Get("mark")}, nil
	})
	count.Serial = true
	mark := does("mark", func(_ context.Context, call *tool.Call) (map[string]any, error) {
		call.Set("mark", call.Args["mark"])
		return nil, nil
	})
	m := answers(
		calls("count", "{}", "mark", `{"mark":"x"}`, "count", "{}", "mark", "{}", "count", "{}"),
		"done")
	b := newBench(t, llm.Config{Model: m, Tools: []*tool.Tool{count, mark}})
	b.says(
		"go",
		"user: go",
		`bot: count({}) mark({"mark":"x"}) count({}) mark({}) count({})`,
		`bot: count={"mark":null,"n":"|"} mark={} count={"mark":"x","n":"||"} mark={} count={"mark":null,"n":"|||"} {"mark":null,"n":"|||"}`,
		"bot: done",
	)
	require.Equal(t, map[string]any{"n": "|||"}, b.state())
}
