package runner_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// spender returns the plugin "spender": it lets a user put in so many messages, over all sessions.
func spender(limit float64) *plugin.Plugin {
	const key = "user:spender:runs"
	return &plugin.Plugin{
		Name:        "spender",
		SharedState: true,
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User {
				return plugin.Outcome{}, nil
			}
			if used, _ := inv.State[key].(float64); used >= limit {
				return plugin.Deny("That was all.", "used up"), nil
			}
			counted := e.Clone()
			counted.Actions.StateIncrement = map[string]float64{key: 1}
			counted.Actions.StateBound = map[string]float64{key: limit}
			return plugin.Outcome{Replace: counted}, nil
		},
	}
}

// What a hook sees of shared state is what other sessions have made of it meanwhile.
func TestSharedStateIsFresh(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		t.Run(fmt.Sprint("reads shared state: ", fresh), func(t *testing.T) {
			var seen []any
			looker := &plugin.Plugin{
				Name:        "looker",
				SharedState: fresh,
				OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					seen = append(seen, inv.State["app:n"])
					return plugin.Outcome{}, nil
				},
			}
			var s *scene
			bot := does(
				func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					for range 2 {
						other := session.Key{App: key.App, User: "bob"}
						_, err := s.sessions.Create(ctx, other,
							map[string]any{"app:n": float64(len(seen))})
						require.NoError(t, err)
						yield(session.Reply("hello"), nil)
					}
				},
			)
			s = stage(t, bot, looker)
			_, err := s.run("hi")
			require.NoError(t, err)
			if fresh {
				require.Equal(t, []any{nil, 1.0, 2.0}, seen)
			} else {
				require.Equal(t, []any{nil, nil, nil}, seen)
			}
		})
	}
}

// The other three hooks see it, too, and so does work in the background.
func TestSharedStateIsFreshInEachHook(t *testing.T) {
	store := memory.New()
	n := 0
	set := func() {
		n++
		_, err := store.Create(ctx, session.Key{App: key.App, User: "bob"},
			map[string]any{"app:n": float64(n)})
		require.NoError(t, err)
	}
	var seen []any
	look := func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
		seen = append(seen, inv.State["app:n"])
		set()
		return plugin.Outcome{}, nil
	}
	after := func(ctx context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
		return look(ctx, inv)
	}
	s := stage(t, says(),
		&plugin.Plugin{Name: "a", SharedState: true, BeforeRun: look, AfterRun: after},
		&plugin.Plugin{Name: "b", SharedState: true, AfterRun: after, Background: true})
	s.sessions = store
	_, err := store.Create(ctx, key, nil)
	require.NoError(t, err)
	set()
	_, err = s.run("hi")
	require.NoError(t, err)
	require.NoError(t, s.close())
	require.Equal(t, []any{1.0, 2.0, 3.0}, seen)
}

// Two runs at once that both see one message left do not both get it: the append of the second is
// refused, its event is offered again, and then the plugin denies it.
func TestBoundRefusedIsOfferedAgain(t *testing.T) {
	var offers atomic.Int32
	both := make(chan struct{})
	slow := spender(1)
	decide := slow.OnEvent
	slow.OnEvent = func(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		out, err := decide(ctx, inv, e)
		switch offers.Add(1) {
		case 1:
			<-both
		case 2:
			close(both)
		}
		return out, err
	}
	s := stage(t, says("hello"), slow)
	var wg sync.WaitGroup
	s.start()
	denied := make([]bool, 2)
	for i := range 2 {
		wg.Go(func() {
			k := session.Key{App: key.App, User: key.User, ID: fmt.Sprint("s", i)}
			for e, err := range s.start().Run(ctx, k, session.Message("hi"), session.RunConfig{Create: true}) {
				require.NoError(t, err)
				denied[i] = denied[i] || e.ErrorCode == session.Denied
			}
		})
	}
	wg.Wait()
	require.ElementsMatch(t, []bool{true, false}, denied)
	got, err := s.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, 1.0, got.State["user:spender:runs"])
}

