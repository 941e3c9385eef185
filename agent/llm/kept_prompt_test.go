package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// What a runner keeps from one run to the next changes no request and no event: whatever others append,
// rewind and compact between the runs, with calls that wait and answers to them, and with plugins that
// replace events and write into the requests that they are given.
func TestWhatIsKeptChangesNoRequest(t *testing.T) {
	asked := 0
	rapid.Check(t, func(rt *rapid.T) {
		sessions := memory.New()
		_, err := sessions.Create(ctx, key, nil)
		require.NoError(rt, err)
		logAfter := func(sessions session.Service, after int64) []*session.Event {
			log, err := session.ReadAll(ctx, sessions, key, session.Selection{After: after})
			require.NoError(rt, err)
			return log
		}
		put := func(events ...*session.Event) {
			s, err := sessions.Get(ctx, key)
			require.NoError(rt, err)
			_, err = sessions.Append(ctx, session.AppendTarget{Key: key, After: s.Position}, events...)
			require.True(rt, err == nil || errors.Is(err, session.ErrInvalid))
		}
		talk := make([]*session.Event, 150) // so many that something is kept
		for i := range talk {
			talk[i] = session.Message(fmt.Sprint("question ", i))
		}
		put(talk...)
		keeps := newTwoAgents(rt, sessions, 0)
		rt.Repeat(map[string]func(*rapid.T){
			"run": func(rt *rapid.T) {
				var input *session.Event
				if rapid.Bool().Draw(rt, "with an input") {
					input = session.Message(rapid.SampledFrom([]string{"hi", "replace me"}).Draw(rt, "input"))
				}

				// A runner that keeps nothing does the same on a copy of the session.
				before := logAfter(sessions, 0)
				copied := memory.New()
				_, err := copied.Create(ctx, key, nil)
				require.NoError(rt, err)
				_, err = copied.Append(ctx, session.AppendTarget{Key: key}, before...)
				require.NoError(rt, err)
				fresh := newTwoAgents(rt, copied, -1)
				want := fresh.run(rt, input)
				require.NoError(rt, fresh.runner.Close(ctx))

				got := keeps.run(rt, input)
				asked += len(got)
				require.Equal(rt, want, got)
				now := logAfter(sessions, int64(len(before)))
				then := logAfter(copied, int64(len(before)))
				require.Len(rt, now, len(then))
				for i, e := range now {
					require.Equal(rt, then[i].Content, e.Content)
				}
			},
			"append": func(rt *rapid.T) {
				for range rapid.IntRange(1, 4).Draw(rt, "events") {
					before := logAfter(sessions, 0)
					e := drawEvent(rt, before)
					if r := e.Actions.Rewind; r != nil { // enough stays to be kept
						r.To = max(r.To, int64(len(before))-8)
					}
					if c := e.Actions.Compaction; c != nil {
						c.Through = min(c.Through, 20)
						c.Keep = slices.DeleteFunc(c.Keep, func(seq int64) bool { return seq > c.Through })
					}
					put(e)
				}
			},
		})
		require.NoError(rt, keeps.runner.Close(ctx))
	})
	require.Positive(t, asked)
}

// twoAgents are the agent "bot" and "other", which bot hands over to, in a runner.
type twoAgents struct {
	runner *runner.Runner
	models []*fake
}

func newTwoAgents(t require.TestingT, sessions session.Service, keptViews int64) *twoAgents {
	two := &twoAgents{}
	make := func(name string, subs ...agent.Agent) agent.Agent {
		m := answers()
		two.models = append(two.models, m)
		a, err := llm.New(llm.Config{
			Name:      name,
			Model:     m,
			SubAgents: subs,
			Tools: []*tool.Tool{does("f",
				func(context.Context, *tool.Call) (map[string]any, error) {
					return map[string]any{"ok": true}, nil
				})},
		})
		require.NoError(t, err)
		return a
	}
	edits := &plugin.Plugin{
		Name: "edits",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() != "replace me" {
				return plugin.Outcome{}, nil
			}
			c := e.Clone()
			c.Content.Parts[0].Text = "replaced"
			return plugin.Outcome{Replace: c}, nil
		},
		BeforeModel: func(_ context.Context, _ *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			for i, c := range req.Contents {
				if i%3 > 0 {
					continue
				}
				c.Role = "forged"
				c.Parts[0].Text += "forged"
				c.Parts = append(c.Parts, &genai.Part{Text: "more"})
			}
			return plugin.Outcome{}, nil
		},
	}
	var err error
	two.runner, err = runner.New(runner.Options{
		Agent:     make("bot", make("other")),
		Sessions:  sessions,
		Plugins:   []*plugin.Plugin{edits},
		KeptViews: keptViews,
	})
	require.NoError(t, err)
	return two
}

// run runs an input, and returns what the models were asked.
func (two *twoAgents) run(t require.TestingT, input *session.Event) []string {
	for _, m := range two.models {
		m.asked = nil
		m.answers = []any{calls("f", `{}`), "done"}
	}
	for _, err := range two.runner.Run(ctx, key, input, session.RunConfig{}) {
		require.NoError(t, err)
	}
	var asked []string
	for _, m := range two.models {
		for _, req := range m.asked {
			asked = append(asked, req.Agent+"\n"+shown(req))
		}
	}
	return asked
}
