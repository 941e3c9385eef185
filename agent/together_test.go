package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type yields = func(*session.Event, error) bool

// log is a host and a yield that belong to one goroutine: the race detector tells if another one
// uses them, or two at once.
type log struct {
	texts []string
	asked int
}

func (l *log) host() *agent.Host {
	return &agent.Host{Branch: "top",
		Now: func() *session.Invocation { return &session.Invocation{Position: int64(len(l.texts))} },
		BeforeModel: func(context.Context, func(*session.Invocation) (*model.Request, error)) (*model.Request, error) {
			l.asked++
			return &model.Request{}, nil
		}}
}

func (l *log) yield(e *session.Event, err error) bool {
	if err != nil {
		l.texts = append(l.texts, err.Error())
		return true // the error ends it all the same
	}
	l.texts = append(l.texts, e.Text())
	return true
}

func build(*session.Invocation) (*model.Request, error) { return &model.Request{}, nil }

// untilCancelled is a part that goes on until its context is done.
func untilCancelled(ctx context.Context, _ *agent.Host, _ yields) { <-ctx.Done() }

func TestPartsRunAtOnceOnTheCallersGoroutine(t *testing.T) {
	var l log
	var all sync.WaitGroup
	all.Add(4)
	parts := make([]agent.Part, 4)
	for i := range parts {
		parts[i] = func(ctx context.Context, host *agent.Host, yield yields) {
			all.Done()
			all.Wait() // each waits for all the others
			require.Equal(t, "top", host.Branch)
			before := host.Now().Position
			for range 20 {
				_, err := host.At(fmt.Sprint(i)).BeforeModel(ctx, build)
				require.NoError(t, err)
				require.True(t, yield(session.Reply(fmt.Sprint(i)), nil))
				before++
				require.GreaterOrEqual(t, host.Now().Position, before)
			}
		}
	}
	require.True(t, agent.Together(t.Context(), l.host(), l.yield, parts...))
	require.Len(t, l.texts, 80)
	require.Equal(t, 80, l.asked)
}

func TestNothingTogether(t *testing.T) {
	var l log
	require.True(t, agent.Together(t.Context(), l.host(), l.yield))
	require.True(t, agent.Together(t.Context(), l.host(), l.yield,
		func(context.Context, *agent.Host, yields) {}))
	require.Empty(t, l.texts)
}

// What ends one part ends all: the others' contexts are done, and they can neither yield nor ask.
func TestOneEndsAll(t *testing.T) {
	for name, c := range map[string]struct {
		ends  agent.Part
		yield bool // what the caller's yield answers
		texts []string
	}{
		"the caller leaves": {func(_ context.Context, _ *agent.Host, yield yields) {
			require.False(t, yield(session.Reply("last"), nil))
			require.False(t, yield(session.Reply("unheard"), nil))
		}, false, []string{"last"}},
		"a part fails": {func(_ context.Context, _ *agent.Host, yield yields) {
			require.False(t, yield(nil, errors.New("broken")))
			require.False(t, yield(session.Reply("unheard"), nil))
		}, true, []string{"broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			other := func(ctx context.Context, host *agent.Host, yield yields) {
				<-ctx.Done()
				require.False(t, yield(session.Reply("unheard"), nil))
				_, err := host.BeforeModel(ctx, build)
				require.ErrorIs(t, err, agent.ErrEnded)
				require.EqualValues(t, 1, host.Now().Position, "it may look still")
			}
			require.False(
				t,
				agent.Together(t.Context(), l.host(), func(e *session.Event, err error) bool {
					return l.yield(e, err) && c.yield
				}, other, c.ends, untilCancelled),
			)
			require.Equal(t, c.texts, l.texts)
			require.Zero(t, l.asked)
		})
	}
}

func TestTheContextOfPartsIsTheCallers(t *testing.T) {
	var l log
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), &l, "mine"))
	require.True(t, agent.Together(
		ctx,
		l.host(),
		l.yield,
		untilCancelled,
		func(ctx context.Context, _ *agent.Host, yield yields) {
			require.Equal(t, "mine", ctx.Value(&l))
			cancel()
			<-ctx.Done()
			require.True(t, yield(session.Reply("to say how it ended"), nil))
		},
	))
	require.Equal(t, []string{"to say how it ended"}, l.texts)
}

