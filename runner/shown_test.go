package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/session"
)

// chunk is a partial event of an agent.
func chunk(text string) *session.Event {
	e := session.Reply(text)
	e.Partial = true
	return e
}

// streams returns an agent that yields chunks. Then it waits until it is cancelled.
func streams(chunks ...string) agent.Agent {
	return does(func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
		for _, text := range chunks {
			if !yield(chunk(text), nil) {
				return
			}
		}
		<-ctx.Done()
	})
}

// marks returns the log's interrupted events in the form of line.
func (s *scene) marks() []string {
	var list []string
	for _, e := range s.events(session.Selection{}) {
		if e.Interrupted {
			list = append(list, line(e))
		}
	}
	return list
}

// A way for a caller to go once it was shown so many partial events.
var waysToGo = map[string]func(s *scene, after int) (yielded []*session.Event, err error){
	"cancel": func(s *scene, after int) (yielded []*session.Event, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for e, err := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
			if err != nil {
				return yielded, err
			}
			yielded = append(yielded, e)
			if e.Partial {
				after--
			}
			if after == 0 {
				cancel()
			}
		}
		return yielded, nil
	},
	"leave": func(s *scene, after int) (yielded []*session.Event, err error) {
		for e, err := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
			if err != nil {
				return yielded, err
			}
			yielded = append(yielded, e)
			if e.Partial {
				after--
			}
			if after == 0 {
				break
			}
		}
		return yielded, nil
	},
	"panic": func(s *scene, after int) (yielded []*session.Event, err error) {
		defer func() { _ = recover() }()
		for e, err := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
			if err != nil {
				return yielded, err
			}
			yielded = append(yielded, e)
			if e.Partial {
				after--
			}
			if after == 0 {
				panic("the caller's")
			}
		}
		return yielded, nil
	},
}

// Rule 8: what a caller was shown of an answer that never became whole is in the log, marked as
// interrupted: in process and out of it.
func TestRule8_WhatWasShownOfAnAnswerThatBrokeOffIsKept(t *testing.T) {
	for way, leaves := range waysToGo {
		for where, wrap := range map[string]func(*plugin.Plugin) *plugin.Plugin{"in process": nil, "as a process": remote.Loopback} {
			t.Run(way+" "+where, func(t *testing.T) {
				var seen, atTheEnd []string
				watcher := spy("watcher", &seen)
				watcher.AfterRun = func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
					for _, e := range inv.Live {
						atTheEnd = append(atTheEnd, line(e))
					}
					return plugin.Outcome{}, nil
				}
				if wrap != nil {
					watcher = wrap(watcher)
				}
				s := stage(t, streams("Once ", "upon ", "a time"), watcher)
				s.cfg.Streaming = session.SSE
				yielded, err := leaves(s, 2)
				require.Equal(t, []string{"user: hi", "bot: Once upon "}, s.log())
				require.Equal(t, []string{"bot: Once upon "}, s.marks())
				require.Equal(t, "bot: Once upon ", seen[len(seen)-1], "it is offered")
				require.Equal(t, []string{"user: hi", "bot: Once upon "}, atTheEnd,
					"AfterRun sees it")

				// It is the event that the partial events led to.
				kept := s.events(session.Selection{})[1]
				require.Equal(t, yielded[1].ID, kept.ID)
				require.Equal(t, yielded[1].InvocationID, kept.InvocationID)
				require.Equal(t, genai.RoleModel, kept.Content.Role)
				require.False(t, kept.Partial)

				// A caller who is still there gets it before the error.
				if way == "cancel" {
					require.ErrorIs(t, err, context.Canceled)
					require.Equal(t, kept.ID, yielded[len(yielded)-1].ID)
					require.True(t, yielded[len(yielded)-1].Interrupted)
				} else {
					require.NoError(t, err)
					require.Len(t, yielded, 3)
				}
			})
		}
	}
}

// Nothing that plugins held back is kept, and nothing that nobody was shown.
func TestWhatWasHeldBackOfAnAnswerThatBrokeOffIsNotKept(t *testing.T) {
	partials := func(answer func(e *session.Event) plugin.Outcome) *plugin.Plugin {
		return &plugin.Plugin{
			Name:     "p",
			Partials: true,
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if e.Author != "bot" {
					return plugin.Outcome{}, nil
				}
				return answer(e), nil
			},
		}
	}
	for name, c := range map[string]struct {
		plugin *plugin.Plugin
		want   []string
	}{
		"a chunk is withheld": {partials(func(e *session.Event) plugin.Outcome {
			return plugin.Outcome{Withhold: strings.Contains(e.Text(), "secret")}
		}), []string{"bot: it is  so"}},
		"a chunk is changed": {partials(func(e *session.Event) plugin.Outcome {
			if !strings.Contains(e.Text(), "secret") {
				return plugin.Outcome{}
			}
			return plugin.Outcome{Replace: with(e, "[X]")}
		}), []string{"bot: it is [X] so"}},
		"what was shown is withheld": {partials(func(e *session.Event) plugin.Outcome {
			return plugin.Outcome{Withhold: e.Interrupted}
		}), nil},
		"what was shown is changed": {partials(func(e *session.Event) plugin.Outcome {
			if !e.Interrupted {
				return plugin.Outcome{}
			}
			return plugin.Outcome{Replace: with(e, "gone")}
		}), []string{"bot: gone"}},
		"no chunk may be shown": {on("p", "x", nil), nil},
		"nothing was shown":     {partials(func(*session.Event) plugin.Outcome { return plugin.Outcome{Withhold: true} }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			bot := does(
				func(ctx context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
					for _, text := range []string{"it is ", "secret", " so"} {
						if !yield(chunk(text), nil) {
							return
						}
					}
					thought := chunk("hm")
					thought.Content.Parts[0].Thought = true
					yield(thought, nil)
					yield(nil, errors.New("the network is gone"))
				},
			)
			s := stage(t, bot, c.plugin)
			s.cfg.Streaming = session.SSE
			_, err := s.run("hi")
			require.ErrorContains(t, err, "the network is gone")
			require.Equal(t, c.want, s.marks())
			require.Len(t, s.log(), 1+len(c.want))
		})
	}
}

