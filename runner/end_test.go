package runner_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// afterRun returns a plugin with that AfterRun.
func afterRun(
	name string,
	f func(ctx context.Context, end plugin.End) (plugin.Outcome, error),
) *plugin.Plugin {
	return &plugin.Plugin{
		Name: name,
		AfterRun: func(ctx context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			return f(ctx, end)
		},
	}
}

// Rule 5: an AfterRun that hangs takes no time from those after it.
func TestRule5_EachAfterRunHasItsTime(t *testing.T) {
	s := stage(
		t,
		says("hello"),
		afterRun("slow", func(ctx context.Context, _ plugin.End) (plugin.Outcome, error) {
			<-ctx.Done()
			return plugin.Outcome{}, ctx.Err()
		}),
		afterRun("audit", func(ctx context.Context, _ plugin.End) (plugin.Outcome, error) {
			return emit("after all"), ctx.Err()
		}),
	)
	s.options.AfterRunTimeout = time.Second
	_, err := s.run("hi")
	require.ErrorContains(t, err, "plugin slow: AfterRun")
	require.NotContains(t, err.Error(), "plugin audit")
	require.Equal(t, []string{"user: hi", "bot: hello", "plugin/audit: after all"}, s.log())
}

// What goes wrong after the caller has left its loop is in the log, once, and no content is.
func TestFailureAfterTheCallerLeft(t *testing.T) {
	fails := func() *plugin.Plugin {
		return afterRun(
			"memo",
			func(context.Context, plugin.End) (plugin.Outcome, error) { return plugin.Outcome{}, errBoom },
		)
	}
	memo := afterRun("then",
		func(context.Context, plugin.End) (plugin.Outcome, error) { return emit("memo"), nil })
	for name, c := range map[string]struct {
		leave   string // at this text; "" never
		panics  bool
		plugins []*plugin.Plugin
		warned  bool
	}{
		"at the input":              {leave: "hi", plugins: []*plugin.Plugin{fails()}, warned: true},
		"by a panic":                {leave: "hi", panics: true, plugins: []*plugin.Plugin{fails()}, warned: true},
		"between two AfterRuns":     {leave: "memo", plugins: []*plugin.Plugin{fails(), memo}, warned: true},
		"panic at an AfterRun":      {leave: "memo", panics: true, plugins: []*plugin.Plugin{fails(), memo}, warned: true},
		"left, and nothing failed":  {leave: "hi", plugins: []*plugin.Plugin{memo}},
		"told, for it has not left": {plugins: []*plugin.Plugin{fails()}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := stage(t, says("hello"), c.plugins...)
			s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
			run := func() {
				for e := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
					if e == nil || e.Text() != c.leave {
						continue
					}
					if c.panics {
						panic("mine")
					}
					break
				}
			}
			if c.panics {
				require.PanicsWithValue(t, "mine", run)
			} else {
				run()
			}
			if !c.warned {
				require.Empty(t, log.String())
				return
			}
			require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), log.String())
			require.Contains(t, log.String(), "level=WARN")
			require.Contains(t, log.String(), "plugin memo: AfterRun: boom")
			require.NotContains(t, log.String(), "hello")
		})
	}
}

// An agent that ends its goroutine has failed: the caller has not left.
func TestAgentEndsItsGoroutine(t *testing.T) {
	var ends []plugin.End
	s := stage(
		t,
		does(
			func(context.Context, *agent.Host, func(*session.Event, error) bool) { runtime.Goexit() },
		),
		afterRun("after", func(_ context.Context, end plugin.End) (plugin.Outcome, error) {
			ends = append(ends, end)
			return plugin.Outcome{}, nil
		}),
	)
	s.start()
	done := make(chan struct{})
	go func() { defer close(done); _, _ = s.run("hi") }()
	<-done
	require.Len(t, ends, 1)
	require.Equal(t, plugin.EndFailed, ends[0].Kind)
	var failed *runner.AgentError
	require.ErrorAs(t, ends[0].Err, &failed)
	require.ErrorIs(t, ends[0].Err, plugin.ErrPanic)
}

func TestTracePanics(t *testing.T) {
	var log bytes.Buffer
	ended := 0
	s := stage(
		t,
		says("hello"),
		afterRun("after", func(context.Context, plugin.End) (plugin.Outcome, error) {
			ended++
			return plugin.Outcome{}, nil
		}),
	)
	s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.options.Trace = func(runner.HookCall) { panic("trace") }
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Contains(t, log.String(), "Options.Trace panicked")
}

func TestCloseTwice(t *testing.T) {
	closed, hang, closing := 0, make(chan struct{}), make(chan struct{})
	p := spy("p", new([]string))
	p.Close = func(context.Context) error { closed++; close(closing); <-hang; return errBoom }
	s := stage(t, says("hello"), p)
	first := make(chan error)
	s.start()
	go func() { first <- s.close() }()
	<-closing
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.start().Close(short), context.DeadlineExceeded, "it waits for the first")
	close(hang)
	require.ErrorIs(t, <-first, errBoom)
	require.NoError(t, s.close())
	require.Equal(t, 1, closed)
}