// Many sessions in two runners on one store never spend more than the limit, and never less.
func TestBoundHoldsOverRunners(t *testing.T) {
	const limit, runs = 20, 60
	store := memory.New()
	var answered atomic.Int32
	var wg sync.WaitGroup
	for i := range 2 {
		r, err := runner.New(runner.Options{
			Agent:    says("hello"),
			Sessions: store,
			Plugins:  []*plugin.Plugin{spender(limit)},
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close(ctx)) }()
		for j := range runs / 2 {
			wg.Go(func() {
				k := session.Key{App: "app", User: "ann", ID: fmt.Sprint(i, "-", j)}
				for e, err := range r.Run(ctx, k, session.Message("hi"), session.RunConfig{Create: true}) {
					require.NoError(t, err)
					if e.Text() == "hello" {
						answered.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	require.EqualValues(t, limit, answered.Load())
}

// A bound that nobody who reads shared state answers for ends the run with the error.
func TestBoundRefused(t *testing.T) {
	bounded := func() *session.Event {
		return &session.Event{Author: session.User, Actions: session.Actions{
			StateIncrement: map[string]float64{
				"app:n": 2,
			}, StateBound: map[string]float64{"app:n": 1}}}
	}
	s := stage(t, says("hello"))
	_, err := s.give(ctx, bounded())
	require.ErrorIs(t, err, session.ErrBound)
	require.Empty(t, s.log())

	// The plugin emits the same again each time it is asked: after some tries it has failed.
	asked := 0
	stubborn := &plugin.Plugin{
		Name:        "stubborn",
		SharedState: true,
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			asked++
			return plugin.Outcome{Emit: []*session.Event{bounded()}}, nil
		},
	}
	s = stage(t, says("hello"), stubborn)
	_, err = s.run("hi")
	require.ErrorIs(t, err, session.ErrBound)
	var p *plugin.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, "stubborn", p.Plugin)
	require.Equal(t, 8, asked)
	require.Equal(t, []string{"user: hi"}, s.log())
}

// An observer hears once of an event that was offered twice.
func TestObserverHearsOnceOfABoundedEvent(t *testing.T) {
	first := true
	hasty := &plugin.Plugin{
		Name:        "hasty",
		SharedState: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || !first {
				return plugin.Outcome{}, nil
			}
			first = false
			c := e.Clone()
			c.Actions.StateIncrement = map[string]float64{"app:n": 2}
			c.Actions.StateBound = map[string]float64{"app:n": 1}
			return plugin.Outcome{Replace: c}, nil
		},
	}
	var seen []string
	watcher := spy("watcher", &seen)
	watcher.Observer = true
	s := stage(t, says("hello"), hasty, watcher)
	_, err := s.run("hi")
	require.NoError(t, err)
	require.NoError(t, s.close())
	require.Equal(t, []string{"user: hi", "bot: hello"}, seen)
}

// State keys with a plugin's name are written by that plugin alone.
func TestStateKeysHaveOwners(t *testing.T) {
	keys := []string{"policy:taint", "user:policy:count", "app:policy:count", "temp:policy:seen"}
	policy := func() *plugin.Plugin {
		return &plugin.Plugin{
			Name: "policy",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Author != session.User {
					return plugin.Outcome{}, nil
				}
				c := e.Clone()
				c.Actions.StateDelta = map[string]any{}
				for _, k := range keys {
					c.Actions.StateDelta[k] = true
				}
				c.Actions.StateIncrement = map[string]float64{"user:policy:n": 1}
				return plugin.Outcome{Replace: c}, nil
			},
		}
	}
	for _, k := range keys {
		erase := session.Actions{StateDelta: map[string]any{k: nil}}
		t.Run("input "+k, func(t *testing.T) {
			s := stage(t, says("hello"), policy())
			_, err := s.give(ctx, &session.Event{Author: session.User, Actions: erase})
			require.ErrorIs(t, err, session.ErrInvalid)
			require.ErrorContains(t, err, "belongs to plugin policy")
			require.Empty(t, s.log())
		})
		t.Run("agent "+k, func(t *testing.T) {
			s := stage(
				t,
				does(
					func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
						yield(&session.Event{Actions: erase}, nil)
					},
				),
				policy(),
			)
			_, err := s.run("hi")
			var a *runner.AgentError
			require.ErrorAs(t, err, &a)
			require.ErrorContains(t, err, "belongs to plugin policy")
			require.Equal(t, []string{"user: hi"}, s.log())
		})
		t.Run("another plugin's event "+k, func(t *testing.T) {
			s := stage(
				t,
				says("hello"),
				policy(),
				on("thief", "hello", func(*session.Event) plugin.Outcome {
					return plugin.Outcome{Emit: []*session.Event{{Actions: erase}}}
				}),
			)
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrOutcome)
			require.ErrorContains(t, err, "belongs to plugin policy")
		})
		t.Run("another plugin's replacement "+k, func(t *testing.T) {
			for _, value := range []any{nil, false} {
				s := stage(
					t,
					says("hello"),
					policy(),
					on("thief", "hi", func(e *session.Event) plugin.Outcome {
						c := e.Clone()
						c.Actions.StateDelta[k] = value
						return plugin.Outcome{Replace: c}
					}),
				)
				_, err := s.run("hi")
				require.ErrorIs(t, err, plugin.ErrOutcome)
				require.ErrorContains(t, err, "belongs to plugin policy")
				require.Empty(t, s.log())
			}
		})
	}

	// A replacement that leaves the keys out does not take them away.
	s := stage(t, says("hello"), policy(), on("editor", "hi", func(*session.Event) plugin.Outcome {
		return plugin.Outcome{Replace: session.Message("edited")}
	}))
	_, err := s.run("hi")
	require.NoError(t, err)
	got, err := s.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(
		t,
		map[string]any{
			"mood":              "fine",
			"policy:taint":      true,
			"user:policy:count": true,
			"app:policy:count":  true,
			"user:policy:n":     1.0,
		},
		got.State,
	)

	// A plugin that is not configured owns nothing.
	s = stage(t, says("hello"))
	_, err = s.give(ctx, &session.Event{
		Author:  session.User,
		Actions: session.Actions{StateDelta: map[string]any{"policy:taint": true}},
	})
	require.NoError(t, err)
}

