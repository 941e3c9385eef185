package workflow_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

func stores(b *testing.B, each func(b *testing.B, svc session.Service)) {
	b.Run("memory", func(b *testing.B) { each(b, memory.New()) })
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "s.db"))
		require.NoError(b, err)
		defer s.Close()
		each(b, s)
	})
}

// nodes are n nodes in a chain.
func nodes(n int) []*workflow.Node {
	list := []*workflow.Node{workflow.Start}
	for i := range n {
		list = append(list, workflow.Func(
			fmt.Sprint("n", i),
			func(_ context.Context, _ *workflow.Run, in string) (string, error) {
				return in, nil
			},
		))
	}
	return list
}

func benchGraph(b *testing.B, edges []workflow.Edge) agent.Agent {
	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: edges})
	require.NoError(b, err)
	return g
}

func benchRun(
	b *testing.B,
	root agent.Agent,
	svc session.Service,
	key session.Key,
	input *session.Event,
	want int,
) {
	r, err := runner.New(runner.Options{Agent: root, Sessions: svc})
	require.NoError(b, err)
	defer r.Close(context.Background())
	n := 0
	for _, err := range r.Run(context.Background(), key, input, session.RunConfig{Create: true}) {
		require.NoError(b, err)
		n++
	}
	require.Equal(b, want, n)
}

// benchOnce is benchRun in a session of its own.
func benchOnce(b *testing.B, root agent.Agent, svc session.Service, want int) {
	key := session.Key{App: "a", User: "u", ID: session.NewID()}
	benchRun(b, root, svc, key, session.Message("hello"), want)
	require.NoError(b, svc.Delete(b.Context(), key))
}

// ended is the event that ends a node's run.
func ended(path string) *session.Event {
	return &session.Event{
		Author:   "wf",
		Output:   "hello",
		NodeInfo: &session.NodeInfo{Path: path, Ended: true},
	}
}

// BenchmarkNode compares, by event, a chain of nodes, an agent that yields the same events through
// the same runner, and appends of the same events without one.
func BenchmarkNode(b *testing.B) {
	const n = 200
	event := func(i int) *session.Event { return ended(fmt.Sprintf("wf@bench/n%d@1", i)) }
	plain := agent.New(
		"wf",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				for i := range n + 1 {
					if !yield(event(i), nil) {
						return
					}
				}
			}
		},
	)
	graph := benchGraph(b, workflow.Chain(nodes(n)...))
	stores(b, func(b *testing.B, svc session.Service) {
		per := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n+1), "ns/event") }
		b.Run("append", func(b *testing.B) {
			for range b.N {
				key := session.Key{App: "a", User: "u", ID: session.NewID()}
				_, err := svc.Create(b.Context(), key, nil)
				require.NoError(b, err)
				lease, err := svc.Lease(b.Context(), key, "x")
				require.NoError(b, err)
				for j := range n + 1 {
					e := event(j)
					e.InvocationID = key.ID
					_, err := svc.Append(b.Context(),
						session.AppendTarget{Key: key, After: int64(j), Fence: lease.Fence}, e)
					require.NoError(b, err)
				}
				lease.Release()
				require.NoError(b, svc.Delete(b.Context(), key))
			}
			per(b)
		})
		b.Run("runner", func(b *testing.B) {
			for range b.N {
				benchOnce(b, plain, svc, n+2)
			}
			per(b)
		})
		b.Run("node", func(b *testing.B) {
			for range b.N {
				benchOnce(b, graph, svc, n+2)
			}
			per(b)
		})
	})
}

// BenchmarkResume goes on with a run of which so many nodes have ended, and whose next one waits:
// what is left is to read and fold the log.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{0, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			asks := workflow.Func(
				"asks",
				func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
					return workflow.Ask[string](ctx, r, "q", "?")
				},
			)
			graph := benchGraph(b, workflow.Chain(append(nodes(n), asks)...))
			stores(b, func(b *testing.B, svc session.Service) {
				key := session.Key{App: "a", User: "u", ID: fmt.Sprint(n)}
				benchRun(b, graph, svc, key, session.Message("hello"), n+2)
				b.ResetTimer()
				for range b.N {
					benchRun(b, graph, svc, key, nil, 0)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(n, 1)),
					"ns/ended-node")
			})
			b.Run("same process", func(b *testing.B) {
				key := session.Key{App: "a", User: "u", ID: fmt.Sprint(n)}
				r, err := runner.New(runner.Options{Agent: graph, Sessions: memory.New()})
				require.NoError(b, err)
				defer r.Close(context.Background())
				for i := range b.N + 2 {
					var input *session.Event
					if i == 0 {
						input = session.Message("hello")
					}
					for _, err := range r.Run(b.Context(), key, input, session.RunConfig{Create: true}) {
						require.NoError(b, err)
					}
					if i == 1 {
						b.ResetTimer()
					}
				}
			})
		})
	}
}

// BenchmarkWorkers runs an Each with 1,000 items.
func BenchmarkWorkers(b *testing.B) {
	const n = 1000
	list := workflow.Func(
		"list",
		func(context.Context, *workflow.Run, struct{}) ([]int, error) { return make([]int, n), nil },
	)
	worker := workflow.Func("w",
		func(_ context.Context, _ *workflow.Run, in int) (int, error) { return in, nil })
	for _, limit := range []int{1, 8, 0} {
		graph := benchGraph(b, workflow.Chain(workflow.Start, list, workflow.Each(worker, limit)))
		b.Run(fmt.Sprint("limit ", limit), func(b *testing.B) {
			svc := memory.New()
			for range b.N {
				benchOnce(b, graph, svc, n+4)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/worker")
		})
	}
}
