package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Rule 7: nobody assigns to the fields of an invocation. Otherwise the plugins that come later
// would judge by what somebody has made up.
func TestRule7_AnInvocationWhoseFieldsAreAssigned(t *testing.T) {
	for name, forge := range map[string]func(*session.Invocation){
		"state of the same length": func(inv *session.Invocation) { inv.State = map[string]any{"mood": "forged"} },
		"no state":                 func(inv *session.Invocation) { inv.State = nil },
		"live view":                func(inv *session.Invocation) { inv.Live = nil },
		"input":                    func(inv *session.Invocation) { inv.Input = nil },
		"tools":                    func(inv *session.Invocation) { inv.Offered = nil },
		"key":                      func(inv *session.Invocation) { inv.Key.User = "eve" },
	} {
		var seen []string // what a plugin behind it is given
		guard := &plugin.Plugin{
			Name: "guard",
			OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				input := ""
				if inv.Input != nil {
					input = line(inv.Input)
				}
				seen = append(seen, fmt.Sprint(line(e), " after ", len(inv.Live), " ", input,
					inv.State, inv.Key.User))
				return plugin.Outcome{}, nil
			},
		}
		const input, answer = "user: hi after 0 map[mood:fine]ann", "bot: hello after 1 user: himap[mood:fine]ann"
		bad := &plugin.Plugin{
			Name: "bad",
			OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if line(e) == "bot: hello" {
					forge(inv)
				}
				return plugin.Outcome{}, nil
			},
		}
		t.Run(name+", by a hook", func(t *testing.T) {
			seen = nil
			_, err := stage(t, says("hello"), bad, guard).run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.Equal(t, []string{input}, seen)
		})
		t.Run(name+", by an agent", func(t *testing.T) {
			seen = nil
			s := stage(
				t,
				does(
					func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
						forge(h.Now())
						yield(session.Reply("hello"), nil)
					},
				),
				guard,
			)
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.ErrorContains(t, err,
				"A hook, a tool or an agent that was given it has assigned to its fields")
			require.Equal(t, []string{input}, seen)
			require.Equal(t, []string{"user: hi"}, s.log())
		})
		t.Run(name+", before a model request", func(t *testing.T) {
			built := 0
			s := stage(t, does(
				func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
					forge(h.Now())
					_, err := h.BeforeModel(ctx, func(*session.Invocation) (*model.Request, error) {
						built++
						return &model.Request{}, nil
					})
					yield(nil, err)
				},
			))
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.Zero(t, built)
		})
		t.Run(name+", at the end", func(t *testing.T) {
			var atTheEnd *session.Invocation
			end := &plugin.Plugin{
				Name: "end",
				AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
					atTheEnd = inv
					return plugin.Outcome{}, nil
				},
			}
			s := stage(
				t,
				does(
					func(_ context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
						if yield(session.Reply("hello"), nil) {
							forge(h.Now())
						}
					},
				),
				guard,
				end,
			)
			seen = nil
			_, err := s.run("hi")
			require.ErrorIs(t, err, plugin.ErrInPlace)
			require.Equal(t, []string{input, answer}, seen)
			require.Len(t, atTheEnd.Live, 2)
			require.Equal(t, map[string]any{"mood": "fine"}, atTheEnd.State)
		})
	}
}
