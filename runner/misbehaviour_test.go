package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// blind is a Service that cannot be read.
type blind struct{ session.Service }

func (b *blind) Get(context.Context, session.Key) (*session.Session, error) { return nil, errBoom }

func TestHostile_StoreFailsAfterTheLease(t *testing.T) {
	called := 0
	s := stage(t, says("hello"), &plugin.Plugin{
		Name: "after",
		AfterRun: func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			called++
			require.Equal(t, plugin.EndFailed, end.Kind)
			require.Equal(t, key, inv.Key)
			return emit("too bad"), nil
		},
	})
	s.sessions = &blind{s.sessions}
	_, err := s.run("hi")
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 1, called)
}

func TestHostile_AgentAfterTheEnd(t *testing.T) {
	var late error
	hooks := 0
	s := stage(
		t,
		does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			yield(session.Reply("first"), nil)
			_, late = h.BeforeModel(ctx,
				func(*session.Invocation) (*model.Request, error) { return &model.Request{}, nil })
			panic("after the end")
		}),
		on(
			"stop",
			"first",
			func(*session.Event) plugin.Outcome { return plugin.Outcome{Stop: true, Reason: "enough"} },
		),
		&plugin.Plugin{
			Name: "model",
			BeforeModel: func(context.Context, *session.Invocation, *model.Request) (plugin.Outcome, error) {
				hooks++
				return plugin.Outcome{}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	require.ErrorIs(t, late, agent.ErrEnded)
	require.Zero(t, hooks)

	s = stage(t, s.agent)
	for range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
		break
	}
	for e := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
		if e.Text() == "first" {
			break // the agent panics now; that is not the caller's
		}
	}
	require.Equal(t, []string{"user: hi", "user: hi", "bot: first"}, s.log())
}

func TestHostile_AgentUsesItsEventsAgain(t *testing.T) {
	e := session.Reply("one")
	s := stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			yield(e, nil)
			require.Empty(t, e.ID, "its event is not written to")
			e.Content.Parts[0].Text = "two"
			yield(e, nil)
			live := h.Now().Live
			require.Equal(t, "one", live[len(live)-2].Text())
		}),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: one", "bot: two"}, s.log())
}

func TestHostile_AgentForgesTheInvocation(t *testing.T) {
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			yield(&session.Event{InvocationID: "other", Seq: 99}, nil)
		}),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	log := s.events(session.Selection{})
	require.Equal(t, log[0].InvocationID, log[1].InvocationID)
}

func TestHostile_PluginHoldsAnEventOfTheBatch(t *testing.T) {
	var held *session.Event
	s := stage(
		t,
		says("hello"),
		on("emits", "hello", func(*session.Event) plugin.Outcome { return emit("extra") }),
		&plugin.Plugin{
			Name: "holds",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Text() == "hello" {
					held = e
				} else if held != nil {
					held.Content.Parts[0].Text = "rewritten"
				}
				return plugin.Outcome{}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.ErrorIs(t, err, plugin.ErrInPlace)
	require.Equal(t, []string{"user: hi"}, s.log())
}

func TestHostile_PluginChangesWhatItEmitted(t *testing.T) {
	mine := session.Reply("checked")
	s := stage(t, says("hello"), on("emits", "hello", func(*session.Event) plugin.Outcome {
		return plugin.Outcome{Emit: []*session.Event{mine}}
	}), on("guard", "checked", func(*session.Event) plugin.Outcome {
		mine.Content.Parts = nil
		return plugin.Outcome{}
	}))
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Contains(t, s.log(), "plugin/emits: checked")
}

func TestHostile_PluginAssignsToTheInvocation(t *testing.T) {
	for name, assign := range map[string]func(inv *session.Invocation){
		"id":    func(inv *session.Invocation) { inv.ID = "mine" },
		"live":  func(inv *session.Invocation) { inv.Live = nil },
		"input": func(inv *session.Invocation) { inv.Input = nil },
		"state": func(inv *session.Invocation) { inv.State = nil },
	} {
		after := 0
		s := stage(
			t,
			says("hello"),
			&plugin.Plugin{
				Name: "a",
				BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
					assign(inv)
					return plugin.Outcome{}, nil
				},
			},
			&plugin.Plugin{
				Name: "b",
				AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
					after++
					require.NotEqual(t, "mine", inv.ID, name)
					require.Len(t, inv.Live, 1, name)
					require.NotNil(t, inv.Input, name)
					require.NotNil(t, inv.State, name)
					return plugin.Outcome{}, nil
				},
			},
		)
		_, err := s.run("hi")
		require.ErrorIs(t, err, plugin.ErrInPlace, name)
		require.Equal(t, 1, after)
	}
}