// A session that was created with a plugin's state does not run under that plugin.
func TestStateKeysHaveOwnersFromTheStart(t *testing.T) {
	s := stage(t, says("hello"),
		on("policy", "", func(*session.Event) plugin.Outcome { return plugin.Outcome{} }))
	s.sessions = memory.New()
	_, err := s.sessions.Create(ctx, key, map[string]any{"user:policy:count": -100})
	require.NoError(t, err)
	_, err = s.run("hi")
	require.ErrorIs(t, err, session.ErrInvalid)
	require.ErrorContains(t, err, "belongs to plugin policy")
	require.Empty(t, s.log())
}

// What a recording says that plugin P wrote into its keys is kept.
func TestStateKeysOfARecording(t *testing.T) {
	written := &session.Event{
		Author:  session.PluginPrefix + "policy",
		Actions: session.Actions{StateDelta: map[string]any{"policy:taint": true}},
	}
	forged := &session.Event{
		Author:  "bot",
		Actions: session.Actions{StateDelta: map[string]any{"policy:taint": nil}},
	}
	for _, c := range []struct {
		event   *session.Event
		refused bool
	}{{event: written}, {event: forged, refused: true}} {
		bot := does(
			func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) { yield(c.event, nil) },
		)
		s := stage(t, bot,
			on("policy", "", func(*session.Event) plugin.Outcome { return plugin.Outcome{} }))
		s.options.Restore = true
		_, err := s.run("hi")
		if c.refused {
			require.ErrorContains(t, err, "belongs to plugin policy")
		} else {
			require.NoError(t, err)
		}
	}
}

// A plugin that reads shared state hears the end of a run whose session could not be read, too.
func TestSharedStateOfASessionThatIsNotRead(t *testing.T) {
	ended := 0
	s := stage(t, says("hello"), &plugin.Plugin{
		Name:        "policy",
		SharedState: true,
		AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			ended++
			require.Equal(t, 7.0, inv.State["app:n"])
			return plugin.Outcome{}, nil
		},
	})
	s.sessions = memory.New()
	_, err := s.sessions.Create(ctx, key, map[string]any{"policy:count": 1, "app:n": 7})
	require.NoError(t, err)
	_, err = s.run("hi")
	require.ErrorContains(t, err, "belongs to plugin policy")
	require.Equal(t, 1, ended)
}

