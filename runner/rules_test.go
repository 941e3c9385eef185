package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Rule 1: every event takes one path: offered to plugins, appended, yielded.
func TestRule1_OnePath(t *testing.T) {
	var seen []string
	s := stage(
		t,
		says("hello"),
		on("exit", "stop",
			func(*session.Event) plugin.Outcome { return plugin.Deny("no", "policy") }),
		&plugin.Plugin{
			Name: "before",
			BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
				return emit("before"), nil
			},
		},
		&plugin.Plugin{
			Name: "after",
			AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
				return emit("after"), nil
			},
		},
		spy("spy", &seen),
	)

	yielded, err := s.run("hi")
	require.NoError(t, err)
	want := []string{"user: hi", "plugin/before: before", "bot: hello", "plugin/after: after"}
	require.Equal(t, want, yielded)
	require.Equal(t, want, s.log())
	require.Equal(t, want, seen)

	seen = nil
	yielded, err = s.run("stop") // early exit
	require.NoError(t, err)
	want = []string{"plugin/exit: no", "plugin/after: after"}
	require.Equal(t, want, yielded)
	require.Equal(t, want, s.log()[4:])
	require.Equal(t, want, seen)
}

func TestRule1_RewindTakesThePath(t *testing.T) {
	var seen []string
	s := stage(t, says("hello"),
		on("rewind", "undo", func(*session.Event) plugin.Outcome {
			return plugin.Outcome{
				Emit: []*session.Event{
					{Actions: session.Actions{Rewind: &session.Rewind{To: 1}}},
				},
				Withhold: true,
				Stop:     true,
			}
		}),
		spy("spy", &seen))
	_, err := s.run("hi")
	require.NoError(t, err)
	yielded, err := s.run("undo")
	require.NoError(t, err)
	require.Equal(t, []string{"plugin/rewind: "}, yielded)
	require.Equal(t, []string{"user: hi", "bot: hello", "plugin/rewind: "}, seen)
	require.Len(t, s.events(session.Selection{}), 3)
	require.Len(t, s.events(session.Selection{Live: true}), 1)
}

// Rule 2: plugins see an event in list order; emissions go to the plugins after the emitter only;
// the log has the event, then the emissions in list order, each followed by its own.
func TestRule2_OneWay(t *testing.T) {
	var calls []string
	echoing := func(name string, answers map[string][]string) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				calls = append(calls, name+" sees "+e.Text())
				return emit(answers[e.Text()]...), nil
			},
		}
	}
	s := stage(t, says(),
		echoing("a", map[string][]string{"hi": {"a1", "a2"}, "b": {"never"}}),
		echoing("b", map[string][]string{"hi": {"b"}, "a1": {"b on a1"}}),
		echoing("c", map[string][]string{"b on a1": {"c"}}))
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{
			"user: hi",
			"plugin/a: a1",
			"plugin/b: b on a1",
			"plugin/c: c",
			"plugin/a: a2",
			"plugin/b: b",
		},
		s.log(),
	)
	require.Equal(t, []string{
		"a sees hi", "b sees hi", "c sees hi",
		"b sees a1", "c sees a1", "c sees b on a1",
		"b sees a2", "c sees a2", "c sees b",
	}, calls)
}

func TestRule2_LaterResponseCounts(t *testing.T) {
	response := func(name, id string) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Author != "bot" {
					return plugin.Outcome{}, nil
				}
				r := &genai.Part{
					FunctionResponse: &genai.FunctionResponse{
						ID:       id,
						Name:     "f",
						Response: map[string]any{"by": name},
					},
				}
				return plugin.Outcome{
					Emit: []*session.Event{
						{Content: &genai.Content{Role: "user", Parts: []*genai.Part{r}}},
					},
				}, nil
			},
		}
	}
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			yield(
				&session.Event{
					Content: &genai.Content{
						Role: "model",
						Parts: []*genai.Part{
							{FunctionCall: &genai.FunctionCall{ID: "1", Name: "f"}},
						},
					},
				},
				nil,
			)
		}),
		response("a", "1"),
		response("b", "1"),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: call 1", "plugin/b: response 1"}, s.log())
	calls := session.Calls(s.events(session.Selection{}))
	require.Equal(t, "plugin/b", calls[0].Response.Author)
}