func TestHostile_CancelledWhileNothingIsAppended(t *testing.T) {
	for name, partial := range map[string]bool{"partial": true, "withheld": false} {
		n := 0
		cancelled, cancel := context.WithCancel(ctx)
		withhold := on("w", "x",
			func(*session.Event) plugin.Outcome { return plugin.Outcome{Withhold: true} })
		withhold.Partials = true
		if partial {
			withhold = spy("w", new([]string))
		}
		s := stage(
			t,
			does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				for n = range 1000 {
					e := session.Reply("x")
					e.Partial = partial
					if n == 3 {
						cancel()
					}
					if !yield(e, nil) {
						return
					}
				}
			}),
			withhold,
		)
		s.cfg.Streaming = session.SSE
		_, err := s.runCtx(cancelled, "hi")
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, 3, n, name)
	}
}

func TestHostile_HookEndsItsGoroutine(t *testing.T) {
	var ends []plugin.End
	s := stage(
		t,
		says("hello"),
		on("exits", "hello",
			func(*session.Event) plugin.Outcome { runtime.Goexit(); return plugin.Outcome{} }),
		&plugin.Plugin{
			Name: "after",
			AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
				ends = append(ends, end)
				return plugin.Outcome{}, nil
			},
		},
	)
	s.start()
	done := make(chan struct{})
	go func() { defer close(done); _, _ = s.run("hi") }()
	<-done
	require.Len(t, ends, 1)
	require.Equal(t, plugin.EndFailed, ends[0].Kind)
	require.ErrorIs(t, ends[0].Err, plugin.ErrPanic)
	require.Equal(t, []string{"user: hi"}, s.log())

	s = stage(t, says("hello"), plugin.Timeout(
		on("exits", "hello",
			func(*session.Event) plugin.Outcome { runtime.Goexit(); return plugin.Outcome{} }),
		time.Minute,
	))
	_, err := s.run("hi")
	require.ErrorIs(t, err, plugin.ErrPanic)
}

func TestHostile_Observers(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(what string) { mu.Lock(); defer mu.Unlock(); seen = append(seen, what) }
	var log bytes.Buffer
	hang := make(chan struct{})
	called := 0
	s := stage(t, modelAgent(&called), &plugin.Plugin{Name: "watch", Observer: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			<-hang
			note(e.Text())
			if e.Text() == "first" {
				e.Content.Parts[0].Text = "scribble"
				runtime.Goexit()
			}
			return plugin.Outcome{Stop: true}, nil
		},
		BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
			r.Model = "scribble"
			return plugin.Outcome{}, nil
		},
		AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			note("end of " + inv.Input.Text())
			return plugin.Outcome{}, nil
		}})
	s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, text := range []string{"first", "second"} {
		_, err := s.run(text)
		require.NoError(t, err)
	}
	close(hang)
	require.NoError(t, s.close())
	require.Equal(t, []string{"first", "hello", "end of first", "second", "hello", "end of second"},
		seen, "in order, over the runs of a session, also after a Goexit")
	require.Contains(t, log.String(), "an observer asks nothing")
	require.Equal(t, []string{"user: first", "bot: hello", "user: second", "bot: hello"}, s.log())
	require.Equal(t, "1 live", s.events(session.Selection{})[1].ModelVersion)
}

