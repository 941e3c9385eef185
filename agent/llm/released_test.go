package llm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A plugin has a say in what a human's yes releases: it finds the calls when the yes is offered,
// and answers one in its place, or withholds the yes. In process and out of it.
func TestAPluginDecidesAboutCallsThatAYesReleases(t *testing.T) {
	for name, c := range map[string]struct {
		decide  func(inv *session.Invocation, input *session.Event) plugin.Outcome
		ran     []string // the calls that were executed
		waiting int      // calls that wait after it
	}{
		"it lets them go": {func(*session.Invocation, *session.Event) plugin.Outcome { return plugin.Outcome{} }, []string{"a", "b"}, 0},
		"it answers one": {func(inv *session.Invocation, input *session.Event) (out plugin.Outcome) {
			for _, c := range inv.Released(input) {
				if c.Args["text"] == "a" {
					denied := session.Respond(c.FunctionCall, map[string]any{"error": "not any more"})
					denied.Branch = c.Event.Branch
					out.Emit = append(out.Emit, denied)
				}
			}
			return out
		}, []string{"b"}, 0},
		"it withholds the yes": {func(inv *session.Invocation, input *session.Event) plugin.Outcome {
			return plugin.Outcome{Withhold: len(inv.Released(input)) > 0}
		}, nil, 2},
	} {
		for where, wrap := range map[string]func(*plugin.Plugin) *plugin.Plugin{"in process": nil, "as a process": remote.Loopback} {
			t.Run(name+" "+where, func(t *testing.T) {
				var ran []string
				write := does(
					"write",
					func(_ context.Context, call *tool.Call) (map[string]any, error) {
						ran = append(ran, call.Args["text"].(string))
						return nil, nil
					},
				)
				write.Serial = true
				p := &plugin.Plugin{
					Name: "late",
					OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						return c.decide(inv, e), nil
					},
				}
				m := answers(calls("write", `{"text":"a"}`, "write", `{"text":"b"}`), "done")
				b := newBench(t,
					llm.Config{Model: m, Tools: []*tool.Tool{tool.Confirm(write, "sure?")}})
				run := func(input any) error { // each runner closes its plugins
					b.plugins = []*plugin.Plugin{p}
					if wrap != nil {
						b.plugins[0] = wrap(p)
					}
					_, err := b.run(input)
					return err
				}
				require.NoError(t, run("go"))
				require.Empty(t, ran)
				require.NoError(t, run(session.Decision(true, "c1", "c2")))
				require.Equal(t, c.ran, ran)
				waiting := 0
				for _, c := range session.Calls(b.live()) {
					if c.Waits() {
						waiting++
					}
				}
				require.Equal(t, c.waiting, waiting)
				if waiting == 0 {
					require.ErrorIs(t, run(session.Decision(true, "c1", "c2")),
						runner.ErrNotWaiting)
				}
			})
		}
	}
}

// What is not released: other people's words, a no, and calls that do not wait.
func TestReleased(t *testing.T) {
	held := &session.Event{Author: "bot", Content: calls("f", "{}").Content}
	asks := session.Decision(false, "c1")
	asks.Author = "bot"
	inv := &session.Invocation{Live: []*session.Event{held, asks}}
	yes := session.Decision(true, "c1", "c9")
	require.Len(t, inv.Released(yes), 1)
	require.Equal(t, "f", inv.Released(yes)[0].Name)
	require.Empty(t, inv.Released(session.Decision(false, "c1")))
	require.Empty(t, inv.Released(session.Message("yes")))
	byPlugin := session.Decision(true, "c1")
	byPlugin.Author = "plugin/x"
	require.Empty(t, inv.Released(byPlugin))
	inv.Live = append(inv.Live, session.Respond(held.FunctionCalls()[0], nil))
	require.Empty(t, inv.Released(yes))
}
