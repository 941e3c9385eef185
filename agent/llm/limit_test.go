package llm_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// hangs is a tool that ends when its context does.
func hangs() *tool.Tool {
	return does("hang", func(ctx context.Context, _ *tool.Call) (map[string]any, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("ended: %w", ctx.Err())
	})
}

func TestATimeLimitEndsTheAgentsThatAreCalled(t *testing.T) {
	custom := agent.New(
		"expert",
		"",
		func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				<-ctx.Done()
				yield(nil, ctx.Err())
			}
		},
	)
	model := func(t *testing.T) agent.Agent {
		return build(t, llm.Config{
			Name:  "expert",
			Model: answers(calls("hang", "{}"), "no"),
			Tools: []*tool.Tool{hangs()},
		})
	}
	for name, c := range map[string]struct {
		expert func(*testing.T) agent.Agent
		says   []string
	}{
		"a model's agent":  {model, []string{"expert|expert@c2: hang({})", `expert|expert@c2: hang={"error":"ended: context deadline exceeded"}`}},
		"a custom agent":   {func(*testing.T) agent.Agent { return custom }, nil},
		"one that is slow": {func(*testing.T) agent.Agent { return slow() }, []string{"expert|expert@c2: too late"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fast := does(
					"fast",
					func(_ context.Context, call *tool.Call) (map[string]any, error) {
						call.Set("k", "v")
						return map[string]any{"ok": true}, nil
					},
				)
				m, after := answers(calls("fast", "{}", "expert", `{"request":"x"}`),
					"no"), answers("no")
				bot := build(t, llm.Config{
					Model:      m,
					Tools:      []*tool.Tool{fast},
					AgentTools: []agent.Agent{c.expert(t)},
					Timeout:    time.Minute,
				})
				b := &bench{
					t,
					workflow.Sequential("s", "", bot,
						build(t, llm.Config{Name: "after", Model: after})),
					nil,
					memory.New(),
					session.RunConfig{Create: true},
				}
				b.says(
					"go",
					slices.Concat(
						[]string{
							"user: go",
							`bot: fast({}) expert({"request":"x"})`,
							"bot|expert@c2: x",
						},
						c.says,
						[]string{
							`bot: fast={"ok":true} expert={"error":"agent bot: its time limit was reached: 1m0s"} {"k":"v"}`,
							"bot: !TIME_LIMIT",
						},
					)...)
				require.Equal(t, map[string]any{"k": "v"}, b.state())
			})
		})
	}
}

// slow is an agent that says something when its context has ended.
func slow() agent.Agent {
	return agent.New(
		"expert",
		"",
		func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				<-ctx.Done()
				yield(session.Reply("too late"), nil)
			}
		},
	)
}