func TestHostile_ObserverGetsACopyOfTheRequest(t *testing.T) {
	scribbled := make(chan struct{})
	s := stage(
		t,
		does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			req, err := h.BeforeModel(
				ctx,
				func(*session.Invocation) (*model.Request, error) { return &model.Request{Model: "mine"}, nil },
			)
			require.NoError(t, err)
			<-scribbled
			require.Equal(t, "mine", req.Model)
		}),
		&plugin.Plugin{
			Name:     "watch",
			Observer: true,
			BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
				r.Model = "scribble"
				close(scribbled)
				return plugin.Outcome{}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.NoError(t, err)
}

func TestHostile_ObserverFallsBehind(t *testing.T) {
	hang := make(chan struct{})
	events, ends := 0, 0
	var log bytes.Buffer
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			for range 5000 {
				e := session.Reply("x")
				e.Partial = true
				yield(e, nil)
			}
		}),
		&plugin.Plugin{Name: "slow", Observer: true, Partials: true,
			OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
				<-hang
				events++
				return plugin.Outcome{}, nil
			},
			AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
				ends++
				return plugin.Outcome{}, nil
			}},
	)
	s.cfg.Streaming = session.SSE
	s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	yielded, err := s.run("hi")
	require.NoError(t, err)
	require.Len(t, yielded, 5001)
	close(hang)
	require.NoError(t, s.close())
	require.Less(t, events, 5001)
	require.Equal(t, 1, ends)
	require.Contains(t, log.String(), "fell behind")
}

// What waits for an observer that is stuck is bounded in bytes too.
func TestHostile_ObserverBacklogOfBigEvents(t *testing.T) {
	const mebi, many = 1 << 20, 100
	big := strings.Repeat("x", mebi)
	for name, part := range map[string]*genai.Part{
		"text":     {Text: big},
		"call":     {FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"a": []any{map[string]any{"text": big}}}}},
		"response": {FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"a": big}}},
	} {
		t.Run(name, func(t *testing.T) {
			hang := make(chan struct{})
			seen := 0
			s := stage(
				t,
				does(
					func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
						for range many {
							if !yield(
								&session.Event{
									Partial: true,
									Content: &genai.Content{Parts: []*genai.Part{part}},
								},
								nil,
							) {
								return
							}
						}
					},
				),
				&plugin.Plugin{Name: "stuck", Observer: true, Partials: true,
					OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						<-hang
						if e.Partial {
							seen++
						}
						return plugin.Outcome{}, nil
					}},
			)
			s.cfg.Streaming = session.SSE
			yielded, err := s.run("hi")
			require.NoError(t, err)
			require.Len(t, yielded, many+1)
			close(hang)
			require.NoError(t, s.close())
			require.InDelta(
				t,
				62,
				seen,
				2,
				"64 MiB wait: an event takes a little more memory than its megabyte, and the input may be among them",
			)
		})
	}
}

func TestHostile_InputWithheldAndItsIDReused(t *testing.T) {
	s := stage(t, says("never"), &plugin.Plugin{
		Name: "swap",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User {
				return plugin.Outcome{}, nil
			}
			fake := session.Reply("fake")
			fake.ID = e.ID
			return plugin.Outcome{Withhold: true, Emit: []*session.Event{fake}}, nil
		},
	})
	_, err := s.run("hi")
	require.ErrorIs(t, err, session.ErrIDReused)
	require.Empty(t, s.log(), "blocked input reaches neither BeforeRun nor an agent")
}

func TestHostile_InputThatWasRewound(t *testing.T) {
	s := stage(t, says("hello"), on("undo", "undo", func(*session.Event) plugin.Outcome {
		return plugin.Outcome{
			Withhold: true,
			Stop:     true,
			Emit:     []*session.Event{{Actions: session.Actions{Rewind: &session.Rewind{}}}},
		}
	}))
	in := session.Message("hi")
	in.ID, in.Timestamp = "once", time.Unix(1, 0)
	run := func() (last error) {
		for _, err := range s.start().Run(ctx, key, in, s.cfg) {
			last = err
		}
		return last
	}
	require.NoError(t, run())
	_, err := s.run("undo")
	require.NoError(t, err)
	require.ErrorIs(t, run(), session.ErrIDReused)
	require.Len(t, s.log(), 3)
}

