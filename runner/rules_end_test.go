package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

var errBoom = errors.New("boom")

// Rule 5: AfterRun is called in list order, exactly once for each plugin, however the invocation
// ended.
func TestRule5_Balanced(t *testing.T) {
	type ending struct {
		name  string
		agent agent.Agent
		use   func(s *scene) // runs it; by default to its end
		extra *plugin.Plugin
		want  plugin.EndKind
		err   error
	}
	cancelled, cancel := context.WithCancel(ctx)
	for _, c := range []ending{
		{name: "done", want: plugin.EndDone},
		{name: "stopped", want: plugin.EndStopped, extra: on("x", "hello", func(*session.Event) plugin.Outcome { return plugin.Outcome{Stop: true} })},
		{name: "input withheld", want: plugin.EndStopped, extra: on("x", "hi", func(*session.Event) plugin.Outcome { return plugin.Outcome{Withhold: true} })},
		{name: "hook fails", want: plugin.EndFailed, extra: &plugin.Plugin{Name: "x", BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			return plugin.Outcome{}, errBoom
		}}, err: errBoom},
		{name: "hook panics", want: plugin.EndFailed, extra: on("x", "hello", func(*session.Event) plugin.Outcome { panic("boom") }), err: plugin.ErrPanic},
		{name: "agent fails", want: plugin.EndFailed, err: errBoom,
			agent: does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) { yield(nil, errBoom) })},
		{name: "agent panics", want: plugin.EndFailed,
			agent: does(func(context.Context, *agent.Host, func(*session.Event, error) bool) { panic("boom") })},
		{name: "context done", want: plugin.EndCancelled, err: context.Canceled,
			agent: does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				yield(session.Reply("hello"), nil)
				cancel()
				yield(session.Reply("never"), nil)
			}),
			use: func(s *scene) { _, err := s.runCtx(cancelled, "hi"); require.ErrorIs(s.t, err, context.Canceled) }},
		{name: "caller breaks", want: plugin.EndLeft, use: func(s *scene) {
			for range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
				break
			}
		}},
		{name: "caller panics", want: plugin.EndLeft, use: func(s *scene) {
			require.PanicsWithValue(s.t, "mine", func() {
				for range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
					panic("mine")
				}
			})
		}},
		{name: "caller's goroutine exits", want: plugin.EndLeft, use: func(s *scene) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
					runtime.Goexit()
				}
			}()
			<-done
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var order []string
			var ends []plugin.End
			after := func(name string) *plugin.Plugin {
				return &plugin.Plugin{
					Name: name,
					AfterRun: func(ctx context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
						order, ends = append(order, name), append(ends, end)
						require.NoError(t, ctx.Err(), "the context is not cancelled")
						_, bounded := ctx.Deadline()
						require.True(t, bounded)
						return emit("after " + name), nil
					},
				}
			}
			if c.agent == nil {
				c.agent = says("hello")
			}
			s := stage(t, c.agent, after("a"), after("b"), after("c"))
			if c.extra != nil {
				s.plugins = append([]*plugin.Plugin{c.extra}, s.plugins...)
			}
			if c.use != nil {
				s.start()
				c.use(s)
			} else if _, err := s.run("hi"); c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
			require.Equal(t, []string{"a", "b", "c"}, order)
			for _, end := range ends {
				require.Equal(t, c.want, end.Kind)
				if c.err != nil {
					require.ErrorIs(t, end.Err, c.err)
				}
			}
			log := s.log()
			require.Equal(t,
				[]string{"plugin/a: after a", "plugin/b: after b", "plugin/c: after c"},
				log[len(log)-3:], "what AfterRun emits is appended")
			// The turn is free, and the session works.
			free, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			turn, err := s.sessions.Lease(free, key, "")
			require.NoError(t, err)
			turn.Release()
		})
	}
}

func TestRule5_EveryAfterRunDespiteFailures(t *testing.T) {
	var called []string
	after := func(name string, f func()) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
				called = append(called, name)
				f()
				return emit("from " + name), nil
			},
		}
	}
	s := stage(t, says("hello"), after("a", func() { panic("boom") }), after("b", func() {}),
		after("c", func() {}))
	_, err := s.run("hi")
	var failed *plugin.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, plugin.Error{Plugin: "a", Hook: plugin.AfterRun, Err: failed.Err}, *failed)
	require.Equal(t, []string{"a", "b", "c"}, called)

	called = nil
	require.Panics(t, func() { // in the loop body, on what b's AfterRun emitted
		for e := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
			if e != nil && e.Text() == "from b" {
				panic("mine")
			}
		}
	})
	require.Equal(t, []string{"a", "b", "c"}, called)
}