func TestRule2_ConfigurationSaysSo(t *testing.T) {
	var seen []string
	look := spy("audit", &seen)
	look.Observer = true
	change := on("redact", "x", func(*session.Event) plugin.Outcome { return plugin.Outcome{} })
	require.Len(t, plugin.Warnings(change), 1)
	require.Contains(t, plugin.Warnings(change)[0],
		`plugin "redact" takes no partial events, so no run streams`)
	change.Partials = true
	require.Empty(t, plugin.Warnings(change, look))
	require.Len(t, plugin.Warnings(look, change), 1)
	require.Contains(t, plugin.Warnings(look, change)[0],
		`observer "audit" stands before plugin "redact"`)
}

// Rule 3: a plugin sees the event as those before it left it; nobody is skipped because somebody
// answered first; a withheld event goes no further, what was emitted in its place does.
func TestRule3_WhatIsLeftGoesOn(t *testing.T) {
	var seen []string
	s := stage(
		t,
		says("secret", "gone", "plain"),
		on(
			"redact",
			"secret",
			func(e *session.Event) plugin.Outcome { return plugin.Outcome{Replace: with(e, "***")} },
		),
		on("stop", "plain",
			func(e *session.Event) plugin.Outcome { return plugin.Outcome{Stop: true} }),
		on("withhold", "gone", func(e *session.Event) plugin.Outcome {
			return plugin.Outcome{Withhold: true, Emit: []*session.Event{session.Reply("instead")}}
		}),
		spy("last", &seen),
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	want := []string{"user: hi", "bot: ***", "plugin/withhold: instead", "bot: plain"}
	require.Equal(t, want, seen)
	require.Equal(t, want, s.log())
}

func TestRule3_BeforeRunAsksEverybody(t *testing.T) {
	var asked []string
	ask := func(name string, out plugin.Outcome) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
				asked = append(asked, name)
				return out, nil
			},
		}
	}
	stop := emit("closed today")
	stop.Stop, stop.Reason = true, "holiday"
	var end plugin.End
	s := stage(t, says("never"), ask("a", stop), ask("b", emit("b")), &plugin.Plugin{
		Name: "end",
		AfterRun: func(_ context.Context, _ *session.Invocation, e plugin.End) (plugin.Outcome, error) {
			end = e
			return plugin.Outcome{}, nil
		},
	})
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, asked)
	require.Equal(t, []string{"user: hi", "plugin/a: closed today", "plugin/b: b"}, s.log())
	require.Equal(t, plugin.End{Kind: plugin.EndStopped, Plugin: "a", Reason: "holiday"}, end)
}

// failing is a Service whose appends fail when fails says so.
type failing struct {
	session.Service
	fails func(events []*session.Event) error
}

func (f *failing) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	if err := f.fails(events); err != nil {
		return 0, err
	}
	return f.Service.Append(ctx, at, events...)
}

// Rule 4: the event at hand and what was emitted on it are appended together, all or none.
func TestRule4_OneAppend(t *testing.T) {
	s := stage(t, says("hello"),
		on("a", "hello", func(*session.Event) plugin.Outcome { return emit("1", "2") }),
		on("b", "2", func(*session.Event) plugin.Outcome { return emit("3") }))
	var sizes []int
	down := false
	s.sessions = &failing{s.sessions, func(events []*session.Event) error {
		if sizes = append(sizes, len(events)); down && len(events) > 1 {
			return errors.New("disk full")
		}
		return nil
	}}
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []int{1, 4}, sizes)

	down = true
	yielded, err := s.run("again")
	require.ErrorContains(t, err, "disk full")
	require.Equal(t, []string{"user: again"}, yielded, "what was not appended was not yielded")
	require.Len(t, s.log(), 6)
}

// An emission that the store refuses takes the event at hand with it.
func TestRule4_RefusedEmission(t *testing.T) {
	s := stage(t, says("hello"), on("a", "hello", func(*session.Event) plugin.Outcome {
		return plugin.Outcome{
			Emit: []*session.Event{
				{Actions: session.Actions{Compaction: &session.Compaction{Through: 99}}},
			},
		}
	}))
	_, err := s.run("hi")
	require.ErrorIs(t, err, session.ErrInvalid)
	require.Equal(t, []string{"user: hi"}, s.log())
}

