package runner_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

// judge denies what users say with the word "bad" in it, and counts what it was asked.
func judge(asked *int) *plugin.Plugin {
	return &plugin.Plugin{
		Name: "judge",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || e.Content == nil {
				return plugin.Outcome{}, nil
			}
			*asked++
			if strings.Contains(e.Text(), "bad") {
				return plugin.Deny("No.", "bad words"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
}

func named(id, text string) *session.Event {
	e := session.Message(text)
	e.ID = id
	return e
}

// An input that was withheld is in the log by name only: who sends it again is told what was said
// in its place, and nobody judges it again; other content with its ID is refused.
func TestAWithheldInputAgain(t *testing.T) {
	judged := 0
	s := stage(t, says("ok"), judge(&judged))
	first, err := s.give(ctx, named("i", "a bad word"))
	require.NoError(t, err)
	require.Equal(t, []string{"plugin/judge: No."}, first)
	e := s.events(session.Selection{})[0]
	require.Equal(t, "i", plugin.NotesOf(e).Input.ID)
	require.Len(t, plugin.NotesOf(e).Input.Digest, 4)

	again, err := s.give(ctx, named("i", "a bad word"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = s.give(ctx, named("i", "a good word"))
	require.ErrorIs(t, err, session.ErrIDReused)
	require.Equal(t, 1, judged)
	require.Len(t, s.log(), 1)

	// Other inputs between them change nothing.
	_, err = s.give(ctx, named("j", "a good word"))
	require.NoError(t, err)
	again, err = s.give(ctx, named("i", "a bad word"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 2, judged)

	// A session file has the note, too.
	var file bytes.Buffer
	require.NoError(t, session.Export(ctx, s.sessions, key, &file))
	require.NoError(t, s.sessions.Delete(ctx, key))
	for rec, err := range session.ReadRecordings("file", &file) {
		require.NoError(t, err)
		require.NoError(t, session.Import(ctx, s.sessions, rec))
	}
	again, err = s.give(ctx, named("i", "a bad word"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 2, judged)
}

// An input without an ID cannot be sent again, so nothing is noted of it.
func TestNoNoteOfAnInputWithoutAnID(t *testing.T) {
	judged := 0
	s := stage(t, says("ok"), judge(&judged))
	_, err := s.run("bad")
	require.NoError(t, err)
	require.Nil(t, plugin.NotesOf(s.events(session.Selection{})[0]).Input)
}

// The same input in other Go types is the same, also where the log has only its digest.
func TestTheDigestOfAWithheldInput(t *testing.T) {
	say := func(n any) *session.Event {
		e := named("i", "a bad word")
		e.Actions.StateDelta = map[string]any{"n": n}
		return e
	}
	judged := 0
	s := stage(t, says("ok"), judge(&judged))
	first, err := s.give(ctx, say(1))
	require.NoError(t, err)
	again, err := s.give(ctx, say(1.0))
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = s.give(ctx, say(2))
	require.ErrorIs(t, err, session.ErrIDReused)
	require.Equal(t, 1, judged)
}

// A refusal that was rewound, or that a summary stands for, is not live: the input is judged again.
func TestAWithheldInputWhoseRefusalIsGone(t *testing.T) {
	for name, command := range map[string]session.Command{
		"rewound":   rewind.To(0),
		"compacted": {Name: "cover"},
	} {
		t.Run(name, func(t *testing.T) {
			judged := 0
			cover := &plugin.Plugin{
				Name: "cover",
				OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					if c, ok := e.Command(); !ok || c.Name != "cover" {
						return plugin.Outcome{}, nil
					}
					summary := &session.Event{
						Actions: session.Actions{
							Compaction: &session.Compaction{
								Through: inv.Position,
								Content: session.Message("so far").Content,
							},
						},
					}
					return plugin.Outcome{
						Emit:     []*session.Event{summary},
						Withhold: true,
						Stop:     true,
					}, nil
				},
			}
			s := stage(t, says("ok"), judge(&judged), cover)
			s.plugins = append(s.plugins, rewind.New(s.sessions))
			first, err := s.give(ctx, named("i", "a bad word"))
			require.NoError(t, err)
			_, err = s.give(ctx, command.Event())
			require.NoError(t, err)
			again, err := s.give(ctx, named("i", "a bad word"))
			require.NoError(t, err)
			require.Equal(t, first, again)
			require.Equal(t, 2, judged)
			_, err = s.give(ctx, named("i", "a bad word"))
			require.NoError(t, err)
			require.Equal(t, 2, judged)
		})
	}
}

// A plugin that withholds the input without a word leaves nothing in the log, unless something is
// said later in the run: then that names the input.
func TestAWithheldInputWithoutARefusal(t *testing.T) {
	offered := 0
	mute := &plugin.Plugin{
		Name: "mute",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User {
				return plugin.Outcome{}, nil
			}
			offered++
			return plugin.Outcome{Withhold: true}, nil
		},
	}
	count := &plugin.Plugin{
		Name: "count",
		AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
			if len(inv.Live) > 0 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					{Actions: session.Actions{StateDelta: map[string]any{"n": 1}}},
				},
			}, nil
		},
	}
	for _, plugins := range [][]*plugin.Plugin{{mute}, {mute, count}} {
		offered = 0
		s := stage(t, says("never"), plugins...)
		for range 2 {
			_, err := s.give(ctx, named("i", "hi"))
			require.NoError(t, err)
		}
		require.Equal(t, 3-len(plugins), offered)
		require.Len(t, s.log(), len(plugins)-1)
	}
}

// An input that could not be judged, or that was refused with an error, is no answered input,
// whatever plugins say after the run.
func TestAnInputThatFailedIsJudgedAgain(t *testing.T) {
	fails := true
	faulty := &plugin.Plugin{
		Name: "faulty",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if fails && e.Author == session.User {
				return plugin.Outcome{}, errors.New("no connection")
			}
			return plugin.Outcome{}, nil
		},
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			return plugin.Outcome{
				Emit: []*session.Event{
					{Actions: session.Actions{StateDelta: map[string]any{"n": 1}}},
				},
			}, nil
		},
	}
	s := stage(t, says("ok"), faulty)
	_, err := s.give(ctx, named("i", "hi"))
	require.Error(t, err)
	fails = false
	again, err := s.give(ctx, named("i", "hi"))
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "bot: ok", "plugin/faulty: "}, again)
}