func TestRule5_NoTurnNoAfterRun(t *testing.T) {
	called := false
	s := stage(t, says("hello"), &plugin.Plugin{
		Name: "a",
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			called = true
			return plugin.Outcome{}, nil
		},
	})
	for _, err := range s.start().Run(ctx, session.Key{App: "app", User: "ann", ID: "absent"}, session.Message("hi"), s.cfg) {
		require.ErrorIs(t, err, session.ErrNotFound)
	}
	turn, err := s.sessions.Lease(ctx, key, "")
	require.NoError(t, err)
	defer turn.Release()
	waiting, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = s.runCtx(waiting, "hi")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, called)
}

// Rule 7: a failed hook is closed: the event at hand is not appended, the model is not called, and
// the invocation ends with a *plugin.Error that names plugin and hook.
func TestRule7_Closed(t *testing.T) {
	fails := map[string]func() (plugin.Outcome, error){
		"error":            func() (plugin.Outcome, error) { return plugin.Outcome{}, errBoom },
		"error and answer": func() (plugin.Outcome, error) { return emit("ignored"), errBoom },
		"panic":            func() (plugin.Outcome, error) { panic("boom") },
		"outcome": func() (plugin.Outcome, error) {
			return plugin.Outcome{Emit: []*session.Event{nil}}, nil
		},
	}
	for name, f := range fails {
		for _, hook := range []plugin.Hook{plugin.BeforeRun, plugin.BeforeModel, plugin.OnEvent, plugin.AfterRun} {
			t.Run(fmt.Sprint(hook, " ", name), func(t *testing.T) {
				called := 0
				s := stage(t, modelAgent(&called), failingIn(hook, f))
				_, err := s.run("hi")
				var failed *plugin.Error
				require.ErrorAs(t, err, &failed)
				require.Equal(t, "bad", failed.Plugin)
				require.Equal(t, hook, failed.Hook)
				switch hook {
				case plugin.OnEvent:
					require.Empty(t, s.log())
					require.Zero(t, called)
				case plugin.AfterRun:
					require.Equal(t, []string{"user: hi", "bot: hello"}, s.log())
				default:
					require.Equal(t, []string{"user: hi"}, s.log())
					require.Zero(t, called)
				}
			})
		}
	}
}

// modelAgent calls a "model" once, through BeforeModel, and yields its answer.
func modelAgent(called *int) agent.Agent {
	return does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		req, err := h.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) {
			return &model.Request{Model: fmt.Sprint(len(inv.Live), " live")}, nil
		})
		switch {
		case errors.Is(err, agent.ErrEnded):
		case err != nil:
			yield(nil, err)
		case req == nil:
			e := session.Reply("going on after " + h.Now().Live[len(h.Now().Live)-1].Text())
			yield(e, nil)
		default:
			*called++
			e := session.Reply("hello")
			e.ModelVersion = req.Model
			yield(e, nil)
		}
	})
}

func failingIn(hook plugin.Hook, f func() (plugin.Outcome, error)) *plugin.Plugin {
	p := &plugin.Plugin{Name: "bad"}
	switch hook {
	case plugin.BeforeRun:
		p.BeforeRun = func(context.Context, *session.Invocation) (plugin.Outcome, error) { return f() }
	case plugin.BeforeModel:
		p.BeforeModel = func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
			r.Model = "half changed"
			return f()
		}
	case plugin.OnEvent:
		p.OnEvent = func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) { return f() }
	case plugin.AfterRun:
		p.AfterRun = func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) { return f() }
	}
	return p
}

func TestRule7_FieldsAHookCannotUse(t *testing.T) {
	e := session.Reply("x")
	for hook, outs := range map[plugin.Hook][]plugin.Outcome{
		plugin.BeforeRun:   {{Replace: e}},
		plugin.BeforeModel: {{Replace: e}},
		plugin.OnEvent:     {{Replace: e, Withhold: true}, {Emit: []*session.Event{{Partial: true}}}},
		plugin.AfterRun:    {{Replace: e}, {Withhold: true}, {Stop: true}},
	} {
		for _, out := range outs {
			called := 0
			_, err := stage(t, modelAgent(&called),
				failingIn(hook, func() (plugin.Outcome, error) { return out, nil })).run("hi")
			require.ErrorIs(t, err, plugin.ErrOutcome, "%s %+v", hook, out)
		}
	}
}