func TestHostile_EmissionsOutsideOfOnEvent(t *testing.T) {
	var first, last []string
	s := stage(t, says("hello"), spy("first", &first),
		&plugin.Plugin{Name: "emits",
			BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) { return emit("before"), nil },
			AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
				return emit("after"), nil
			}},
		spy("last", &last))
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: hello"}, first,
		"what a plugin emits is offered to those after it only")
	require.Equal(t,
		[]string{"user: hi", "plugin/emits: before", "bot: hello", "plugin/emits: after"}, last)
}

func TestHostile_FirstStopCounts(t *testing.T) {
	stop := func(name string) *plugin.Plugin {
		return on(name, "hello",
			func(*session.Event) plugin.Outcome { return plugin.Outcome{Stop: true, Reason: name} })
	}
	var end plugin.End
	s := stage(t, says("hello"), stop("a"), stop("b"), &plugin.Plugin{
		Name: "end",
		AfterRun: func(_ context.Context, _ *session.Invocation, e plugin.End) (plugin.Outcome, error) {
			end = e
			return plugin.Outcome{}, nil
		},
	})
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, plugin.End{Kind: plugin.EndStopped, Plugin: "a", Reason: "a"}, end)
}

func TestHostile_Replacements(t *testing.T) {
	marker := func(a session.Actions) *scene {
		return stage(t, says("a", "go"), on("emits", "go", func(*session.Event) plugin.Outcome {
			return plugin.Outcome{Emit: []*session.Event{{Actions: a}}}
		}), &plugin.Plugin{Name: "swap", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Marker() {
				return plugin.Outcome{Replace: session.Reply("nothing to see")}, nil
			}
			return plugin.Outcome{}, nil
		}})
	}
	for name, a := range map[string]session.Actions{
		"rewind":     {Rewind: &session.Rewind{To: 1}},
		"compaction": {Compaction: &session.Compaction{Through: 1}},
	} {
		_, err := marker(a).run("hi")
		require.ErrorIs(t, err, plugin.ErrOutcome, name)
	}

	var was *session.Event
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			e := session.Reply("hello")
			e.Branch = "a.b"
			yield(e, nil)
		}),
		on("swap", "hello", func(e *session.Event) plugin.Outcome {
			was = e.Clone()
			by := session.Reply("bye")
			by.ID, by.Branch = "mine", "mine"
			return plugin.Outcome{Replace: by, Emit: []*session.Event{session.Reply("more")}}
		}),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	log := s.events(session.Selection{})
	require.Equal(t, was.ID, log[1].ID)
	require.Equal(t, "a.b", log[1].Branch)
	require.Equal(t, "a.b", log[2].Branch, "an emission is of the branch of what it was emitted on")
}

func TestHostile_TempStateOutlivesARewind(t *testing.T) {
	s := stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			e := session.Reply("first")
			e.Actions.StateDelta = map[string]any{"temp:a": "kept", "b": "void"}
			yield(e, nil)
			yield(session.Reply("undo"), nil)
			require.Equal(t, map[string]any{"temp:a": "kept", "mood": "fine"}, h.Now().State)
			require.Len(t, h.Now().Live, 1)
		}),
		on("undo", "undo", func(*session.Event) plugin.Outcome {
			return plugin.Outcome{
				Emit: []*session.Event{{Actions: session.Actions{Rewind: &session.Rewind{To: 1}}}},
			}
		}),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
}

func TestHostile_UncheckedIsLifted(t *testing.T) {
	fails := true
	guard := plugin.FailOpen(&plugin.Plugin{
		Name: "guard",
		BeforeModel: func(context.Context, *session.Invocation, *model.Request) (plugin.Outcome, error) {
			if fails {
				return plugin.Outcome{}, errBoom
			}
			return plugin.Outcome{}, nil
		},
	})
	s := stage(
		t,
		does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			for i := range 2 {
				_, err := h.BeforeModel(
					ctx,
					func(*session.Invocation) (*model.Request, error) { return &model.Request{}, nil },
				)
				require.NoError(t, err)
				yield(session.Reply(fmt.Sprint(i)), nil)
				fails = false
			}
		}),
		guard,
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	log := s.events(session.Selection{})
	require.Len(t, plugin.NotesOf(log[1]).Unchecked, 1)
	require.Empty(t, plugin.NotesOf(log[2]).Unchecked)
}