// A whole event counts, and so does the word of a plugin that ended the run.
func TestOnlyAnAnswerThatBrokeOffIsMarked(t *testing.T) {
	fails := &plugin.Plugin{
		Name:     "p",
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() == "b" {
				return plugin.Outcome{}, errors.New("oops")
			}
			return plugin.Outcome{}, nil
		},
	}
	stops := &plugin.Plugin{
		Name:     "p",
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() == "b" {
				return plugin.Deny("no", "because"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
	for name, c := range map[string]struct {
		agent   agent.Agent
		plugins []*plugin.Plugin
		log     []string
	}{
		"the agent is done":         {says("=a", "ab"), nil, []string{"user: hi", "bot: ab"}},
		"it never made it whole":    {says("=a"), nil, []string{"user: hi"}},
		"a plugin stops the stream": {says("=a", "=b", "ab"), []*plugin.Plugin{stops}, []string{"user: hi", "plugin/p: no"}},
		"a plugin fails":            {says("=a", "=b", "ab"), []*plugin.Plugin{fails}, []string{"user: hi"}},
		"the agent fails after it": {does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			_ = yield(chunk("a"), nil) && yield(session.Reply("ab"), nil) && yield(nil, errors.New("oops"))
		}), nil, []string{"user: hi", "bot: ab"}},
		"blanks only": {does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			_ = yield(chunk(" \n"), nil) && yield(nil, errors.New("oops"))
		}), nil, []string{"user: hi"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t, c.agent, c.plugins...)
			s.cfg.Streaming = session.SSE
			_, _ = s.run("hi")
			require.Equal(t, c.log, s.log())
			require.Empty(t, s.marks())
		})
	}
}

// Agents that speak at once each have their own.
func TestAnswersThatBrokeOffInBranches(t *testing.T) {
	bot := does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		speaks := func(name string) agent.Part {
			return func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
				for i := range 2 {
					e := chunk(fmt.Sprint(name, i, " "))
					e.Author, e.Branch = name, name
					if !yield(e, nil) {
						return
					}
				}
				<-ctx.Done()
			}
		}
		agent.Together(ctx, h, yield, speaks("a"), speaks("b"))
	})
	s := stage(t, bot)
	s.cfg.Streaming = session.SSE
	_, _ = waysToGo["leave"](s, 4)
	var got []string
	for _, e := range s.events(session.Selection{}) {
		got = append(got, e.Branch+"|"+line(e))
	}
	require.ElementsMatch(t, []string{"|user: hi", "a|a: a0 a1 ", "b|b: b0 b1 "}, got)
}

// A runner that is closed keeps what was shown, too.
func TestClosedWhileAnAnswerIsStreamed(t *testing.T) {
	s := stage(t, streams("Once ", "upon "))
	s.cfg.Streaming = session.SSE
	closed := make(chan error, 1)
	n := 0
	for e := range s.start().Run(ctx, key, session.Message("hi"), s.cfg) {
		if e == nil || !e.Partial {
			continue
		}
		n++
		if n == 2 {
			go func() {
				done, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				closed <- s.runner.Close(done)
			}()
		}
	}
	require.ErrorContains(t, <-closed, "was cancelled")
	require.Equal(t, []string{"user: hi", "bot: Once upon "}, s.log())
}

// Who asks again with the same input gets the beginning, and the run goes on from there.
func TestRetriedInputGoesOnAfterAnAnswerThatBrokeOff(t *testing.T) {
	runs := 0
	bot := does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		runs++
		if runs == 1 {
			_ = yield(chunk("Once "), nil) && yield(chunk("upon "), nil)
			return
		}
		require.Equal(t, "Once upon ", h.Now().Live[1].Text())
		yield(session.Reply("a time"), nil)
	})
	s := stage(t, bot)
	s.cfg.Streaming = session.SSE
	input := session.Message("hi")
	input.ID = "mine"
	for e := range s.start().Run(ctx, key, input, s.cfg) {
		if e.Text() == "upon " {
			break
		}
	}
	want := []string{"user: hi", "bot: Once upon ", "bot: a time"}
	for range 2 {
		var got []string
		for e, err := range s.start().Run(ctx, key, input, s.cfg) {
			require.NoError(t, err)
			got = append(got, line(e))
		}
		require.Equal(t, want, got)
	}
	require.Equal(t, want, s.log())
	require.Equal(t, 2, runs)
}