func TestRule7_ChangedInPlace(t *testing.T) {
	for name, change := range map[string]func(e *session.Event){
		"author":  func(e *session.Event) { e.Author = "plugin/other" },
		"content": func(e *session.Event) { e.Content = session.Reply("x").Content },
		"text":    func(e *session.Event) { e.Content.Parts[0].Text = "x" },
		"args":    func(e *session.Event) { e.Content.Parts[1].FunctionCall.Args["cmd"].([]any)[0] = "rm" },
		"state":   func(e *session.Event) { e.Actions.StateDelta["a"] = "b" },
		"parts":   func(e *session.Event) { e.Content.Parts = append(e.Content.Parts, e.Content.Parts[0]) },
		"rewind":  func(e *session.Event) { e.Actions.Rewind = &session.Rewind{} },
	} {
		s := stage(
			t,
			does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				e := session.Reply("hello")
				e.Content.Parts = append(e.Content.Parts, &genai.Part{
					FunctionCall: &genai.FunctionCall{
						Name: "sh",
						Args: map[string]any{"cmd": []any{"ls"}},
					},
				})
				e.Actions.StateDelta = map[string]any{"a": "a"}
				yield(e, nil)
			}),
			on("bad", "hello",
				func(e *session.Event) plugin.Outcome { change(e); return plugin.Outcome{} }),
		)
		_, err := s.run("hi")
		require.ErrorIs(t, err, plugin.ErrInPlace, name)
		require.Equal(t, []string{"user: hi"}, s.log(), name)
	}
}

func TestRule7_FailOpen(t *testing.T) {
	for _, hook := range []plugin.Hook{plugin.BeforeRun, plugin.BeforeModel, plugin.OnEvent, plugin.AfterRun} {
		for name, f := range map[string]func() (plugin.Outcome, error){
			"error":   func() (plugin.Outcome, error) { return plugin.Outcome{}, errBoom },
			"panic":   func() (plugin.Outcome, error) { panic("boom") },
			"outcome": func() (plugin.Outcome, error) { return plugin.Outcome{Emit: []*session.Event{nil}}, nil },
		} {
			t.Run(fmt.Sprint(hook, " ", name), func(t *testing.T) {
				called := 0
				s := stage(t, modelAgent(&called), plugin.FailOpen(failingIn(hook, f)))
				_, err := s.run("hi")
				require.NoError(t, err)
				require.Equal(t, []string{"user: hi", "bot: hello"}, s.log())
				require.Equal(t, 1, called)
				log := s.events(session.Selection{})
				require.Equal(t, "1 live", log[1].ModelVersion,
					"a half changed request is not sent")
				want := []plugin.Note{{Plugin: "bad", Hook: hook}}
				if hook == plugin.AfterRun {
					want = nil
				}
				require.Equal(t, want, plugin.NotesOf(log[1]).Unchecked)
				if hook == plugin.OnEvent {
					require.Equal(t, want, plugin.NotesOf(log[0]).Unchecked)
				} else {
					require.Empty(t, plugin.NotesOf(log[0]).Unchecked)
				}
			})
		}
	}
}

func TestRule7_Timeout(t *testing.T) {
	hang := make(chan struct{})
	var late atomic.Bool
	slow := plugin.Timeout(
		&plugin.Plugin{
			Name: "slow",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Author == "bot" {
					<-hang // it does not honour its context
					e.Content.Parts[0].Text = "scribbled on"
					late.Store(true)
				}
				return plugin.Outcome{}, nil
			},
		},
		2*time.Second,
	) // enough for the input on a busy machine
	s := stage(t, says("hello"), slow)
	_, err := s.run("hi")
	require.ErrorIs(t, err, plugin.ErrTimeout)
	require.ErrorContains(t, err, "plugin slow: OnEvent")
	require.Equal(t, []string{"user: hi"}, s.log())
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	err = s.start().Close(short)
	require.ErrorIs(t, err, plugin.ErrTimeout)
	require.ErrorContains(t, err,
		"plugin slow: OnEvent: the hook did not return in time: 1 calls never came back")
	close(hang)
	require.Eventually(t, late.Load, time.Minute, time.Millisecond)

	s = stage(t, says("hello"), plugin.FailOpen(plugin.Timeout(
		&plugin.Plugin{
			Name: "polite",
			OnEvent: func(ctx context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				<-ctx.Done()
				return plugin.Outcome{}, ctx.Err()
			},
		},
		5*time.Millisecond,
	)))
	_, err = s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: hello"}, s.log())
	require.NoError(t, s.close())
}

