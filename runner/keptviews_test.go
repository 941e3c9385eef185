package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// keeper is a Runner, as one process has it, that notes what BeforeRun is shown.
type keeper struct {
	t        require.TestingT
	sessions session.Service
	runner   *runner.Runner
	log      lines
	shown    *session.Invocation
}

func newKeeper(
	t require.TestingT,
	sessions session.Service,
	keptViews int64,
	a agent.Agent,
) *keeper {
	k := &keeper{t: t, sessions: sessions}
	show := &plugin.Plugin{
		Name: "show",
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			k.shown = inv
			return plugin.Outcome{}, nil
		},
	}
	r, err := runner.New(runner.Options{
		Agent:     a,
		Sessions:  sessions,
		Plugins:   []*plugin.Plugin{show},
		KeptViews: keptViews,
		Log:       slog.New(slog.NewTextHandler(&k.log, nil)),
	})
	require.NoError(t, err)
	k.runner = r
	return k
}

// run runs a text; BeforeRun must be shown what a fresh read shows.
func (k *keeper) run(key session.Key, text string) error {
	k.shown = nil
	var failed error
	for e, err := range k.runner.Run(ctx, key, session.Message(text), session.RunConfig{}) {
		if e != nil && e.Author == session.User {
			continue
		}
		if k.shown != nil && failed == nil && err == nil {
			k.compare(key)
		}
		failed = err
	}
	return failed
}

// compare compares what BeforeRun was shown with the log up to there.
func (k *keeper) compare(key session.Key) {
	fresh := []*session.Event{}
	for e, err := range k.sessions.Read(ctx, key, session.Selection{Live: true}) {
		require.NoError(k.t, err)
		if e.Seq <= k.shown.Position {
			fresh = append(fresh, e)
		}
	}
	require.Equal(k.t, len(fresh), len(k.shown.Live))
	for i, e := range fresh {
		want, err := e.MarshalJSON()
		require.NoError(k.t, err)
		got, err := k.shown.Live[i].MarshalJSON()
		require.NoError(k.t, err)
		require.JSONEq(k.t, string(want), string(got))
		require.Equal(k.t, e.Seq, k.shown.Live[i].Seq)
	}
	s, err := k.sessions.Get(ctx, key)
	require.NoError(k.t, err)
	require.Equal(k.t, s.State, k.shown.State)
	require.Equal(k.t, s.Frontier, k.shown.Frontier)
}

// Whatever happens to a session between two runs, the next run begins with what a fresh read shows:
// runs of this process and of another one, appends, rewinds, compactions, other sessions' shared
// state, events that somebody changed in place, and another session under the same key.
func TestKeptViewsAreWhatAFreshReadShows(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			sessions := openSessions(t, kind)
			number := 0
			rapid.Check(t, func(rt *rapid.T) {
				number++
				key := session.Key{App: "app", User: "ann", ID: fmt.Sprint(number)}
				other := session.Key{App: "app", User: "ann", ID: "other"}
				for _, k := range []session.Key{key, other} {
					_, err := sessions.Create(ctx, k, map[string]any{"mood": "fine"})
					require.True(rt, err == nil || errors.Is(err, session.ErrExists))
				}
				keepers := []*keeper{
					newKeeper(rt, sessions, 0, says("yes")),
					newKeeper(rt, sessions, 20<<10, says("no", "well", "maybe")),
				}
				append := func(key session.Key, events ...*session.Event) {
					s, err := sessions.Get(ctx, key)
					require.NoError(rt, err)
					if _, err := sessions.Append(ctx, session.AppendTarget{Key: key, After: s.Position}, events...); err != nil {
						require.ErrorIs(rt, err, session.ErrInvalid)
					}
				}
				position := func() int {
					s, err := sessions.Get(ctx, key)
					require.NoError(rt, err)
					return int(s.Position)
				}
				rt.Repeat(map[string]func(*rapid.T){
					"run": func(rt *rapid.T) {
						k := keepers[rapid.IntRange(0, 1).Draw(rt, "runner")]
						require.NoError(rt, k.run(key, "hi"))
					},
					"append": func(rt *rapid.T) {
						for range rapid.IntRange(1, 3).Draw(rt, "events") {
							append(key, &session.Event{
								Author:  session.User,
								Content: genai.NewContentFromText("elsewhere", genai.RoleUser),
								Actions: session.Actions{
									StateDelta: map[string]any{"n": float64(position())},
								},
							})
						}
					},
					"shared state": func(rt *rapid.T) {
						append(other, &session.Event{
							Author: session.User,
							Actions: session.Actions{StateDelta: map[string]any{
								"user:n": float64(rapid.IntRange(0, 9).Draw(rt, "n")),
							}},
						})
					},
					"rewind": func(rt *rapid.T) {
						to := int64(rapid.IntRange(0, max(0, position()-1)).Draw(rt, "to"))
						append(key, &session.Event{
							Author:  "plugin/r",
							Actions: session.Actions{Rewind: &session.Rewind{To: to}},
						})
					},
					"compact": func(rt *rapid.T) {
						s, err := sessions.Get(ctx, key)
						require.NoError(rt, err)
						c := &session.Compaction{
							Through: int64(
								rapid.IntRange(1, max(1, position())).Draw(rt, "through")),
							Frontier: s.Frontier,
							Content:  genai.NewContentFromText("summary", genai.RoleUser),
						}
						append(key, &session.Event{
							Author:  "plugin/c",
							Actions: session.Actions{Compaction: c},
						})
					},
					"change in place": func(rt *rapid.T) {
						k := keepers[rapid.IntRange(0, 1).Draw(rt, "runner")]
						if k.shown == nil || len(k.shown.Live) == 0 {
							return
						}
						e := k.shown.Live[rapid.IntRange(0, len(k.shown.Live)-1).Draw(rt, "event")]
						e.Author = "forged"
						k.shown.Live[0] = session.Message("forged")
					},
					"delete and make again": func(rt *rapid.T) {
						require.NoError(rt, sessions.Delete(ctx, key))
						if rapid.Bool().Draw(rt, "run in between") {
							require.ErrorIs(rt, keepers[0].run(key, "hi"), session.ErrNotFound)
						}
						_, err := sessions.Create(ctx, key, map[string]any{"mood": "new"})
						require.NoError(rt, err)
						if rapid.Bool().Draw(rt, "with events") {
							for range rapid.IntRange(1, 8).Draw(rt, "events") {
								append(key, session.Message("of another session"))
							}
						}
					},
				})
				for _, k := range keepers {
					require.NoError(rt, k.runner.Close(ctx))
				}
			})
		})
	}
}

