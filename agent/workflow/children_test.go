package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// A function that was changed between failure and resume gets no output of another call of the same node.
func TestAChildIsNotTakenForAnother(t *testing.T) {
	type call struct {
		name  string // of the child
		input any
	}
	for name, tt := range map[string]struct {
		before, after []call // what the function calls until it fails, and after it was changed
		refused       bool
		says          string
	}{
		"a call is put before another": {
			before:  []call{{"", "charge 5 EUR"}},
			after:   []call{{"", "look up address"}, {"charge", "charge 5 EUR"}},
			refused: true,
			says:    "p@1/child@1",
		},
		"a named child gets another input": {
			before:  []call{{"a", 1}},
			after:   []call{{"a", 2}},
			refused: true,
			says:    "p@1/child@a",
		},
		"named children change places": {
			before: []call{{"a", 1}, {"b", 2}},
			after:  []call{{"b", 2}, {"a", 1}, {"c", 3}},
		},
		"the same input in another Go type": {
			before: []call{{"a", map[string]int{"x": 1, "y": 2}}},
			after: []call{{"a", struct {
				Y float64 `json:"y"`
				X int     `json:"x"`
			}{2, 1}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			runs := map[string]int{}
			child := workflow.Func("child",
				func(_ context.Context, r *workflow.Run, in any) (any, error) {
					runs[r.Path]++
					return in, nil
				})
			calls := tt.before
			fails := true
			got := map[string]any{}
			p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
				for _, c := range calls {
					out, err := workflow.Do[any](ctx, r, child, c.name, c.input)
					if err != nil {
						return nil, err
					}
					got[c.name] = out
				}
				if fails {
					return nil, errors.New("not yet")
				}
				return "done", nil
			})
			s := newStage(t)
			g := newGraph(t, chain(start, p))
			_, err := s.events(g, message("m"))
			require.NoError(t, err)
			calls = tt.after
			fails = false
			events, err := s.events(g, nil)
			require.NoError(t, err)
			for path, n := range runs {
				require.Equal(t, 1, n, path)
			}
			last := events[len(events)-1]
			if !tt.refused {
				require.Equal(t, "done", last.Output, last.ErrorMessage)
				return
			}
			require.Equal(t, workflow.NodeFailed, last.ErrorCode)
			require.Contains(t, last.ErrorMessage, tt.says)
			require.Contains(t, last.ErrorMessage, "name")
		})
	}
}

// What a child is called with is compared within one attempt, too; the errors are sentinels.
func TestDoRefusesWhatItCannotTellApart(t *testing.T) {
	child := takes("child")
	var other, unnamed error
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		_, err := workflow.Do[int](ctx, r, child, "", 1)
		require.NoError(t, err)
		_, unnamed = workflow.Do[int](ctx, r, child, "", 1)
		_, err = workflow.Do[int](ctx, r, child, "a", 1)
		require.NoError(t, err)
		_, err = workflow.Do[int](ctx, r, child, "a", 1)
		require.NoError(t, err, "the same name and input share a run")
		_, other = workflow.Do[int](ctx, r, child, "a", 2)
		return "done", nil
	})
	events, err := newStage(t).events(newGraph(t, chain(start, p)), message("m"))
	require.NoError(t, err)
	require.Equal(t, "done", events[len(events)-1].Output)
	require.ErrorIs(t, unnamed, workflow.ErrNameMissing)
	require.ErrorIs(t, other, workflow.ErrOtherInput)
	require.ErrorContains(t, unnamed, "give each call a name")
}

// Such an error is not worth another attempt: the same function would get it again.
func TestAMistakeInDoIsNotTriedAgain(t *testing.T) {
	child := takes("child")
	attempts := 0
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
		attempts++
		_, _ = workflow.Do[int](ctx, r, child, "", 1)
		return workflow.Do[any](ctx, r, child, "", 2)
	})
	p.Retry.Attempts = 5
	require.Equal(t, []string{"p@1/child@1: 1", "p@1: NODE_FAILED", "wf: NODE_FAILED"},
		newStage(t).steps(newGraph(t, chain(start, p)), message("m")))
	require.Equal(t, 1, attempts)
}

// A function that ranges over a map and names its children gets for each key what belongs to it, however
// often it begins again.
func TestChildrenOfAMap(t *testing.T) {
	prices := map[string]int{}
	for i := range 20 {
		prices[fmt.Sprint("k", i)] = i
	}
	child := takes("child")
	for range 20 {
		s := newStage(t)
		failures := 0
		p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (bool, error) {
			for key, price := range prices {
				got, err := workflow.Do[int](ctx, r, child, key, price)
				if err != nil || got != price {
					return false, fmt.Errorf("%s: %d, and not %d: %w", key, got, price, err)
				}
				if failures < 10 && rand.N(7) == 0 {
					failures++
					return false, errors.New("again")
				}
			}
			return true, nil
		})
		p.Retry.Attempts = 20
		events, err := s.events(newGraph(t, chain(start, p)), message("m"))
		require.NoError(t, err)
		require.Equal(t, true, events[len(events)-1].Output, events[len(events)-1].ErrorMessage)
	}
}