func TestHostile_TwoAnswersToOneCall(t *testing.T) {
	call := func(ids ...string) *session.Event {
		e := &session.Event{Content: &genai.Content{Role: "model"}}
		for _, id := range ids {
			e.Content.Parts = append(e.Content.Parts,
				&genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f" + id}})
		}
		return e
	}
	response := func(by string, ids ...string) *session.Event {
		e := &session.Event{Content: &genai.Content{Role: "user"}}
		for _, id := range ids {
			e.Content.Parts = append(e.Content.Parts, &genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					ID:       id,
					Name:     "f" + id,
					Response: map[string]any{"by": by},
				},
			})
		}
		return e
	}
	answers := func(name string, when string, e *session.Event) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			OnEvent: func(_ context.Context, _ *session.Invocation, at *session.Event) (plugin.Outcome, error) {
				if line(at) == when {
					return plugin.Outcome{Emit: []*session.Event{e}}, nil
				}
				return plugin.Outcome{}, nil
			},
		}
	}
	play := func(events ...*session.Event) agent.Agent {
		return does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			for _, e := range events {
				yield(e, nil)
			}
		})
	}
	by := func(s *scene) (list []any) {
		for _, c := range session.Calls(s.events(session.Selection{})) {
			for _, p := range c.Response.Content.Parts {
				if r := p.FunctionResponse; r.ID == c.ID {
					list = append(list, r.Response["by"])
				}
			}
		}
		return list
	}
	both := stage(t, play(call("1", "2")),
		answers("a", "bot: call 1call 2", response("a", "1", "2")),
		answers("b", "bot: call 1call 2", response("b", "1")))
	_, err := both.run("hi")
	require.NoError(t, err)
	require.Equal(t, []any{"b", "a"}, by(both))
	require.Equal(t, "b", plugin.NotesOf(both.events(session.Selection{})[2]).Changed[0].Plugin)

	agents := stage(t, play(call("1"), response("agent", "1")),
		answers("a", "bot: response 1", response("a", "1")))
	_, err = agents.run("hi")
	require.NoError(t, err)
	require.Equal(t, []any{"a"}, by(agents))
}

func TestNewRefuses(t *testing.T) {
	_, err := runner.New(runner.Options{})
	require.ErrorContains(t, err, "Options.Agent is nil")
	require.ErrorContains(t, err, "Options.Sessions is nil")
	for _, name := range []string{"", "user", "plugin/x"} {
		_, err = runner.New(runner.Options{Agent: agent.New(name, "", nil), Sessions: memory.New()})
		require.ErrorContains(t, err, "must not be named", name)
	}
	nop := func(context.Context, *session.Invocation) (plugin.Outcome, error) { return plugin.Outcome{}, nil }
	for _, plugins := range [][]*plugin.Plugin{
		{nil}, {{Name: "a"}}, {{Name: "A", BeforeRun: nop}}, {{Name: "a", BeforeRun: nop}, {Name: "a", BeforeRun: nop}},
		{{Name: "a", BeforeRun: nop, Partials: true}}, {{Name: "a", BeforeRun: nop, Background: true}},
	} {
		_, err = runner.New(runner.Options{Agent: says(), Sessions: memory.New(), Plugins: plugins})
		require.Error(t, err)
	}
}

func TestHostile_EmptyInput(t *testing.T) {
	s := stage(t, says("hello"))
	for name, in := range map[string]*session.Event{"no text": session.Message(""), "nothing": {}, "no parts": {Content: &genai.Content{Role: "user"}}} {
		var last error
		for _, err := range s.start().Run(ctx, key, in, s.cfg) {
			last = err
		}
		require.ErrorIs(t, last, session.ErrInvalid, name)
	}
	require.Empty(t, s.log())
	state := &session.Event{Actions: session.Actions{StateDelta: map[string]any{"a": 1.0}}}
	for _, err := range s.start().Run(ctx, key, state, s.cfg) {
		require.NoError(t, err)
	}
	require.Len(t, s.log(), 2)
}
