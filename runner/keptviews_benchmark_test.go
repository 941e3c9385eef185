package runner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
)

// BenchmarkNextRun is the time from the call of Run to BeforeRun, with one input, on a session of
// so many live events of 200 bytes of text: by a Runner that keeps views and by one that does not,
// in turn. A pause, as of a person, comes before the kept runs but those of "at once". The runs of
// "load" have no input, so that nothing is appended before BeforeRun. It reports medians, and what
// was allocated until BeforeRun.
func BenchmarkNextRun(b *testing.B) {
	for _, live := range []int{100, 10_000, 100_000} {
		for _, kind := range []string{"memory", "sqlite"} {
			b.Run(fmt.Sprintf("%s/%d", kind, live), func(b *testing.B) {
				sessions := openSessions(b, kind)
				fillSession(b, sessions, key, live)
				kept := newNextRun(b, sessions, 1<<30)
				none := newNextRun(b, sessions, -1)
				kept.run(b, session.Message("hi")) // this one reads all
				none.run(b, session.Message("hi"))
				var paused, atOnce, load, whole []time.Duration
				for b.Loop() {
					time.Sleep(100 * time.Millisecond)
					took, _ := kept.run(b, session.Message("hi"))
					paused = append(paused, took)
					took, _ = kept.run(b, session.Message("hi"))
					atOnce = append(atOnce, took)
					time.Sleep(100 * time.Millisecond)
					took, _ = kept.run(b, nil)
					load = append(load, took)
					took, _ = none.run(b, session.Message("hi"))
					whole = append(whole, took)
					runtime.GC() // of what that has left
				}
				_, keptBytes := kept.run(b, session.Message("hi"))
				_, wholeBytes := none.run(b, session.Message("hi"))
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ms(median(paused)), "kept-ms")
				b.ReportMetric(ms(median(load)), "load-ms")
				b.ReportMetric(ms(median(atOnce)), "at-once-ms")
				b.ReportMetric(ms(median(whole)), "whole-ms")
				b.ReportMetric(float64(keptBytes)/1024, "kept-KB")
				b.ReportMetric(float64(wholeBytes)/1024, "whole-KB")
			})
		}
	}
}

func openSessions(t testing.TB, kind string) session.Service {
	if kind == "memory" {
		return memory.New()
	}
	sessions, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	return sessions
}

// fillSession makes a session with so many events.
func fillSession(t testing.TB, sessions session.Service, key session.Key, events int) {
	_, err := sessions.Create(ctx, key, map[string]any{"mood": "fine"})
	require.NoError(t, err)
	text := strings.Repeat("words ", 33)
	after := int64(0)
	for chunk := range slices.Chunk(make([]*session.Event, events), 1000) {
		for i := range chunk {
			chunk[i] = session.Message(text)
		}
		after, err = sessions.Append(ctx, session.AppendTarget{Key: key, After: after}, chunk...)
		require.NoError(t, err)
	}
}

// nextRun has a Runner whose runs end in BeforeRun.
type nextRun struct {
	runner *runner.Runner
	began  time.Time
	bytes  uint64
}

func newNextRun(t testing.TB, sessions session.Service, keptViews int64) *nextRun {
	n := &nextRun{}
	stop := &plugin.Plugin{
		Name: "stop",
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			n.began = time.Now()
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			n.bytes = mem.TotalAlloc
			return plugin.Outcome{Stop: true}, nil
		},
	}
	r, err := runner.New(runner.Options{
		Agent:     says("never"),
		Sessions:  sessions,
		Plugins:   []*plugin.Plugin{stop},
		KeptViews: keptViews,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	n.runner = r
	return n
}

// run runs an input and returns how long it took until BeforeRun, and what was allocated until
// then.
func (n *nextRun) run(t testing.TB, input *session.Event) (time.Duration, uint64) {
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for _, err := range n.runner.Run(ctx, key, input, session.RunConfig{}) {
		require.NoError(t, err)
	}
	return n.began.Sub(start), n.bytes - before.TotalAlloc
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