// An observer cannot hold up or fail an invocation.
func TestRule7_Observer(t *testing.T) {
	hang := make(chan struct{})
	var seen []string
	var end plugin.End
	s := stage(t, says("hello", "bye"), &plugin.Plugin{Name: "watch", Observer: true,
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) { panic("boom") },
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			<-hang
			seen = append(seen, fmt.Sprint(len(inv.Live), " ", line(e)))
			e.Content.Parts[0].Text = "scribbled on a copy"
			return plugin.Outcome{Stop: true, Withhold: true}, nil
		},
		AfterRun: func(_ context.Context, _ *session.Invocation, e plugin.End) (plugin.Outcome, error) {
			end = e
			return plugin.Outcome{}, errBoom
		}})
	yielded, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: hello", "bot: bye"}, yielded)
	close(hang)
	require.NoError(t, s.close())
	require.Equal(t, []string{"0 user: hi", "1 bot: hello", "2 bot: bye"}, seen)
	require.Equal(t, plugin.EndDone, end.Kind)
	require.Equal(t, []string{"user: hi", "bot: hello", "bot: bye"}, s.log())
}

func TestBeforeModel(t *testing.T) {
	before := func(name string, f func(inv *session.Invocation, r *model.Request) plugin.Outcome) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			BeforeModel: func(_ context.Context, inv *session.Invocation, r *model.Request) (plugin.Outcome, error) {
				return f(inv, r), nil
			},
		}
	}
	t.Run("changes the request", func(t *testing.T) {
		called := 0
		s := stage(
			t,
			modelAgent(&called),
			before("a", func(_ *session.Invocation, r *model.Request) plugin.Outcome {
				r.Model = "other"
				return plugin.Outcome{}
			}),
			before("b", func(_ *session.Invocation, r *model.Request) plugin.Outcome {
				r.Model += "+"
				return plugin.Outcome{}
			}),
		)
		_, err := s.run("hi")
		require.NoError(t, err)
		require.Equal(t, "other+", s.events(session.Selection{})[1].ModelVersion)
	})
	t.Run("answers for the model", func(t *testing.T) {
		called := 0
		s := stage(
			t,
			modelAgent(&called),
			before("cache", func(*session.Invocation, *model.Request) plugin.Outcome {
				out := emit("cached")
				out.Withhold = true
				return out
			}),
		)
		_, err := s.run("hi")
		require.NoError(t, err)
		require.Zero(t, called)
		require.Equal(t, []string{"user: hi", "plugin/cache: cached", "bot: going on after cached"},
			s.log())
	})
	t.Run("withholds without emitting", func(t *testing.T) {
		called := 0
		s := stage(
			t,
			modelAgent(&called),
			before("no", func(*session.Invocation, *model.Request) plugin.Outcome {
				return plugin.Outcome{Withhold: true}
			}),
		)
		_, err := s.run("hi")
		require.NoError(t, err)
		require.Zero(t, called)
		require.Equal(t, []string{"user: hi"}, s.log())
	})
	t.Run("stops", func(t *testing.T) {
		called := 0
		s := stage(t, modelAgent(&called), before(
			"no",
			func(*session.Invocation, *model.Request) plugin.Outcome { return plugin.Deny("no", "why") },
		))
		_, err := s.run("hi")
		require.NoError(t, err)
		require.Zero(t, called)
		require.Equal(t, []string{"user: hi", "plugin/no: no"}, s.log())
	})
	t.Run("emits without end", func(t *testing.T) {
		called := 0
		s := stage(t, modelAgent(&called), before("chatty",
			func(*session.Invocation, *model.Request) plugin.Outcome { return emit("note") }))
		_, err := s.run("hi")
		require.ErrorIs(t, err, plugin.ErrOutcome)
		require.ErrorContains(t, err, "plugin chatty: BeforeModel")
		require.Zero(t, called)
	})
	t.Run("emits, and the request is built anew", func(t *testing.T) {
		called, asked := 0, 0
		var requests []string
		s := stage(
			t,
			modelAgent(&called),
			before("compact", func(*session.Invocation, *model.Request) plugin.Outcome {
				if asked++; asked < 3 {
					return emit("note")
				}
				return plugin.Outcome{}
			}),
			before("later", func(_ *session.Invocation, r *model.Request) plugin.Outcome {
				requests = append(requests, r.Model)
				return plugin.Outcome{}
			}),
		)
		_, err := s.run("hi")
		require.NoError(t, err)
		require.Equal(t, 1, called)
		require.Equal(t, 3, asked)
		require.Equal(t, []string{"3 live"}, requests)
		require.Equal(t,
			[]string{"user: hi", "plugin/compact: note", "plugin/compact: note", "bot: hello"},
			s.log())
	})
}

