package workflow_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// BenchmarkWaiting tells how much memory a process holds for each run that waits for a person, in a
// session of its own.
func BenchmarkWaiting(b *testing.B) {
	const sessions = 100
	asks := workflow.Func("asks", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		return workflow.Ask[string](ctx, r, "q", "?")
	})
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, n := range []int{1, 14, 100} {
		graph := benchGraph(b, workflow.Chain(append(nodes(n), asks)...))
		b.Run(fmt.Sprint("nodes ", n), func(b *testing.B) {
			stores(b, func(b *testing.B, svc session.Service) {
				for range b.N {
					r, err := runner.New(runner.Options{Agent: graph, Sessions: svc})
					require.NoError(b, err)
					before := held()
					for range sessions {
						key := session.Key{App: "a", User: "u", ID: session.NewID()}
						for _, input := range []*session.Event{session.Message("hello"), nil} {
							for _, err := range r.Run(b.Context(), key, input, session.RunConfig{Create: true}) {
								require.NoError(b, err)
							}
						}
					}
					b.ReportMetric(float64(held()-before)/sessions, "B/waiting-run")
					require.NoError(b, r.Close(context.Background()))
				}
			})
		})
	}
}