// Somebody cancels a run. Its input, sent again, is told as cancelled, and nothing is done. Who
// asks for it goes on, with a run without an input.
func TestACancelledRunAgain(t *testing.T) {
	call := session.Reply("")
	call.Content.Parts = []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "f"}}}
	half := session.Reply("ha")
	half.Partial = true
	for name, before := range map[string][]*session.Event{
		"before it said anything": nil,
		"within its answer":       {half},
		"with a call under way":   {call},
		"after half of its words": {session.Reply("first"), half},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			var s *scene
			s = stage(t, does(
				func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					if runs++; runs > 1 {
						yield(session.Reply("whole"), nil)
						return
					}
					for _, e := range before {
						if !yield(e.Clone(), nil) {
							return
						}
					}
					go s.sessions.Cancel(context.Background(), key, "i")
					<-ctx.Done()
					yield(nil, context.Cause(ctx))
				},
			))
			s.cfg.Streaming = session.SSE
			var ends []plugin.End
			s.plugins = []*plugin.Plugin{
				{
					Name: "ends",
					AfterRun: func(_ context.Context, _ *session.Invocation, end plugin.End) (plugin.Outcome, error) {
						ends = append(ends, end)
						return plugin.Outcome{}, nil
					},
				},
			}
			_, err := s.give(ctx, named("i", "hi"))
			require.ErrorIs(t, err, session.ErrCancelled)
			log := s.log()
			last := s.events(session.Selection{Last: 1})[0]
			require.Equal(t, session.Cancelled, last.ErrorCode)
			require.Equal(t, session.User, last.Author)
			require.Equal(t, "i", last.InvocationID)

			again, err := s.give(ctx, named("i", "hi"))
			require.ErrorIs(t, err, session.ErrCancelled)
			require.Equal(t, log, again)
			require.Equal(t, log, s.log())
			require.Equal(t, 1, runs)
			require.Equal(t, []plugin.EndKind{plugin.EndCancelled, plugin.EndCancelled},
				[]plugin.EndKind{ends[0].Kind, ends[1].Kind})
			_, err = s.give(ctx, named("i", "ho"))
			require.ErrorIs(t, err, session.ErrIDReused)

			more, err := s.give(ctx, nil)
			require.NoError(t, err)
			require.Equal(t, "bot: whole", more[len(more)-1])
			again, err = s.give(ctx, named("i", "hi"))
			require.ErrorIs(t, err, session.ErrCancelled, "it is what became of that run")
			require.Equal(t, log, again)
		})
	}
}

// A run that was cancelled before its input was in the log is told as cancelled, too.
func TestARunThatWasCancelledBeforeItsInput(t *testing.T) {
	var s *scene
	slow := &plugin.Plugin{
		Name: "slow",
		OnEvent: func(ctx context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Content == nil {
				return plugin.Outcome{}, nil
			}
			go s.sessions.Cancel(context.Background(), key, "i")
			<-ctx.Done()
			return plugin.Outcome{}, context.Cause(ctx)
		},
	}
	s = stage(t, says("never"), slow)
	_, err := s.give(ctx, named("i", "hi"))
	require.ErrorIs(t, err, session.ErrCancelled)
	require.Equal(t, []string{"user: "}, s.log())
	again, err := s.give(ctx, named("i", "hi"))
	require.ErrorIs(t, err, session.ErrCancelled)
	require.Equal(t, []string{"user: "}, again)
	_, err = s.give(ctx, named("i", "ho"))
	require.ErrorIs(t, err, session.ErrIDReused)
	require.Len(t, s.log(), 1)
}