// counting counts the events that are read from it.
type counting struct {
	session.Service
	read *int
}

func (c counting) Read(
	ctx context.Context,
	key session.Key,
	sel session.Selection,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for e, err := range c.Service.Read(ctx, key, sel) {
			*c.read++
			if !yield(e, err) {
				return
			}
		}
	}
}

// The next run reads what was appended since the last one began, and one event more to see that the
// log is the same.
func TestTheNextRunReadsOnlyWhatIsNew(t *testing.T) {
	read := 0
	sessions := counting{openSessions(t, "memory"), &read}
	fillSession(t, sessions, key, 500)
	k := newKeeper(t, sessions, 0, says("yes"))
	run := func() int {
		read = 0
		for _, err := range k.runner.Run(ctx, key, session.Message("hi"), session.RunConfig{}) {
			require.NoError(t, err)
		}
		return read
	}
	require.Equal(t, 500, run())
	require.Equal(t, 3, run(),
		"the input and the answer of the run before, and the event before them")
	require.Equal(t, 3, run())
	require.NoError(t, k.runner.Close(ctx))

	none := newKeeper(t, sessions, -1, says("yes"))
	k = none
	require.Equal(t, 506, run())
	require.Equal(t, 508, run(), "nothing is kept where nothing may be")
	require.NoError(t, none.runner.Close(ctx))
}

// An event of a small view that is changed at any time between two runs is not served.
func TestKeptEventThatWasChangedBetweenRuns(t *testing.T) {
	sessions := openSessions(t, "memory")
	fillSession(t, sessions, key, 900)
	k := newKeeper(t, sessions, 0, says("yes"))
	require.NoError(t, k.run(key, "hi"))
	for i := range 20 {
		k.shown.Live[i*40].Content.Parts[0].Text = "forged"
		require.NoError(t, k.run(key, "hi"))
		for _, e := range k.shown.Live {
			require.NotEqual(t, "forged", e.Text())
		}
	}
	require.Contains(t, k.log.String(), "an event was changed in place after an earlier run")
	require.NotContains(t, k.log.String(), "forged")
	require.NoError(t, k.runner.Close(ctx))
}

// An event of a large view that is changed during a run gets to no model in the next one: that run
// fails if it begins at once, and reads the log if it begins later.
func TestKeptEventOfALargeViewThatWasChanged(t *testing.T) {
	const events = 20_000
	// changed reports whether the run that begins after a pause fails.
	changed := func(t *testing.T, pause time.Duration) bool {
		sessions := openSessions(t, "memory")
		fillSession(t, sessions, key, events)
		var made []string
		change := true
		k := newKeeper(
			t,
			sessions,
			0,
			does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
				if change {
					h.Now().Live[events/2].Content.Parts[0].Text = "forged"
					change = false
					yield(session.Reply("done"), nil)
					return
				}
				asks(1, &made).Run(ctx, h)(yield)
			}),
		)
		run := func() (failed error) {
			for _, err := range k.runner.Run(ctx, key, session.Message("hi"), session.RunConfig{}) {
				failed = err
			}
			return failed
		}
		require.NoError(t, run())
		time.Sleep(pause)
		failed := run()
		if failed != nil {
			require.ErrorIs(t, failed, plugin.ErrInPlace)
			require.Empty(t, made)
			require.NoError(t, run())
		}
		require.NotEmpty(t, made)
		require.NotContains(t, made, "user: forged")
		require.NoError(t, k.runner.Close(ctx))
		return failed != nil
	}
	t.Run("at once", func(t *testing.T) { changed(t, 0) })
	t.Run("later", func(t *testing.T) {
		for pause := time.Second; changed(t, pause); pause *= 4 { // a slow machine takes longer to find it
			require.Less(t, pause, 10*time.Second)
		}
	})
}