func TestTheContextOfPartsEndsWithThem(t *testing.T) {
	var l log
	var kept context.Context
	require.True(t, agent.Together(t.Context(), l.host(), l.yield,
		func(ctx context.Context, _ *agent.Host, _ yields) { kept = ctx }))
	require.Error(t, kept.Err())
}

// A panic on whichever goroutine is the caller's, once all parts have ended (goleak tells).
func TestPanics(t *testing.T) {
	yields1 := func(_ context.Context, _ *agent.Host, yield yields) { yield(session.Reply("x"), nil) }
	for name, c := range map[string]struct {
		part  agent.Part
		yield func(*session.Event, error) bool
		host  agent.Host
		want  any
	}{
		"in a part":       {part: func(context.Context, *agent.Host, yields) { panic("part") }, want: "part"},
		"of nil":          {part: func(context.Context, *agent.Host, yields) { panic(nil) }, want: &runtime.PanicNilError{}},
		"Goexit":          {part: func(context.Context, *agent.Host, yields) { runtime.Goexit() }, want: "agent: a part of Together ended its goroutine"},
		"in yield":        {part: yields1, yield: func(*session.Event, error) bool { panic("yield") }, want: "yield"},
		"in Now":          {part: func(_ context.Context, h *agent.Host, _ yields) { h.Now() }, host: agent.Host{Now: func() *session.Invocation { panic("now") }}, want: "now"},
		"after an error":  {part: func(_ context.Context, _ *agent.Host, yield yields) { yield(nil, errors.New("e")); panic("late") }, want: "late"},
		"after the end":   {part: func(ctx context.Context, _ *agent.Host, _ yields) { <-ctx.Done(); panic("late") }, yield: func(*session.Event, error) bool { return false }, want: "late"},
		"yield, then one": {part: func(ctx context.Context, _ *agent.Host, yield yields) { yield(session.Reply("x"), nil); panic("part") }, yield: func(*session.Event, error) bool { panic("yield") }, want: "yield"},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			yield := c.yield
			if yield == nil {
				yield = l.yield
			}
			parts := []agent.Part{untilCancelled, c.part}
			if name == "after the end" {
				parts[0] = yields1
			}
			got := func() (p any) {
				defer func() { p = recover() }()
				agent.Together(t.Context(), &c.host, yield, parts...)
				return nil
			}()
			if err, ok := c.want.(error); ok {
				require.IsType(t, err, got)
				return
			}
			require.Equal(t, c.want, got)
		})
	}
}

// A test's FailNow in the loop body, for one, ends the caller's goroutine: no part is left behind.
func TestGoexitInYield(t *testing.T) {
	var all sync.WaitGroup
	yielded := 0
	var ended atomic.Int64 // counted by the parts' goroutines
	all.Go(func() {
		var l log
		part := func(_ context.Context, _ *agent.Host, yield yields) {
			defer ended.Add(1)
			yield(session.Reply("x"), nil)
		}
		agent.Together(
			t.Context(),
			l.host(),
			func(*session.Event, error) bool { yielded++; runtime.Goexit(); return true },
			untilCancelled,
			part,
			func(ctx context.Context, host *agent.Host, yield yields) { <-ctx.Done(); part(ctx, host, yield) },
		)
	})
	all.Wait()
	require.Equal(t, 1, yielded)
	require.EqualValues(t, 2, ended.Load())
}

func TestTogetherInTogether(t *testing.T) {
	var l log
	both := func(ctx context.Context, host *agent.Host, yield yields) {
		require.True(t, agent.Together(ctx, host, yield, yieldTimes(3, "x"), yieldTimes(3, "x")))
	}
	require.True(t, agent.Together(t.Context(), l.host(), l.yield, both, both))
	require.Len(t, l.texts, 12)

	fails := func(ctx context.Context, host *agent.Host, yield yields) {
		require.False(t, agent.Together(ctx, host, yield, untilCancelled,
			func(context.Context, *agent.Host, yields) { panic("deep") }))
	}
	require.PanicsWithValue(t, "deep",
		func() { agent.Together(t.Context(), l.host(), l.yield, untilCancelled, fails) })
}