// AfterRun is called once, also if a bound refuses what it emits.
func TestAfterRunIsNotAskedAgain(t *testing.T) {
	ended := 0
	s := stage(t, says("hello"), &plugin.Plugin{
		Name:        "late",
		SharedState: true,
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			ended++
			return plugin.Outcome{Emit: []*session.Event{{Actions: session.Actions{
				StateIncrement: map[string]float64{
					"app:n": 2,
				}, StateBound: map[string]float64{"app:n": 1}}}}}, nil
		},
	})
	_, err := s.run("hi")
	require.ErrorIs(t, err, session.ErrBound)
	require.Equal(t, 1, ended)
}

// A program that is configured under another name keeps the state keys that it was made with.
func TestStateKeysOfARenamedPlugin(t *testing.T) {
	named := func(name string) *plugin.Plugin {
		p := on(name, "hi", func(e *session.Event) plugin.Outcome {
			c := e.Clone()
			c.Actions.Increment("user:policy:n", 1, 10)
			return plugin.Outcome{Replace: c}
		})
		p.StateName = "policy"
		return p
	}
	s := stage(t, says("hello"), named("one"), named("two"))
	_, err := s.run("hi")
	require.NoError(t, err)
	for _, k := range []string{"user:policy:n", "user:one:n"} {
		_, err = s.give(ctx, &session.Event{
			Author:  session.User,
			Actions: session.Actions{StateDelta: map[string]any{k: -100}},
		})
		require.ErrorContains(t, err, "belongs to plugin one")
	}
}

// bounded returns an outcome that is refused until so many tries were made.
func bounded(tries *int, until int) plugin.Outcome {
	*tries++
	limit := 1.0
	if *tries >= until {
		limit = 10
	}
	e := &session.Event{}
	e.Actions.Increment("app:n", 2, limit)
	return plugin.Outcome{Emit: []*session.Event{e}}
}

// If a bound refuses what BeforeModel emits, the request is built anew: what the hook has changed
// in it at the first try is gone.
func TestBoundRefusedBeforeTheModel(t *testing.T) {
	tries := 0
	var sent *model.Request
	bot := does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		var err error
		sent, err = h.BeforeModel(ctx,
			func(*session.Invocation) (*model.Request, error) { return &model.Request{}, nil })
		require.NoError(t, err)
		yield(session.Reply("hello"), nil)
	})
	s := stage(t, bot, &plugin.Plugin{
		Name:        "adds",
		SharedState: true,
		BeforeModel: func(_ context.Context, _ *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			req.Contents = append(req.Contents, session.Message("note").Content)
			if tries >= 2 {
				return plugin.Outcome{}, nil
			}
			return bounded(&tries, 2), nil
		},
	})
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	require.Len(t, sent.Contents, 1)
}

// A hook's own error is its failure, also if it comes from a store that it asked for itself.
func TestHookErrorThatWrapsErrBound(t *testing.T) {
	calls := 0
	s := stage(t, says("hello"), &plugin.Plugin{
		Name:        "bad",
		SharedState: true,
		OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
			calls++
			return plugin.Outcome{}, fmt.Errorf("mine: %w", session.ErrBound)
		},
	})
	_, err := s.run("hi")
	var p *plugin.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, 1, calls)
}

// What was offered at the first try is not changed before the second.
func TestChangedBetweenTwoTries(t *testing.T) {
	var held *session.Event
	tries := 0
	holds := &plugin.Plugin{
		Name: "holds",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User {
				return plugin.Outcome{}, nil
			}
			if held != nil {
				held.Content.Parts[0].Text = "forged"
			}
			held = e
			return plugin.Outcome{Replace: e.Clone()}, nil
		},
	}
	counts := &plugin.Plugin{
		Name:        "counts",
		SharedState: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User {
				return plugin.Outcome{}, nil
			}
			return bounded(&tries, 2), nil
		},
	}
	s := stage(t, says("hello"), holds, counts)
	_, err := s.run("hi")
	require.ErrorIs(t, err, plugin.ErrInPlace)
	require.Empty(t, s.log())
}

// A plugin cannot be named like a scope: its keys could not be told from those of the scope.
func TestNamesOfScopes(t *testing.T) {
	for _, name := range []string{"app", "user", "temp"} {
		require.ErrorContains(t, plugin.Validate(on(name, "", nil)), "begin")
	}
}