// The digest is in the log once, on the first event of the child or of a run within it. A log without digests
// goes on.
func TestDigestsOfInputsInTheLog(t *testing.T) {
	for name, tt := range map[string]struct {
		child func() *workflow.Node
		call  func(ctx context.Context, r *workflow.Run, n *workflow.Node) (any, error)
		want  []string // the paths of the events that have a digest
	}{
		"a function": {
			child: func() *workflow.Node { return takes("child") },
			want:  []string{"wf@m/p@1/child@1"},
		},
		"one that fails first": {
			child: func() *workflow.Node {
				n := workflow.Func("child", func(_ context.Context, r *workflow.Run, in any) (any, error) {
					if r.Attempt < 3 {
						return nil, errors.New("again")
					}
					return in, nil
				})
				n.Retry.Attempts = 3
				return n
			},
			want: []string{"wf@m/p@1/child@1"},
		},
		"one that calls another": {
			child: func() *workflow.Node {
				return workflow.Func("child", func(ctx context.Context, r *workflow.Run, in any) (any, error) {
					return workflow.Do[any](ctx, r, takes("below"), "b", in)
				})
			},
			want: []string{"wf@m/p@1/child@1/below@b"},
		},
		"a workflow": {
			child: func() *workflow.Node { return workflow.Each(takes("child"), 0) },
			want:  []string{"wf@m/p@1/child@1/child@1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			child := tt.child()
			input := 1
			p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
				if _, err := workflow.Do[any](ctx, r, child, "", input); err != nil {
					return nil, err
				}
				return workflow.Ask[string](ctx, r, "q", "Go on?")
			})
			s := newStage(t)
			g := newGraph(t, chain(start, p))
			_, err := s.events(g, message("m"))
			require.NoError(t, err)
			var with []string
			for _, e := range s.live() {
				if e.NodeInfo != nil && e.NodeInfo.Inputs != "" {
					with = append(with, e.NodeInfo.Path)
				}
			}
			require.Equal(t, tt.want, with)

			// Another input is refused if the log has the digest, and cannot be found if it has none.
			input = 2
			old := newStage(t)
			old.restore(without(s.live()))
			for _, on := range []*stage{s, old} {
				events, err := on.events(g, answer("p@1#q", "yes"))
				require.NoError(t, err)
				last := events[len(events)-1]
				if on == old {
					require.Equal(t, "yes", last.Output, last.ErrorMessage)
				} else {
					require.Contains(t, last.ErrorMessage, "another input")
				}
			}
		})
	}
}

// In a log from before there are digests, calls without names are still found by their order.
func TestUnnamedChildrenOfALogWithoutDigests(t *testing.T) {
	child := takes("child")
	calls := []string{"a", "b"} // the names, "" once the log is an old one
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
		var outputs []any
		for i, name := range calls {
			out, err := workflow.Do[any](ctx, r, child, name, i)
			if err != nil {
				return nil, err
			}
			outputs = append(outputs, out)
		}
		_, err := workflow.Ask[string](ctx, r, "q", "Go on?")
		return outputs, err
	})
	s := newStage(t)
	g := newGraph(t, chain(start, p))
	_, err := s.events(g, message("m"))
	require.NoError(t, err)
	log := without(s.live())
	for _, e := range log {
		if e.NodeInfo != nil {
			e.NodeInfo.Path = map[string]string{"wf@m/p@1/child@a": "wf@m/p@1/child@1",
				"wf@m/p@1/child@b": "wf@m/p@1/child@2"}[e.NodeInfo.Path]
			if e.NodeInfo.Path == "" {
				e.NodeInfo.Path = "wf@m/p@1"
			}
		}
	}
	old := newStage(t)
	old.restore(log)
	calls = []string{"", ""}
	events, err := old.events(g, answer("p@1#q", "yes"))
	require.NoError(t, err)
	require.Equal(t, []any{0.0, 1.0}, events[len(events)-1].Output, events[len(events)-1].ErrorMessage)
}

// without returns copies of events without digests of inputs.
func without(log []*session.Event) []*session.Event {
	var copies []*session.Event
	for _, e := range log {
		c := e.Clone()
		c.Seq = 0
		if c.NodeInfo != nil {
			c.NodeInfo.Inputs = ""
		}
		copies = append(copies, c)
	}
	return slices.Clip(copies)
}

// restore makes a session of a log.
func (s *stage) restore(log []*session.Event) {
	_, err := s.svc.Create(s.t.Context(), key, nil)
	require.NoError(s.t, err)
	_, err = s.svc.Append(s.t.Context(), session.AppendTarget{Key: key}, log...)
	require.NoError(s.t, err)
}
