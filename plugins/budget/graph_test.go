package budget_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// A limit counts over all nodes of a graph, and over the invocations that go on with it. One that
// is used up stops the invocation, and the graph's run stays open.
func TestLimitsCountOverAGraph(t *testing.T) {
	sessions := memory.New()
	p := &process{t: t, sessions: sessions}
	var edges []workflow.Edge
	all := workflow.Join("all")
	for i := range 4 {
		writer, err := llm.New(
			llm.Config{Name: fmt.Sprint("writer", i), Model: talker{p, hello(0)}})
		require.NoError(t, err)
		edges = append(edges, workflow.Chain(workflow.Start, workflow.Agent(writer), all)...)
	}
	items := workflow.Func(
		"items",
		func(context.Context, *workflow.Run, any) ([]map[string]any, error) {
			return make([]map[string]any, 4), nil
		},
	)
	var bought atomic.Int32
	buy := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "buy"},
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			bought.Add(1)
			return map[string]any{"ok": true}, nil
		},
	}
	edges = slices.Concat(edges, workflow.Chain(all, items, workflow.Each(workflow.Tool(buy), 1)))
	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: edges, Limit: 1})
	require.NoError(t, err)
	run := func(models, tools int, input *session.Event) (last *session.Event) {
		limits := limits(
			budget.Limit{Name: "models", Count: "model_calls", Max: models, Per: "session"},
			budget.Limit{Name: "tools", Count: "tool_calls", Max: tools, Per: "session"})
		r, err := runner.New(runner.Options{
			Agent:    g,
			Sessions: sessions,
			Plugins:  []*plugin.Plugin{made(t, limits)},
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close(context.Background())) }()
		for e, err := range r.Run(t.Context(), key("a"), input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
			last = e
		}
		return last
	}

	// Three of four writers write, however often somebody goes on.
	require.Equal(t, "DENIED", run(3, 3, session.Message("hi")).ErrorCode)
	for range 3 {
		require.Equal(t, "DENIED", run(3, 3, nil).ErrorCode)
	}
	require.EqualValues(t, 3, p.models.Load())

	// With a greater budget the fourth does, and three of four items are bought. A call that is
	// denied fails its node.
	require.Equal(t, workflow.NodeFailed, run(5, 3, nil).ErrorCode)
	for range 3 {
		require.NotEmpty(t, run(5, 3, nil).ErrorCode)
	}
	require.EqualValues(t, 4, p.models.Load())
	require.EqualValues(t, 3, bought.Load())
	require.Len(t, run(5, 5, nil).Output, 4)
	require.EqualValues(t, 4, bought.Load())
}

// A limit of node runs counts each item of an Each, over invocations; the run that passes it is the last one.
func TestNodeRunsAreCounted(t *testing.T) {
	for name, tt := range map[string]struct{ max, items int }{
		"more than enough": {max: 12, items: 9},
		"just enough":      {max: 11, items: 9},
		"the last is none": {max: 10, items: 9},
		"used up by items": {max: 4, items: 4},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int32
			item := workflow.Func("item", func(context.Context, *workflow.Run, int) (int, error) {
				return int(ran.Add(1)), nil
			})
			items := workflow.Func("items", func(context.Context, *workflow.Run, any) ([]int, error) {
				return make([]int, 9), nil
			})
			sessions := memory.New()
			g, err := workflow.New(workflow.Graph{Name: "wf",
				Edges: workflow.Chain(workflow.Start, items, workflow.Each(item, 1))})
			require.NoError(t, err)
			r, err := runner.New(runner.Options{Agent: g, Sessions: sessions, Plugins: []*plugin.Plugin{
				made(t, limits(budget.Limit{Name: "nodes", Count: "node_runs", Max: tt.max, Per: "session"}))}})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close(context.Background())) }()
			var last *session.Event
			for range 2 {
				for e, err := range r.Run(t.Context(), key("a"), session.Message("hi"), session.RunConfig{Create: true}) {
					require.NoError(t, err)
					last = e
				}
				require.Equal(t, tt.max < 11, last.ErrorCode == session.Denied)
				if tt.max >= 11 {
					break
				}
			}
			require.EqualValues(t, tt.items, ran.Load(), "no second message runs a node")
		})
	}
}
