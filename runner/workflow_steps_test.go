package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// ofNode returns an event of a node's run in the workflow's run desk@i.
func ofNode(path string, ended bool) *session.Event {
	return &session.Event{NodeInfo: &session.NodeInfo{Path: path, Ended: ended}}
}

// An input that is put in again goes on with a workflow whose run is open, and with no other.
func TestRepeatedInputOfAWorkflow(t *testing.T) {
	failed := ofNode("desk@i", false)
	failed.Author = "desk"
	failed.ErrorCode = "NODE_FAILED"
	said := ofNode("desk@i/sort@1", false)
	said.Content = session.Reply("working on it").Content
	response := ofNode("desk@i", true)
	response.Content = session.Respond(&genai.FunctionCall{ID: "c", Name: "f"},
		map[string]any{"ok": true}).Content
	for name, c := range map[string]struct {
		log    []*session.Event
		goesOn bool
	}{
		"a step":                       {[]*session.Event{said}, true},
		"a step that has ended":        {[]*session.Event{ofNode("desk@i/sort@1", true)}, true},
		"an answer beside a step":      {[]*session.Event{said, session.Reply("beside it")}, true},
		"the end":                      {[]*session.Event{ofNode("desk@i/sort@1", true), ofNode("desk@i", true)}, false},
		"an end with a response alone": {[]*session.Event{response}, false},
		"a failure":                    {[]*session.Event{said, failed}, false},
		"a step after a failure":       {[]*session.Event{failed, ofNode("desk@i/sort@1", true)}, true},
		"another kit's step":           {[]*session.Event{ofNode("desk@1/sort@1", false)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			s := stage(t, agent.New(
				"desk",
				"",
				does(
					func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
						runs++
						for _, e := range c.log {
							if runs > 1 || !yield(e.Clone(), nil) {
								return
							}
						}
					},
				).Run,
			))
			first, err := s.give(ctx, asked("i", session.Message("go").Content.Parts...))
			require.NoError(t, err)
			again, err := s.give(ctx, asked("i", session.Message("go").Content.Parts...))
			require.NoError(t, err)
			require.Equal(t, first, again)
			want := 1
			if c.goesOn {
				want = 2
			}
			require.Equal(t, want, runs)
		})
	}
}

// A plugin changes what a node hands on, and neither which node it is nor whether it has ended. The
// next node, hooks and the log have the same JSON values. A caller cannot say what a node has done.
func TestReplacedOutputOfANode(t *testing.T) {
	replaces := &plugin.Plugin{
		Name: "r",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Output == nil {
				return plugin.Outcome{}, nil
			}
			require.Equal(t, map[string]any{"n": 1.0}, e.Output, "hooks see JSON values")
			c := session.Reply("") // built anew
			c.Output = []int{2}
			c.NodeInfo = &session.NodeInfo{Path: "desk@i/other@1"}
			return plugin.Outcome{Replace: c}, nil
		},
	}
	var seen any
	s := stage(
		t,
		does(func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
			e := ofNode("bot@i/sort@1", true)
			e.NodeInfo.OutputFor = []string{"bot@i/sort@1"}
			e.Output = struct {
				N int `json:"n"`
			}{1}
			e.Actions.Route = []string{"a"}
			if yield(e, nil) {
				live := h.Now().Live
				seen = live[len(live)-1].Output
			}
		}),
		replaces,
	)
	in := asked("i", session.Message("go").Content.Parts...)
	in.NodeInfo = &session.NodeInfo{Path: "bot@i/sort@1", Ended: true}
	_, err := s.give(ctx, in)
	require.NoError(t, err)
	log := s.events(session.Selection{})
	require.Nil(t, log[0].NodeInfo)
	end := log[1]
	require.Equal(t, []any{2.0}, seen)
	require.Equal(t, []any{2.0}, end.Output)
	require.Equal(t,
		&session.NodeInfo{Path: "bot@i/sort@1", OutputFor: []string{"bot@i/sort@1"}, Ended: true},
		end.NodeInfo)
	require.Nil(t, end.Actions.Route, "the replacement has none")
}