// Rule 6: the runner sets invocation, author and time of emitted events and keeps those of replaced
// ones.
func TestRule6_Stamped(t *testing.T) {
	forged := func(e *session.Event) *session.Event {
		e.ID, e.InvocationID, e.Author, e.Timestamp, e.Seq = "", "other", "user", time.Unix(1,
			0), 99
		return e
	}
	s := stage(
		t,
		says("hello"),
		on("a", "hello", func(e *session.Event) plugin.Outcome {
			fake := forged(session.Reply("from a"))
			fake.CustomMetadata = map[string]any{
				"mine":           "yes",
				session.NotesKey: map[string]any{"changed": []any{map[string]any{"plugin": "b"}}},
			}
			return plugin.Outcome{
				Emit:    []*session.Event{fake},
				Replace: forged(with(e, "bye")),
				Reason:  "because",
			}
		}),
		on(
			"b",
			"bye",
			func(e *session.Event) plugin.Outcome { return plugin.Outcome{Replace: with(e, "farewell")} },
		),
	)
	before := time.Now()
	_, err := s.run("hi")
	require.NoError(t, err)
	log := s.events(session.Selection{})
	require.Equal(t, []string{"user: hi", "bot: farewell", "plugin/a: from a"}, s.log())
	for i, e := range log {
		require.Equal(t, log[0].InvocationID, e.InvocationID)
		require.NotEmpty(t, e.ID)
		require.EqualValues(t, i+1, e.Seq)
		require.WithinDuration(t, before, e.Timestamp, time.Minute)
	}
	require.Equal(t,
		plugin.Notes{Changed: []plugin.Note{{Plugin: "a", Reason: "because"}, {Plugin: "b"}}},
		plugin.NotesOf(log[1]))
	require.Equal(t, plugin.Notes{Reason: "because"}, plugin.NotesOf(log[2]))
	require.Equal(t, "yes", log[2].CustomMetadata["mine"])
}

func TestRule6_OnlyPluginsCompactAndRewind(t *testing.T) {
	rewind := session.Actions{Rewind: &session.Rewind{To: 0}}
	compact := session.Actions{Compaction: &session.Compaction{Through: 1}}
	for name, actions := range map[string]session.Actions{"rewind": rewind, "compaction": compact} {
		t.Run("agent "+name, func(t *testing.T) {
			s := stage(t, does(
				func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					yield(&session.Event{Actions: actions}, nil)
				},
			))
			_, err := s.run("hi")
			require.ErrorContains(t, err, "only plugins may")
			require.Equal(t, []string{"user: hi"}, s.log())
		})
		t.Run("user "+name, func(t *testing.T) {
			s := stage(t, says("hello"))
			for _, err := range s.start().Run(ctx, key, &session.Event{Actions: actions}, s.cfg) {
				require.ErrorIs(t, err, session.ErrInvalid)
			}
			require.Empty(t, s.log())
		})
		t.Run("replacement adds "+name, func(t *testing.T) {
			s := stage(t, says("hello"), on("a", "hello", func(e *session.Event) plugin.Outcome {
				return plugin.Outcome{Replace: &session.Event{Actions: actions}}
			}))
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrOutcome)
			require.Equal(t, []string{"user: hi"}, s.log())
		})
	}
}

func TestRule6_NoReplacementChangesWhatACompactionCovers(t *testing.T) {
	summary := func(text string) *genai.Content { return genai.NewContentFromText(text, "user") }
	s := stage(
		t,
		says("hello", "more"),
		on("compact", "more", func(*session.Event) plugin.Outcome {
			return plugin.Outcome{
				Emit: []*session.Event{
					{
						Actions: session.Actions{
							Compaction: &session.Compaction{
								Through: 2,
								Content: summary("card 4111"),
							},
						},
					},
				},
			}
		}),
		&plugin.Plugin{
			Name: "redact",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if !e.Marker() {
					return plugin.Outcome{}, nil
				}
				c := e.Clone()
				c.Actions.Compaction = &session.Compaction{
					Through:  1,
					Frontier: 7,
					Content:  summary("card ***"),
				}
				return plugin.Outcome{Replace: c}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	head := s.events(session.Selection{Live: true})[0]
	require.EqualValues(t, 2, head.Actions.Compaction.Through)
	require.EqualValues(t, 0, head.Actions.Compaction.Frontier)
	require.Equal(t, "card ***", head.Actions.Compaction.Content.Parts[0].Text)
	require.Equal(t, "redact", plugin.NotesOf(head).Changed[0].Plugin)
}

func TestRule6_NobodyElseWritesNotes(t *testing.T) {
	forged := map[string]any{
		session.NotesKey: map[string]any{"changed": []any{map[string]any{"plugin": "guard"}}},
		"mine":           1.0,
	}
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			yield(&session.Event{CustomMetadata: forged}, nil)
		}),
	)
	in := session.Message("hi")
	in.CustomMetadata = forged
	for _, err := range s.start().Run(ctx, key, in, s.cfg) {
		require.NoError(t, err)
	}
	for _, e := range s.events(session.Selection{}) {
		require.Equal(t, map[string]any{"mine": 1.0}, e.CustomMetadata)
	}
}

