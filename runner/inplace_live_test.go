package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// asks returns an agent that has so many model requests built, and says a number after each. It
// keeps what the requests were made from.
func asks(n int, made *[]string) agent.Agent {
	return does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		for i := range n {
			req, err := h.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) {
				for _, e := range inv.Live {
					*made = append(*made, line(e))
				}
				return &model.Request{}, nil
			})
			if err != nil {
				yield(nil, err)
				return
			}
			if req != nil && !yield(session.Reply(fmt.Sprint(i)), nil) {
				return
			}
		}
	})
}

// Rule 9: what somebody changes in place in the log's events never gets to a model: whoever it is,
// and wherever the event comes from.
func TestRule9_AnEventThatWasChangedAfterItsAppend(t *testing.T) {
	change := func(e *session.Event) { e.Content.Parts[0].Text = "forged" }
	var held *session.Event
	inHook := func(when string, f func(inv *session.Invocation, e *session.Event)) []*plugin.Plugin {
		return []*plugin.Plugin{
			{
				Name: "bad",
				OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					if line(e) == when {
						f(inv, e)
					}
					return plugin.Outcome{}, nil
				},
			},
		}
	}
	for name, c := range map[string]struct {
		plugins []*plugin.Plugin
		caller  func(e *session.Event)
		id      string // of the event that was changed
	}{
		"an event from before the run": {inHook("user: hi", func(inv *session.Invocation, _ *session.Event) { change(inv.Live[0]) }), nil, "before"},
		"the input":                    {inHook("bot: 0", func(inv *session.Invocation, _ *session.Event) { change(inv.Live[1]) }), nil, "input"},
		"a field of it":                {inHook("bot: 0", func(inv *session.Invocation, _ *session.Event) { inv.Live[1].Author = "bot" }), nil, "input"},
		"one that was offered, later": {inHook("bot: 0", func(_ *session.Invocation, e *session.Event) {
			held = e
		}), func(e *session.Event) {
			if held != nil {
				change(held)
			}
		}, ""},
		"another one in its place": {inHook("bot: 0", func(inv *session.Invocation, _ *session.Event) {
			inv.Live[1] = with(inv.Live[1], "forged")
		}), nil, "input"},
		"none in its place": {inHook("bot: 0", func(inv *session.Invocation, _ *session.Event) { inv.Live[1] = nil }), nil, "input"},
		"by the caller": {nil, func(e *session.Event) {
			if e.ID == "input" {
				change(e)
			}
		}, "input"},
		"by BeforeRun": {[]*plugin.Plugin{{Name: "bad", BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			change(inv.Input)
			return plugin.Outcome{}, nil
		}}}, nil, "input"},
		"by BeforeModel": {[]*plugin.Plugin{{Name: "bad", BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
			change(inv.Live[0])
			return plugin.Outcome{}, nil
		}}}, nil, "before"},
	} {
		t.Run(name, func(t *testing.T) {
			var made, atTheEnd []string
			held = nil
			end := &plugin.Plugin{
				Name: "end",
				AfterRun: func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
					require.Equal(t, plugin.EndFailed, end.Kind)
					for _, e := range inv.Live {
						atTheEnd = append(atTheEnd, line(e))
					}
					return plugin.Outcome{}, nil
				},
			}
			s := stage(t, asks(3, &made), append(c.plugins, end)...)
			before := session.Message("before")
			before.ID = "before"
			_, err := s.sessions.Append(ctx, session.AppendTarget{Key: key}, before)
			require.NoError(t, err)
			input := session.Message("hi")
			input.ID = "input"
			for e, failed := range s.start().Run(ctx, key, input, s.cfg) {
				err = failed
				if e != nil && c.caller != nil {
					c.caller(e)
				}
			}
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.ErrorContains(t, err, `event "`+c.id)
			require.NotContains(t, made, "user: forged")
			require.NotContains(t, made, "bot: forged")
			require.Equal(t, s.log(), atTheEnd, "AfterRun sees the log")
			require.Equal(t, []string{"user: before", "user: hi"}, s.log()[:2])
		})
	}
}