func yieldTimes(n int, text string) agent.Part {
	return func(_ context.Context, _ *agent.Host, yield yields) {
		for range n {
			if !yield(session.Reply(text), nil) {
				return
			}
		}
	}
}

// Each part's events come in its order and none is lost, up to where the caller leaves.
func TestTogetherProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 6).Draw(t, "counts")
		leaves := rapid.IntRange(1, 20).Draw(t, "leaves")
		total := 0
		var parts []agent.Part
		for i, n := range counts {
			total += n
			parts = append(parts, func(_ context.Context, _ *agent.Host, yield yields) {
				for j := range n {
					e := session.Reply("")
					e.Author, e.Seq = fmt.Sprint(i), int64(j)
					if !yield(e, nil) {
						return
					}
				}
			})
		}
		next, got := map[string]int64{}, 0
		more := agent.Together(
			context.Background(),
			(&log{}).host(),
			func(e *session.Event, _ error) bool {
				require.Equal(t, next[e.Author], e.Seq)
				next[e.Author]++
				got++
				return got < leaves
			},
			parts...)
		require.Equal(t, min(total, leaves), got)
		require.Equal(t, total < leaves, more)
	})
}

func TestRunNamesEvents(t *testing.T) {
	own := &session.Event{Author: "other", Branch: "elsewhere"}
	nameless := &session.Event{}
	a := agent.New("bot", "", func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			_ = yield(nameless, nil) && yield(own, nil) && yield(nil, errors.New("broken")) &&
				yield(own, nil)
		}
	})
	var got []string
	more := agent.Run(
		t.Context(),
		a,
		(&log{}).host().At("x"),
		func(e *session.Event, err error) bool {
			if err != nil {
				got = append(got, err.Error())
				return true
			}
			got = append(got, e.Author+" "+e.Branch)
			return true
		},
	)
	require.False(t, more, "not after an error")
	require.Equal(t, []string{"bot top.x", "other elsewhere", "agent bot: broken"}, got)
	require.Equal(t, &session.Event{}, nameless, "the agent's event is its own")

	ctx, cancel := context.WithCancel(t.Context())
	require.True(t, agent.Run(ctx, tree("quiet"), &agent.Host{}, (&log{}).yield))
	cancel()
	require.False(t, agent.Run(ctx, tree("quiet"), &agent.Host{}, (&log{}).yield),
		"not once the context is done")
}

// Schedule starts what its caller finds out about as parts end.
func TestSchedule(t *testing.T) {
	host := &agent.Host{Now: func() *session.Invocation { return &session.Invocation{} }}
	var texts []string
	yield := func(e *session.Event, _ error) bool {
		texts = append(texts, e.Text())
		return true
	}
	say := func(text string) agent.Part {
		return func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			h.Now()
			yield(session.Reply(text), nil)
		}
	}
	waves := [][]agent.Part{{say("a")}, {say("b"), say("c")}, nil, {say("d")}}
	require.True(t, agent.Schedule(t.Context(), host, yield, func() []agent.Part {
		if len(waves) == 0 {
			return nil
		}
		next := waves[0]
		waves = waves[1:]
		return next
	}))
	require.Len(t, texts, 4)
	require.Equal(t, "a", texts[0])
	require.ElementsMatch(t, []string{"b", "c"}, texts[1:3])
	require.Equal(t, "d", texts[3])

	// It starts nothing after the invocation has ended, and cancels what runs.
	calls := 0
	stop := func(*session.Event, error) bool { return false }
	var cancelled error
	require.False(t, agent.Schedule(t.Context(), host, stop, func() []agent.Part {
		if calls++; calls > 1 {
			return []agent.Part{say("never")}
		}
		return []agent.Part{
			say("x"),
			func(ctx context.Context, _ *agent.Host, _ func(*session.Event, error) bool) {
				<-ctx.Done()
				cancelled = ctx.Err()
			},
		}
	}))
	require.Equal(t, 1, calls)
	require.Error(t, cancelled)
}