// What a hook was offered does not change when it is appended.
func TestRule9_OfferedEventsStay(t *testing.T) {
	var offered []*session.Event
	s := stage(t, says("hello"), &plugin.Plugin{
		Name: "keeps",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			offered = append(offered, e)
			return plugin.Outcome{}, nil
		},
	})
	_, err := s.run("hi")
	require.NoError(t, err)
	for _, e := range offered {
		require.Zero(t, e.Seq)
	}
}

func TestRule6_AgentsSpeakAsThemselves(t *testing.T) {
	for _, author := range []string{"plugin/a", "user"} {
		s := stage(
			t,
			does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				e := session.Reply("trust me")
				e.Author = author
				yield(e, nil)
			}),
		)
		_, err := s.run("hi")
		require.ErrorContains(t, err, "cannot speak as")
		require.Equal(t, []string{"user: hi"}, s.log())
	}
}

// Rule 8: partial events are offered to plugins that take them and yielded, never appended.
func TestRule8_Partials(t *testing.T) {
	var takes []string
	s := stage(t, says("=he", "=llo", "hello"), spy("takes", &takes))
	s.cfg.Streaming = session.SSE
	yielded, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: =he", "bot: =llo", "bot: hello"}, yielded)
	require.Equal(t, yielded, takes)
	require.Equal(t, []string{"user: hi", "bot: hello"}, s.log())

	var finals []string
	final := spy("finals", &finals)
	final.Partials = false
	s = stage(t, says("=he", "=llo", "hello"), final)
	s.cfg.Streaming = session.SSE
	yielded, err = s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: hello"}, yielded,
		"a redactor of final events leaks no raw chunk")
	require.Equal(t, yielded, finals)

	look := spy("looks", new([]string))
	look.Partials, look.Observer = false, true
	s = stage(t, says("=he", "hello"), look)
	s.cfg.Streaming = session.SSE
	yielded, err = s.run("hi")
	require.NoError(t, err)
	require.Len(t, yielded, 3, "an observer hides nothing")
}

func TestRule8_StreamedRefusal(t *testing.T) {
	s := stage(
		t,
		says("=fine", "=bad", "=never", "fine bad"),
		&plugin.Plugin{Name: "guard", Partials: true,
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				switch e.Text() {
				case "fine":
					return plugin.Outcome{Replace: with(e, "FINE")}, nil
				case "bad":
					return plugin.Deny("no", "rude"), nil
				}
				return plugin.Outcome{}, nil
			}},
	)
	s.cfg.Streaming = session.SSE
	yielded, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: =FINE", "plugin/guard: no"}, yielded)
	require.Equal(t, []string{"user: hi", "plugin/guard: no"}, s.log())
}

func TestRule8_WhoDoesNotAskGetsNoPartials(t *testing.T) {
	s := stage(t, says("=he", "=llo", "hello"))
	yielded, err := s.run("hi")
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: hello"}, yielded)
}

func TestRule8_PartialsHaveTheIDOfWhatTheyLeadTo(t *testing.T) {
	s := stage(t, says("=he", "=llo", "hello", "=b", "bye"))
	var ids []string
	for e, err := range s.start().Run(ctx, key, nil, session.RunConfig{Streaming: session.SSE}) {
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	require.Equal(t, []string{ids[0], ids[0], ids[0], ids[3], ids[3]}, ids)
	require.NotEqual(t, ids[0], ids[3])
}

func TestRule8_LiveAudio(t *testing.T) {
	audio := func() *session.Event {
		return &session.Event{
			Content: &genai.Content{
				Parts: []*genai.Part{
					{InlineData: &genai.Blob{MIMEType: "audio/pcm", Data: []byte("x")}},
				},
			},
		}
	}
	for _, streaming := range []session.Streaming{session.Bidi, session.SSE} {
		s := stage(t, does(
			func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) { yield(audio(), nil) },
		))
		n := 0
		for _, err := range s.start().Run(ctx, key, audio(), session.RunConfig{Streaming: streaming}) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 2, n)
		require.Len(t, s.log(),
			map[session.Streaming]int{session.Bidi: 1, session.SSE: 2}[streaming],
			"what the user uploads is appended")
	}
}

