package workflow_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
)

type letterState struct {
	Tone  string   `json:"tone"`
	Count int      `json:"count"`
	Tags  []string `json:"tags"`
}

// sets is a node that sets a state key.
func sets(name, key string, value any) *workflow.Node {
	return workflow.Func(name, func(_ context.Context, r *workflow.Run, _ struct{}) (*int, error) {
		r.Set(key, value)
		return nil, nil
	})
}

// What a node may set: the keys of the graph's state with values of their types, and those with a
// ':'.
func TestStateOfAGraph(t *testing.T) {
	state := workflow.StateOf[letterState]()
	for _, tt := range []struct {
		key   string
		value any
		want  string
	}{
		{"tone", "kind", ""},
		{"tone", nil, ""},
		{"count", 3, ""},
		{"tags", []string{"a"}, ""},
		{"app:any", 3, ""},
		{"temp:any", 3, ""},
		{"other", "x", `the state has no key "other"; it has count, tags, tone`},
		{"tone", 3, "the state does not fit: /tone: "},
		{"count", 1.5, "the state does not fit: /count: "},
		{"tags", []int{1}, "the state does not fit: /tags/*: "},
	} {
		g, err := workflow.New(workflow.Graph{
			Name:  "wf",
			State: state,
			Edges: chain(start, sets("a", tt.key, tt.value)),
		})
		require.NoError(t, err)
		events, err := newStage(t).events(g, message("m"))
		require.NoError(t, err)
		require.Contains(t, events[1].ErrorMessage, tt.want, tt.key)
		require.Equal(t, tt.want != "", events[1].ErrorCode != "", tt.key)
	}
}

// A node's own state stands before its graph's, and that before the state of the graph around it.
func TestStateIsInherited(t *testing.T) {
	type other struct{ Other string }
	own := sets("own", "Other", "x")
	own.State = workflow.StateOf[other]()
	inner := func(state *workflow.State) *workflow.Node {
		g, err := workflow.New(
			workflow.Graph{Name: "in", State: state, Edges: chain(start, sets("a", "Other", "x"))})
		require.NoError(t, err)
		return workflow.Agent(g)
	}
	worker := sets("w", "Other", "x")
	child := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
		return workflow.Do[any](ctx, r, sets("c", "Other", "x"), "", nil)
	})
	agrees := inner(nil)
	agrees.State = workflow.StateOf[other]()
	for name, tt := range map[string]struct {
		node *workflow.Node
		fits bool
	}{
		"the node's own":              {own, true},
		"the inner graph's own":       {inner(workflow.StateOf[other]()), true},
		"of the graph's node":         {agrees, true},
		"that around the inner graph": {inner(nil), false},
		"that around a worker":        {workflow.Each(worker, 0), false},
		"that around a child":         {child, false},
	} {
		g, err := workflow.New(workflow.Graph{
			Name:  "wf",
			State: workflow.StateOf[letterState](),
			Edges: chain(start, tt.node),
		})
		require.NoError(t, err, name)
		steps := newStage(t).steps(g, message("m"))
		require.Equal(t, tt.fits, steps[len(steps)-1] != "wf: NODE_FAILED", "%s: %v", name, steps)
	}
}

// What reads and writes the state must fit it when the graph is built.
func TestStateIsCheckedWhenAGraphIsBuilt(t *testing.T) {
	reads := func(name string) *workflow.Node {
		return workflow.Func(name, func(context.Context, *workflow.Run, struct {
			Tone int    `state:"tone"`
			Gone string `state:"gone,omitempty"`
			App  string `state:"app:x"`
			In   any    `state:"node_input"`
		}) (any, error) {
			return nil, nil
		})
	}
	keyed := gives("keyed", 1)
	keyed.OutputKey = "tone"
	lost := gives("lost", 1)
	lost.OutputKey = "lost"
	in, err := workflow.New(workflow.Graph{Name: "in", Edges: chain(start, reads("deep"))})
	require.NoError(t, err)
	listed := reads("listed")
	_, err = workflow.New(workflow.Graph{
		Name:  "wf",
		State: workflow.StateOf[letterState](),
		Edges: chain(start, reads("a"), keyed, lost, workflow.Each(called("w", reads("w")), 0),
			workflow.Agent(in)),
		Children: []*workflow.Node{listed},
	})
	for _, want := range []string{
		`node a: the state key "tone": it is of type string, and must be of type integer`,
		`node a: the state has no key "gone"`,
		`node keyed: the state key "tone": it is of type integer, and must be of type string`,
		`node lost: the state has no key "lost"`,
		`node w: the state has no key "gone"`,
		`node deep: the state has no key "gone"`,
		`node listed: the state has no key "gone"`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "app:x")
	require.NotContains(t, err.Error(), "node_input")

	_, err = workflow.New(
		workflow.Graph{Name: "wf", State: workflow.StateOf[[]string](), Edges: chain(start, keyed)})
	require.ErrorContains(t, err, "the state of type []string: it is no struct")
	bad := gives("bad", 1)
	bad.State = workflow.StateOf[int]()
	_, err = workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, bad)})
	require.ErrorContains(t, err, "node bad: the state of type int: it is no struct")
}
