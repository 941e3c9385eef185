package workflow_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// explode panics with a text of several lines.
func explode() { panic("first line\n  second line") }

// Whoever panics, events have one line of it, without the stack. The process's log has the stack, once for
// each event that tells of the panic, with the event's id.
func TestStacksOfPanicsAreInTheProcessLogOnly(t *testing.T) {
	node := func(f func(ctx context.Context, r *workflow.Run) error) func() agent.Agent {
		return func() agent.Agent {
			n := workflow.Func("n", func(ctx context.Context, r *workflow.Run, _ any) (any, error) { return nil, f(ctx, r) })
			return newGraph(t, chain(start, n))
		}
	}
	bad := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "bad"},
		Run:         func(context.Context, *tool.Call) (map[string]any, error) { explode(); return nil, nil },
	}
	panics := does("inner", func(context.Context, *agent.Host, func(*session.Event, error) bool) { explode() })
	caller := func(config llm.Config, name string) func() agent.Agent {
		return func() agent.Agent {
			config.Name = "caller"
			m, err := script.Parse("answers.yaml", []byte("- response: '*'\n  error: '*'\n  say: done\n- user: .*\n  call: {name: "+name+", args: {request: hi}}\n"))
			require.NoError(t, err)
			config.Model = m
			a, err := llm.New(config)
			require.NoError(t, err)
			return a
		}
	}
	for name, tt := range map[string]struct {
		root    func() agent.Agent
		plugins []*plugin.Plugin
		stacks  int
		fails   bool // the run ends with an error
	}{
		"a function": {root: node(func(context.Context, *workflow.Run) error { explode(); return nil }), stacks: 1},
		"a part of a function": {root: node(func(ctx context.Context, r *workflow.Run) error {
			return r.Together(ctx, func(context.Context) error { explode(); return nil },
				func(context.Context) error { return nil })
		}), stacks: 1},
		"a child": {root: node(func(ctx context.Context, r *workflow.Run) error {
			child := workflow.Func("child", func(context.Context, *workflow.Run, any) (any, error) { explode(); return nil, nil })
			_, err := workflow.Do[any](ctx, r, child, "", nil)
			return err
		}), stacks: 1},
		"an input": {root: func() agent.Agent {
			n := takes("n")
			n.Input = func(any, map[string]any) (any, error) { explode(); return nil, nil }
			return newGraph(t, chain(start, n))
		}, stacks: 1},
		"a tool in a node": {root: func() agent.Agent {
			return newGraph(t, chain(start, gives("none", map[string]any{}), workflow.Tool(bad)))
		}, stacks: 1},
		"an agent in a node":   {root: func() agent.Agent { return newGraph(t, chain(start, workflow.Agent(panics))) }, stacks: 1},
		"a tool of an agent":   {root: caller(llm.Config{Tools: []*tool.Tool{bad}}, "bad"), stacks: 1},
		"an agent of an agent": {root: caller(llm.Config{AgentTools: []agent.Agent{panics}}, "inner"), stacks: 1},
		"an agent":             {root: func() agent.Agent { return panics }, stacks: 1, fails: true},
		"agents at once": {root: func() agent.Agent { return workflow.Parallel("p", "", panics, says("b", "2")) },
			stacks: 1, fails: true},
		"a hook": {root: func() agent.Agent { return says("a", "1") }, plugins: []*plugin.Plugin{{Name: "p",
			OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
				explode()
				return plugin.Outcome{}, nil
			}}}, stacks: 1, fails: true},
		"a hook that fails open": {root: func() agent.Agent { return says("a", "1") }, plugins: []*plugin.Plugin{plugin.FailOpen(
			&plugin.Plugin{Name: "p", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.FromAgent() {
					explode()
				}
				return plugin.Outcome{}, nil
			}})}, stacks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := newStage(t, tt.plugins...)
			r, err := runner.New(runner.Options{Agent: tt.root(), Sessions: s.svc, Plugins: s.plugins,
				Log: slog.New(slog.NewJSONHandler(&log, nil))})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close(context.Background())) }()
			failed := false
			for e, err := range r.Run(t.Context(), key, message("m"), session.RunConfig{Create: true}) {
				if err != nil {
					failed = true
					require.NotContains(t, err.Error(), "\n")
					require.NotContains(t, err.Error(), ".go:")
					continue
				}
				data, err := e.MarshalJSON()
				require.NoError(t, err)
				require.NotContains(t, string(data), ".go:")
				require.NotContains(t, string(data), `first line\n`)
			}
			require.Equal(t, tt.fails, failed)
			require.Equal(t, tt.stacks, strings.Count(log.String(), "workflow_test.explode"), log.String())
			if !tt.fails {
				named := false // the log has the id of an event
				for _, e := range s.live() {
					named = named || strings.Contains(log.String(), e.ID)
				}
				require.True(t, named, log.String())
			}
		})
	}
}