func TestBeforeRunWithholds(t *testing.T) {
	s := stage(t, says("never"), &plugin.Plugin{
		Name: "closed",
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			return plugin.Deny("closed today", "holiday"), nil
		},
	})
	yielded, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "plugin/closed: closed today"}, yielded)
}

func TestCommandNobodyTakes(t *testing.T) {
	take := &plugin.Plugin{
		Name: "taker",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if c, ok := e.Command(); ok && c.Name == "taker.do" {
				return plugin.Outcome{
					Withhold: true,
					Stop:     true,
					Emit:     []*session.Event{session.Reply(fmt.Sprint("did ", c.Args["what"]))},
				}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
	s := stage(t, says("never"), take)
	do := session.Command{Name: "taker.do", Args: map[string]any{"what": "it"}}
	for _, err := range s.start().Run(ctx, key, do.Event(), s.cfg) {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"plugin/taker: did it"}, s.log())
	var last error
	for _, err := range s.start().Run(ctx, key, session.Command{Name: "other"}.Event(), s.cfg) {
		last = err
	}
	require.ErrorIs(t, last, runner.ErrCommand)
	require.NotContains(t, s.log(), "bot: never")
}

func TestClose(t *testing.T) {
	t.Run("names what never comes back", func(t *testing.T) {
		hang := make(chan struct{})
		s := stage(t, says("hello"), &plugin.Plugin{Name: "stuck", Background: true,
			AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
				<-hang
				return plugin.Outcome{}, nil
			}})
		_, err := s.run("hi")
		require.NoError(t, err)
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		err = s.runner.Close(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "background work of plugin stuck")
		close(hang)
	})
	t.Run("cancels runs that are left", func(t *testing.T) {
		s := stage(
			t,
			does(func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				<-ctx.Done()
				yield(nil, context.Cause(ctx))
			}),
		)
		r := s.start()
		ended := make(chan error)
		go func() { _, err := s.run("hi"); ended <- err }()
		require.Eventually(t, func() bool { return len(s.log()) == 1 }, time.Minute,
			time.Millisecond)
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		require.ErrorIs(t, r.Close(short), context.DeadlineExceeded)
		require.ErrorIs(t, <-ended, session.ErrClosed)
		_, err := s.run("more")
		require.ErrorIs(t, err, session.ErrClosed)
	})
	t.Run("closes plugins, the last first", func(t *testing.T) {
		var closed []string
		closing := func(name string) *plugin.Plugin {
			p := spy(name, new([]string))
			p.Close = func(context.Context) error { closed = append(closed, name); return errBoom }
			return p
		}
		s := stage(t, says("hello"), closing("a"), closing("b"))
		err := s.close()
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, 2, strings.Count(err.Error(), "boom"))
		require.Equal(t, []string{"b", "a"}, closed)
	})
}

func TestTempStateLivesForOneInvocation(t *testing.T) {
	var seen []any
	s := stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			seen = append(seen, h.Now().State["temp:a"])
			e := session.Reply("x")
			e.Actions.StateDelta = map[string]any{"temp:a": 1, "kept": "yes"}
			yield(e, nil)
			seen = append(seen, h.Now().State["temp:a"])
			require.NotContains(t, h.Now().Live[len(h.Now().Live)-1].Actions.StateDelta, "temp:a")
			e = session.Reply("y")
			e.Actions.StateDelta = map[string]any{"temp:a": nil}
			yield(e, nil)
			require.NotContains(t, h.Now().State, "temp:a", "nil deletes it")
		}),
	)
	in := session.Message("hi")
	in.Actions.StateDelta = map[string]any{"temp:a": 0}
	for _, err := range s.start().Run(ctx, key, in, s.cfg) {
		require.NoError(t, err)
	}
	_, err := s.run("again")
	require.NoError(t, err)
	require.Equal(t, []any{0.0, 1.0, nil, 1.0}, seen)
	require.Equal(t, map[string]any{"temp:a": 0}, in.Actions.StateDelta,
		"the caller's event is not changed")
	stored, err := s.sessions.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"mood": "fine", "kept": "yes"}, stored.State)
}