// Of a long session each run looks at a sample, and at all that it has added, again and again.
func TestAnEventThatWasChangedInALongSession(t *testing.T) {
	const events = 1000
	long := func(t *testing.T, requests int, bad func(inv *session.Invocation)) error {
		var made []string
		s := stage(t, asks(requests, &made),
			on("bad", "99", func(*session.Event) plugin.Outcome { return plugin.Outcome{} }))
		s.plugins[0].OnEvent = func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() == "99" {
				bad(inv)
			}
			return plugin.Outcome{}, nil
		}
		var log []*session.Event
		for range events {
			log = append(log, session.Message("before"))
		}
		_, err := s.sessions.Append(ctx, session.AppendTarget{Key: key}, log...)
		require.NoError(t, err)
		_, err = s.run("hi")
		return err
	}
	change := func(e *session.Event) { e.Content.Parts[0].Text = "forged" }
	for name, bad := range map[string]func(inv *session.Invocation){
		"all of them": func(inv *session.Invocation) {
			for _, e := range inv.Live {
				change(e)
			}
		},
		"the last one from before": func(inv *session.Invocation) { change(inv.Live[events-1]) },
		"one of this run":          func(inv *session.Invocation) { change(inv.Live[events+40]) },
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, long(t, 110, bad), plugin.ErrInPlace)
		})
	}
	require.NoError(t, long(t, 110, func(*session.Invocation) {}))
}

// What a compaction keeps is compared after it, too.
func TestAnEventThatWasChangedAfterACompaction(t *testing.T) {
	var made []string
	compacts := on("compactor", "1", func(*session.Event) plugin.Outcome {
		c := &session.Compaction{
			Through: 2,
			Keep:    []int64{1},
			Content: genai.NewContentFromText("summary", genai.RoleUser),
		}
		return plugin.Outcome{Emit: []*session.Event{{Actions: session.Actions{Compaction: c}}}}
	})
	for name, bad := range map[string]func(live []*session.Event){
		"what is kept": func(live []*session.Event) { live[1].Content.Parts[0].Text = "forged" },
		"the summary":  func(live []*session.Event) { live[0].Actions.Compaction.Content.Parts[0].Text = "forged" },
	} {
		t.Run(name, func(t *testing.T) {
			changes := &plugin.Plugin{
				Name: "bad",
				OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
					if e.Text() == "3" {
						bad(inv.Live)
					}
					return plugin.Outcome{}, nil
				},
			}
			s := stage(t, asks(6, &made), compacts, changes)
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.Equal(t, "bot: 3", s.log()[len(s.log())-1])
		})
	}
}

// The state that hooks are given is compared, too: before a request is built, and before an event
// changes it.
func TestStateThatWasChangedInPlace(t *testing.T) {
	sets := does(func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
		_ = yield(session.Reply("0"), nil) &&
			yield(&session.Event{Actions: session.Actions{StateDelta: map[string]any{"k": "v"}}},
				nil)
	})
	for name, bad := range map[string]func(state map[string]any){
		"a key":          func(state map[string]any) { state["mood"] = "bad" },
		"within a value": func(state map[string]any) { state["list"].([]any)[0] = "bad" },
		"another key":    func(state map[string]any) { delete(state, "mood"); state["moot"] = "fine" },
	} {
		for how, bot := range map[string]agent.Agent{"a request": asks(2, new([]string)), "a delta": sets} {
			t.Run(name+", "+how, func(t *testing.T) {
				s := stage(t, bot, &plugin.Plugin{
					Name: "bad",
					OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						if e.Text() == "0" {
							bad(inv.State)
						}
						return plugin.Outcome{}, nil
					},
				})
				_, err := s.sessions.Append(
					ctx,
					session.AppendTarget{Key: key},
					&session.Event{Author: "bot",
						Actions: session.Actions{
							StateDelta: map[string]any{"list": []any{"fine"}},
						}},
				)
				require.NoError(t, err)
				_, err = s.run("hi")
				require.ErrorIs(t, err, plugin.ErrInPlace)
				require.ErrorContains(t, err, "the state")
				now, err := s.sessions.Get(ctx, key)
				require.NoError(t, err)
				require.Equal(t, map[string]any{"mood": "fine", "list": []any{"fine"}}, now.State)
			})
		}
	}
}
