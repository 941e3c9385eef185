package workflow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// A node's failure leads on along an edge with the route Failed, once its Retry is used up.
func TestFailureEdges(t *testing.T) {
	broken := func(name string, attempts int) *workflow.Node {
		n := workflow.Func(name, func(_ context.Context, r *workflow.Run, _ any) (any, error) {
			r.Set("k", "of a failed attempt")
			return nil, errors.New("no money")
		})
		n.Retry.Attempts = attempts
		return n
	}
	failed := func(from, to *workflow.Node) workflow.Edge {
		return workflow.Edge{From: from, To: to, Route: workflow.Failed}
	}
	pay, ok := broken("pay", 2), gives("pay", 5)
	ship, excuse := takes("ship"), takes("excuse")
	failure := `{"code":"NODE_FAILED","input":1,"message":"no money"}`
	both, b := workflow.Join("both"), gives("b", 2)
	for name, tt := range map[string]struct {
		edges []workflow.Edge
		steps []string
	}{
		"it fails": {
			append(chain(start, gives("a", 1), pay, ship), failed(pay, excuse)),
			[]string{"a@1: 1", "pay@1: NODE_FAILED", "pay@1: NODE_FAILED", "excuse@1: " + failure, "wf: " + failure},
		},
		"it does not": {
			append(chain(start, ok, ship), failed(ok, excuse)),
			[]string{"pay@1: 5", "ship@1: 5", "wf: 5"},
		},
		"it does not, and is the last one": {
			append(chain(start, ok), failed(ok, excuse)),
			[]string{"pay@1: 5", "wf: 5"},
		},
		"otherwise does not mean failures": {
			append(chain(start, gives("a", 1), pay), workflow.Edge{From: pay, To: ship, Route: workflow.Default}, failed(pay, excuse)),
			[]string{"a@1: 1", "pay@1: NODE_FAILED", "pay@1: NODE_FAILED", "excuse@1: " + failure, "wf: " + failure},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			require.Equal(t, tt.steps, s.steps(newGraph(t, tt.edges), message("m")))
			require.Empty(t, s.steps(newGraph(t, tt.edges), nil), "the run has ended")
			inv, err := session.Snapshot(t.Context(), s.svc, key)
			require.NoError(t, err)
			require.Empty(t, inv.State)
		})
	}

	// A join gets the output or the failure, and what runs at the same time is not cancelled.
	edges := append(chain(start, gives("a", 1), pay, both), chain(start, b, both)...)
	edges = append(edges, failed(pay, both))
	steps := newStage(t).steps(newGraph(t, edges), message("m"))
	require.Equal(t, `wf: {"b":2,"pay":`+failure+`}`, steps[len(steps)-1])

	// A graph, and the items of a list: those that wait for people do not wait any more.
	asks := asker[string]("q", "q")
	g, err := workflow.New(workflow.Graph{Name: "in", Edges: append(chain(start, asks), chain(start, broken("x", 1))...)})
	require.NoError(t, err)
	in := workflow.Agent(g)
	s := newStage(t)
	steps = s.steps(newGraph(t, append(chain(start, in), failed(in, excuse))), message("m"))
	require.Contains(t, steps[len(steps)-1], "no money")
	for _, c := range session.Calls(s.live()) {
		require.NotNil(t, c.Response)
	}
	require.True(t, s.workflow().Ended)

	// Without an edge for it any more, the run cannot go on.
	s = newStage(t)
	late := asker[string]("late", "q")
	s.steps(newGraph(t, append(chain(start, gives("a", 1), pay, ship), failed(pay, late))), message("m"))
	events, err := s.events(newGraph(t, chain(start, gives("a", 1), pay, ship)), nil)
	require.NoError(t, err)
	require.Equal(t, workflow.NodeGone, events[0].ErrorCode)
	require.Contains(t, events[0].ErrorMessage, "route Failed")
}