func TestRule8_WhatLiveAudioSaysBesides(t *testing.T) {
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			e := &session.Event{
				Content: &genai.Content{
					Parts: []*genai.Part{
						{InlineData: &genai.Blob{MIMEType: "audio/pcm", Data: []byte("x")}},
					},
				},
			}
			e.Actions.StateDelta = map[string]any{"heard": true}
			yield(e, nil)
		}),
	)
	var last *session.Event
	for e, err := range s.start().Run(ctx, key, nil, session.RunConfig{Streaming: session.Bidi}) {
		require.NoError(t, err)
		last = e
	}
	require.NotNil(t, last.Content, "the caller hears it")
	log := s.events(session.Selection{})
	require.Len(t, log, 1)
	require.Nil(t, log[0].Content)
	require.Equal(t, map[string]any{"heard": true}, log[0].Actions.StateDelta)
}

// Rule 9: no event changes after it was appended; Seq orders events.
func TestRule9_TheLogIsWhatHappened(t *testing.T) {
	s := stage(t, says("hello"))
	for e, err := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
		require.NoError(t, err)
		e.Content.Parts[0].Text = "changed by the caller"
	}
	require.Equal(t, []string{"user: hi", "bot: hello"}, s.log())

	old := session.Message("dated")
	old.Timestamp = time.Unix(1, 0)
	for _, err := range s.start().Run(ctx, key, old, s.cfg) {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"user: hi", "bot: hello", "user: dated", "bot: hello"}, s.log())
}

// Rule 10: an append names its position; an event whose ID is in the log is not appended again.
func TestRule10_IdempotentInput(t *testing.T) {
	ran := 0
	s := stage(
		t,
		does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			ran++
			yield(session.Reply("hello"), nil)
		}),
	)
	run := func(id, text string) (yielded []string, err error) {
		in := session.Message(text)
		in.ID = id
		for e, err := range s.start().Run(ctx, key, in, s.cfg) {
			if err != nil {
				return yielded, err
			}
			yielded = append(yielded, line(e))
		}
		return yielded, nil
	}
	want := []string{"user: hi", "bot: hello"}
	for range 3 {
		yielded, err := run("once", "hi")
		require.NoError(t, err)
		require.Equal(t, want, yielded)
	}
	require.Equal(t, want, s.log())
	require.Equal(t, 1, ran)

	_, err := run("once", "something else")
	require.ErrorIs(t, err, session.ErrIDReused)

	// An input whose run got no further goes on.
	for range s.start().Run(ctx, key, func() *session.Event { in := session.Message("cut"); in.ID = "cut"; return in }(), s.cfg) {
		break
	}
	yielded, err := run("cut", "cut")
	require.NoError(t, err)
	require.Equal(t, []string{"user: cut", "bot: hello"}, yielded)
	require.Equal(t, 2, ran)
}

// An emission with an id that is taken is the failure of who emitted it, in whatever hook.
func TestRule10_AnIDThatIsTaken(t *testing.T) {
	steal := func(inv *session.Invocation) plugin.Outcome {
		out := emit("mine")
		out.Emit[0].ID = inv.Live[0].ID
		return out
	}
	for hook, thief := range map[plugin.Hook]*plugin.Plugin{
		plugin.BeforeRun: {BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) { return steal(inv), nil }},
		plugin.BeforeModel: {BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
			return steal(inv), nil
		}},
		plugin.OnEvent: {OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != "bot" {
				return plugin.Outcome{}, nil
			}
			return steal(inv), nil
		}},
		plugin.AfterRun: {AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			return steal(inv), nil
		}},
	} {
		t.Run(string(hook), func(t *testing.T) {
			thief.Name = "thief"
			s := stage(t, asking("hello"), thief, echoes("later"))
			_, err := s.run("hi")
			require.ErrorIs(t, err, session.ErrIDReused)
			var failed *plugin.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, "thief", failed.Plugin)
			require.Equal(t, hook, failed.Hook)
		})
	}
	s := stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			e := session.Reply("hello") // nobody's failure but the agent's
			e.ID = h.Now().Input.ID
			yield(e, nil)
		}),
		echoes("later"),
	)
	_, err := s.run("hi")
	require.ErrorIs(t, err, session.ErrIDReused)
	var failed *plugin.Error
	require.False(t, errors.As(err, &failed))
}