// Kept views hold as many bytes as is allowed, and about as many as they are said to hold.
func TestKeptViewsAreBounded(t *testing.T) {
	const limit = 8 << 20
	sessions := openSessions(t, "sqlite")
	args := map[string]any{
		"city": "Paris",
		"days": []any{1.0, 2.0, "three"},
		"more": map[string]any{"a": "b"},
	}
	keys := make([]session.Key, 30)
	for i := range keys {
		keys[i] = session.Key{App: "app", User: "ann", ID: fmt.Sprint(i)}
		fillSession(t, sessions, keys[i], 150)
		var log []*session.Event
		for n := range 150 {
			call := &genai.FunctionCall{ID: fmt.Sprint(n), Name: "f", Args: args}
			answer := session.Respond(call, args)
			answer.Author = "bot"
			answer.Actions.StateDelta = map[string]any{"k": strings.Repeat("v", n)}
			asks := &session.Event{
				Author: "bot",
				Content: &genai.Content{
					Role:  genai.RoleModel,
					Parts: []*genai.Part{{FunctionCall: call}},
				},
			}
			log = append(log, asks, answer)
		}
		_, err := sessions.Append(ctx, session.AppendTarget{Key: keys[i], After: 150}, log...)
		require.NoError(t, err)
	}
	held := func(keptViews int64) int64 {
		k := newKeeper(t, sessions, keptViews, says("yes"))
		for _, key := range keys {
			for _, err := range k.runner.Run(ctx, key, session.Message("hi"), session.RunConfig{}) {
				require.NoError(t, err)
			}
		}
		k.shown = nil
		// What a pool keeps, or a finalizer frees, is gone after two collections.
		heap := func() int64 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&stats)
			return int64(stats.HeapAlloc)
		}
		with := heap()
		require.NoError(t, k.runner.Close(ctx))
		return with - heap()
	}
	require.Less(t, held(-1), int64(1<<20))
	bytes := held(limit)
	t.Logf("%d bytes are held where %d are allowed", bytes, limit)
	require.Less(t, bytes, int64(limit*11/10))
	require.Greater(t, bytes, int64(limit*7/10))
}

// RunWithFinal tells the session as the run leaves it, AfterRun's emissions included, and nothing
// of a session that it could not read.
func TestRunThenTellsWhatTheRunLeaves(t *testing.T) {
	counts := &plugin.Plugin{
		Name: "counts",
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			return plugin.Outcome{
				Emit: []*session.Event{
					{Actions: session.Actions{StateDelta: map[string]any{"counted": 1.0}}},
				},
			}, nil
		},
	}
	s := stage(t, says("hello"), counts)
	for range 2 {
		var left *session.Invocation
		for _, err := range s.start().RunWithFinal(ctx, key, session.Message("hi"), s.cfg, func(inv *session.Invocation, err error) {
			require.NoError(t, err)
			left = inv
		}) {
			require.NoError(t, err)
			require.Nil(t, left, "it is told at the end")
		}
		fresh, err := session.Snapshot(ctx, s.sessions, key)
		require.NoError(t, err)
		require.Len(t, left.Live, len(fresh.Live))
		require.Equal(t, fresh.State, left.State)
		require.Equal(t, fresh.Position, left.Position)
	}
	nobody := session.Key{App: "app", User: "ann", ID: "nobody"}
	for _, err := range s.start().RunWithFinal(ctx, nobody, nil, s.cfg, func(*session.Invocation, error) { t.Error("told of a session that is not there") }) {
		require.ErrorIs(t, err, session.ErrNotFound)
	}
}

// A session that is imported once more, from an export that somebody has edited, has the times and
// the event IDs of the one that was deleted. The next run is shown what was edited.
func TestKeptViewOfASessionThatWasImportedAgain(t *testing.T) {
	sessions := openSessions(t, "memory")
	k := newKeeper(t, sessions, 0, says("yes"))
	key := session.Key{App: "app", User: "ann", ID: "s"}
	imported := func(text string) {
		one := session.Message(text)
		one.ID = "1"
		one.Timestamp = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		two := session.Message("the last one")
		two.ID = "2"
		two.Timestamp = one.Timestamp
		require.NoError(t, session.Import(ctx, sessions,
			&session.Recording{Key: key, Events: []*session.Event{one, two}}))
	}
	imported("a secret")
	require.NoError(t, k.run(key, "go on"))
	require.Equal(t, "a secret", k.shown.Live[0].Text())
	require.NoError(t, sessions.Delete(ctx, key))
	imported("[taken out]")
	require.NoError(t, k.run(key, "go on"))
	require.Equal(t, "[taken out]", k.shown.Live[0].Text())
}