func TestRule10_AppendsNameThePosition(t *testing.T) {
	s := stage(t, says("a", "b"))
	mem := s.sessions
	var at []session.AppendTarget
	s.sessions = &watching{mem, func(a session.AppendTarget) { at = append(at, a) }}
	_, err := s.run("hi")
	require.NoError(t, err)
	require.Len(t, at, 3)
	for i, a := range at {
		require.EqualValues(t, i, a.After)
		require.NotZero(t, a.Fence)
	}
}

type watching struct {
	session.Service
	at func(session.AppendTarget)
}

func (w *watching) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	w.at(at)
	return w.Service.Append(ctx, at, events...)
}

// Rule 11: invocations on one session take turns; those on different sessions never wait.
func TestRule11_Turns(t *testing.T) {
	var inside atomic.Int32
	s := stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			if h.Now().Key == key && inside.Add(1) > 1 {
				yield(nil, errors.New("two at once"))
				return
			}
			yield(session.Reply("1"), nil)
			yield(session.Reply("2"), nil)
			if h.Now().Key == key {
				inside.Add(-1)
			}
		}),
	)
	r := s.start()
	var wg sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 20 {
		wg.Go(func() {
			for _, err := range r.Run(ctx, key, session.Message(fmt.Sprint(i)), s.cfg) {
				if err != nil {
					errs <- err
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	log := s.events(session.Selection{})
	require.Len(t, log, 60)
	for i := 0; i < 60; i += 3 {
		require.Equal(t, log[i].InvocationID, log[i+2].InvocationID)
	}

	other := session.Key{App: "app", User: "ann", ID: "other"}
	for range r.Run(ctx, key, session.Message("outer"), s.cfg) {
		next, stop := iter.Pull2(
			r.Run(ctx, other, session.Message("inner"), session.RunConfig{Create: true}))
		_, err, ok := next()
		require.True(t, ok)
		require.NoError(t, err)
		stop()
	}
}

func TestRule11_WhoLostTheTurnCannotAppend(t *testing.T) {
	s := stage(t, says("hello"))
	mem := s.sessions
	lost := make(chan struct{})
	s.sessions = &losing{mem, lost}
	s.agent = does(
		func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			close(lost) // another process has the turn now
			<-ctx.Done()
			yield(session.Reply("too late"), nil)
		},
	)
	_, err := s.run("hi")
	require.ErrorIs(t, err, session.ErrFenced)
	require.ErrorContains(t, err, "or the session or its store is gone")
	require.Equal(t, []string{"user: hi"}, s.log())
}

// losing is a Service whose turns are lost, and another's, once lost is closed.
type losing struct {
	session.Service
	lost chan struct{}
}

func (l *losing) Lease(
	ctx context.Context,
	key session.Key,
	holder string,
) (*session.Lease, error) {
	turn, err := l.Service.Lease(ctx, key, holder)
	if err != nil {
		return nil, err
	}
	return &session.Lease{Fence: turn.Fence, Lost: l.lost, Release: turn.Release}, nil
}

func (l *losing) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	select {
	case <-l.lost:
		return 0, &session.PositionError{
			Key:  at.Key,
			Want: at.Fence,
			Have: at.Fence + 1,
			Err:  session.ErrFenced,
		}
	default:
		return l.Service.Append(ctx, at, events...)
	}
}

func TestRule11_BackgroundTakesATurnOfItsOwn(t *testing.T) {
	compute := make(chan struct{})
	var invocations []string
	var seen []string
	s := stage(
		t,
		says("hello"),
		&plugin.Plugin{
			Name:       "slow",
			Background: true,
			AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
				if inv.Input.Text() != "first" {
					return plugin.Outcome{}, nil
				}
				invocations = append(invocations, inv.ID)
				<-compute
				return emit("late"), nil
			},
		},
		spy("spy", &seen),
	)
	yielded, err := s.run("first")
	require.NoError(t, err)
	require.Equal(t, []string{"user: first", "bot: hello"}, yielded)
	_, err = s.run("second") // it does not wait for the background
	require.NoError(t, err)
	close(compute)
	require.NoError(t, s.close())
	require.Equal(t, "plugin/slow: late", s.log()[4])
	require.Equal(t, s.log(), seen, "emissions are offered, in the background too")
	require.Equal(t, invocations[0], s.events(session.Selection{})[4].InvocationID)
}

// Rule 12: agents and plugins read the same live view.
func TestRule12_OneLiveView(t *testing.T) {
	check := func(where string, s **scene, inv *session.Invocation) {
		var want []int64
		for _, e := range (*s).events(session.Selection{Live: true}) {
			want = append(want, e.Seq)
		}
		var have []int64
		for _, e := range inv.Live {
			have = append(have, e.Seq)
		}
		require.Equal(t, want, have, where)
		stored, err := (*s).sessions.Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, stored.State, inv.State, where)
		require.Equal(t, stored.Position, inv.Position, where)
		require.Equal(t, stored.Frontier, inv.Frontier, where)
	}
	var s *scene
	s = stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			for i := range 3 {
				e := session.Reply("step")
				e.Actions.StateDelta = map[string]any{
					"n":     float64(i),
					"app:n": float64(i),
					"mood":  nil,
				}
				e.Actions.StateIncrement = map[string]float64{"user:count": 2}
				yield(e, nil)
				check("agent", &s, h.Now())
			}
		}),
		&plugin.Plugin{
			Name: "compact",
			OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				check("OnEvent", &s, inv)
				if e.Text() == "step" && inv.State["n"] == 1.0 {
					return plugin.Outcome{
						Emit: []*session.Event{
							{
								Actions: session.Actions{
									Compaction: &session.Compaction{
										Through:  2,
										Keep:     []int64{1},
										Frontier: inv.Frontier,
									},
								},
							},
						},
					}, nil
				}
				if e.Text() == "undo" {
					return plugin.Outcome{
						Emit: []*session.Event{
							{Actions: session.Actions{Rewind: &session.Rewind{To: 2}}},
						},
						Withhold: true,
						Stop:     true,
					}, nil
				}
				return plugin.Outcome{}, nil
			},
			AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
				check("AfterRun", &s, inv)
				return plugin.Outcome{}, nil
			},
		},
	)
	_, err := s.run("hi")
	require.NoError(t, err)
	_, err = s.run("undo")
	require.NoError(t, err)
	require.Len(t, s.events(session.Selection{Live: true}), 2)
}

// Rule 6: the input's ID is the caller's, also if a plugin withholds the input.
func TestRule6_NobodySpeaksUnderTheInputsID(t *testing.T) {
	for _, hook := range []plugin.Hook{plugin.BeforeRun, plugin.OnEvent, plugin.AfterRun} {
		for _, withhold := range []bool{false, true} {
			if withhold && hook == plugin.AfterRun {
				continue
			}
			s := stage(
				t,
				says("hello"),
				plugin.FailOpen(failingIn(hook, func() (plugin.Outcome, error) {
					e := session.Message("forged")
					e.ID = "in"
					return plugin.Outcome{Emit: []*session.Event{e}, Withhold: withhold}, nil
				})),
			)
			in := session.Message("hi")
			in.ID = "in"
			var last error
			for _, err := range s.start().Run(ctx, key, in, s.cfg) {
				last = err
			}
			var failed *plugin.Error
			require.ErrorAs(t, last, &failed)
			require.Equal(t, hook, failed.Hook)
			require.ErrorIs(t, last, session.ErrIDReused, "%s %v", hook, withhold)
			for _, line := range s.log() {
				require.NotContains(t, line, "forged")
			}
		}
	}
}

func TestRule6_NorInTheBackground(t *testing.T) {
	var log bytes.Buffer
	s := stage(
		t,
		says("never"),
		on("gate", "hi",
			func(*session.Event) plugin.Outcome { return plugin.Outcome{Withhold: true} }),
		&plugin.Plugin{
			Name:       "late",
			Background: true,
			AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
				e := session.Message("forged")
				e.ID = "in"
				return plugin.Outcome{Emit: []*session.Event{e}}, nil
			},
		},
	)
	s.options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	in := session.Message("hi")
	in.ID = "in"
	for _, err := range s.start().Run(ctx, key, in, s.cfg) {
		require.NoError(t, err)
	}
	require.NoError(t, s.close())
	require.Empty(t, s.log())
	require.Contains(t, log.String(), session.ErrIDReused.Error())
}
