package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// setsAgent is an agent that sets a state key by itself.
func setsAgent(name, key string, value any) *workflow.Node {
	return workflow.Agent(does(name, func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
		e := session.Reply("done")
		e.Actions.Set(key, value)
		yield(e, nil)
	}))
}

// inner is a node that is a graph with one node.
func inner(t *testing.T, name string, n *workflow.Node) *workflow.Node {
	g, err := workflow.New(workflow.Graph{Name: name, Edges: chain(start, n)})
	require.NoError(t, err)
	return workflow.Agent(g)
}

// Two runs of one workflow's run that are made at the same time do not set one key, whichever ends first; runs of
// which one comes after the other do.
func TestOneStateKeyOfSeveralNodes(t *testing.T) {
	in := func(name string) *workflow.Node { return inner(t, "in"+name, sets(name, "k", name)) }
	twice := func() *workflow.Node {
		n := sets("n", "k", "n")
		n.OutputKey = "k"
		return n
	}
	again := sets("again", "k", 1)
	loop := workflow.Func("loop", func(_ context.Context, r *workflow.Run, in any) (any, error) {
		n, _ := r.Get("k").(float64)
		r.Set("k", n+1)
		if n < 3 {
			r.Route("again")
		}
		return in, nil
	})
	outputKey := func(name string) *workflow.Node {
		n := gives(name, name)
		n.OutputKey = "k"
		return n
	}
	does := func(together bool) *workflow.Node {
		return workflow.Func("does", func(ctx context.Context, r *workflow.Run, _ any) (any, error) {
			var begun sync.WaitGroup // both have
			child := func(name string) func(context.Context) error {
				n := workflow.Func(name, func(_ context.Context, r *workflow.Run, _ any) (any, error) {
					r.Set("k", name)
					begun.Done()
					begun.Wait()
					return nil, nil
				})
				return func(ctx context.Context) error { _, err := workflow.Do[any](ctx, r, n, "", 1); return err }
			}
			if together {
				begun.Add(2)
				return nil, r.Together(ctx, child("a"), child("b"))
			}
			r.Set("k", "own")
			for _, name := range []string{"a", "b"} {
				begun.Add(1)
				if err := child(name)(ctx); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
	}
	join := func(a, b *workflow.Node, after ...*workflow.Node) []workflow.Edge {
		j := workflow.Join("j")
		return slices.Concat(chain(start, a, j), chain(start, b, j), chain(append([]*workflow.Node{j}, after...)...))
	}
	for name, tt := range map[string]struct {
		edges   []workflow.Edge
		refused bool
	}{
		"two branches":                     {join(sets("a", "k", 1), sets("b", "k", 2)), true},
		"two branches with an output key":  {join(outputKey("a"), outputKey("b")), true},
		"one deletes it":                   {join(sets("a", "k", 1), sets("b", "k", nil)), true},
		"graphs in two branches":           {join(in("a"), in("b")), true},
		"an agent by itself and a node":    {join(setsAgent("a", "k", 1), sets("b", "k", 2)), true},
		"two agents by themselves":         {join(setsAgent("a", "k", 1), setsAgent("b", "k", 2)), true},
		"two items":                        {chain(start, gives("l", []int{1, 2}), workflow.Each(sets("a", "k", 1), 2)), true},
		"items in turn":                    {chain(start, gives("l", []int{1, 2}), workflow.Each(sets("a", "k", 1), 1)), false},
		"two keys":                         {join(sets("a", "k", 1), sets("b", "l", 2)), false},
		"in turn":                          {chain(start, sets("a", "k", 1), sets("b", "k", 2)), false},
		"after a join":                     {join(sets("a", "k", 1), takes("b"), sets("c", "k", 2)), false},
		"a graph after a node":             {chain(start, sets("z", "k", 1), in("a"), in("b")), false},
		"the rounds of a loop":             {slices.Concat(chain(start, loop), []workflow.Edge{{From: loop, To: loop, Route: "again"}}), false},
		"a node that is triggered twice":   {slices.Concat(chain(start, takes("a"), again), chain(start, takes("b"), again)), false},
		"a function's children in turn":    {chain(start, does(false)), false},
		"an output key and a set key":      {chain(start, twice()), false},
		"a branch that ended long before":  {join(sets("a", "k", 1), inner(t, "long", sets("b", "l", 1)), sets("c", "k", 3)), false},
		"children of a function, together": {chain(start, does(true)), true},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				steps := newStage(t).steps(newGraph(t, tt.edges), message("m"))
				all := strings.Join(steps, "\n")
				require.Equal(t, tt.refused, strings.Contains(all, ": NODE_STATE"), all)
				require.Equal(t, tt.refused, strings.Contains(all, "NODE_"), all)
			}
		})
	}
}

// The error names the key and both runs, and a graph with a reducer goes on with the run.
func TestARefusedWriteGoesOnWithAReducer(t *testing.T) {
	graph := func(reduce map[string]workflow.Reducer) agent.Agent {
		j := workflow.Join("j")
		g, err := workflow.New(workflow.Graph{Name: "wf", Reduce: reduce, Edges: slices.Concat(
			chain(start, sets("a", "k", []any{"a"}), j), chain(start, inner(t, "in", sets("b", "k", "b")), j))})
		require.NoError(t, err)
		return g
	}
	s := newStage(t)
	events, err := s.events(graph(nil), message("m"))
	require.NoError(t, err)
	for _, word := range []string{`"k"`, "a@1", "in@1/b@1", "Graph.Reduce"} {
		require.Contains(t, events[len(events)-1].ErrorMessage, word)
	}
	_, err = s.events(graph(map[string]workflow.Reducer{"k": workflow.Append}), nil)
	require.NoError(t, err)
	inv, err := session.Snapshot(t.Context(), s.svc, key)
	require.NoError(t, err)
	require.ElementsMatch(t, []any{"a", "b"}, listIn(inv.State["k"]))
}

func listIn(v any) []any {
	list, ok := v.([]any)
	if !ok {
		return []any{v}
	}
	return list
}

// What many nodes set at once is all there: each write counts once, also where attempts fail and the log cannot be
// appended to.
func TestReducers(t *testing.T) {
	over := func(before, _ any) (any, error) { return nil, errors.New("never") }
	for name, tt := range map[string]struct {
		reduce workflow.Reducer
		value  func(i int) any
		want   any
		wrong  string
	}{
		"append":            {reduce: workflow.Append, value: func(i int) any { return fmt.Sprint(i % 3) }, want: []any{"0", "0", "0", "0", "1", "1", "1", "2", "2", "2"}},
		"union":             {reduce: workflow.Union, value: func(i int) any { return []int{i % 3, 7} }, want: []any{0.0, 1.0, 2.0, 7.0}},
		"add":               {reduce: workflow.Add, value: func(i int) any { return i }, want: 45.0},
		"max":               {reduce: workflow.Max, value: func(i int) any { return -i }, want: 0.0},
		"a function":        {reduce: func(before, value any) (any, error) { return fmt.Sprint(before, value)[:1], nil }, value: func(i int) any { return "x" }, want: "<"},
		"what is no number": {reduce: workflow.Add, value: func(i int) any { return "x" }, wrong: "is no number"},
		"one that fails":    {reduce: over, value: func(i int) any { return 1 }, wrong: "never"},
		"one that panics":   {reduce: func(before, value any) (any, error) { panic("oops") }, value: func(i int) any { return 1 }, wrong: "oops"},
	} {
		t.Run(name, func(t *testing.T) {
			j := workflow.Join("j")
			var edges []workflow.Edge
			for i := range 10 {
				n := workflow.Func(fmt.Sprint("n", i), func(_ context.Context, r *workflow.Run, _ any) (any, error) {
					r.Set("k", tt.value(i))
					if i%2 == 0 && r.Attempt == 1 {
						return nil, errors.New("at first")
					}
					return nil, nil
				})
				n.Retry.Attempts = 2
				edges = append(edges, chain(start, n, j)...)
			}
			g, err := workflow.New(workflow.Graph{Name: "wf", Edges: edges, Reduce: map[string]workflow.Reducer{"k": tt.reduce}})
			require.NoError(t, err)
			s := newStage(t)
			events, err := s.events(g, message("m"))
			require.NoError(t, err)
			if tt.wrong != "" {
				require.Contains(t, events[len(events)-1].ErrorMessage, tt.wrong)
				require.Contains(t, events[len(events)-1].ErrorMessage, `"k"`)
				return
			}
			inv, err := session.Snapshot(t.Context(), s.svc, key)
			require.NoError(t, err)
			if list, ok := tt.want.([]any); ok {
				require.ElementsMatch(t, list, inv.State["k"])
			} else {
				require.Equal(t, tt.want, inv.State["k"])
			}
		})
	}
}

// Union, Max and Add come to the same in whatever order and groups.
func TestReducersDoNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 8).Draw(t, "values")
		for i := range values {
			values[i] = float64(int(values[i]))
		}
		other := rapid.Permutation(values).Draw(t, "other")
		for name, reduce := range map[string]workflow.Reducer{"add": workflow.Add, "max": workflow.Max, "union": workflow.Union} {
			var a, b any
			var err error
			for i := range values {
				a, err = reduce(a, values[i])
				require.NoError(t, err)
				b, err = reduce(b, other[i])
				require.NoError(t, err)
			}
			if name == "union" {
				require.ElementsMatch(t, a, b)
				continue
			}
			require.Equal(t, a, b, name)
		}
	})
}

// The schema of the state is that of the reduced value.
func TestAReducedValueFitsTheState(t *testing.T) {
	type state struct {
		K []string `json:"k"`
	}
	for name, tt := range map[string]struct {
		reduce map[string]workflow.Reducer
		value  any
		wrong  string
	}{
		"a text in a list of texts":   {reduce: map[string]workflow.Reducer{"k": workflow.Append}, value: "a"},
		"a number in a list of texts": {reduce: map[string]workflow.Reducer{"k": workflow.Append}, value: 1, wrong: "NODE_STATE"},
		"no reducer":                  {value: "a", wrong: "NODE_FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, sets("a", "k", tt.value)),
				State: workflow.StateOf[state](), Reduce: tt.reduce})
			require.NoError(t, err)
			steps := newStage(t).steps(g, message("m"))
			require.Equal(t, tt.wrong != "", strings.HasSuffix(steps[len(steps)-1], tt.wrong) && tt.wrong != "", "%q", steps)
		})
	}
	_, err := workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, sets("a", "k", 1)),
		State: workflow.StateOf[state](), Reduce: map[string]workflow.Reducer{"x": workflow.Add}})
	require.ErrorContains(t, err, `"x"`)
}

// What nodes at the same time have set stays, whichever ends last: nil adds nothing where there is a reducer.
func TestNilAddsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		reduce workflow.Reducer
		want   any
	}{
		"append": {workflow.Append, []any{1.0, 2.0}},
		"add":    {workflow.Add, 3.0},
		"a function": {func(before, value any) (any, error) {
			n, _ := before.(float64)
			return n + value.(float64), nil // it gets no nil
		}, 3.0},
	} {
		nodes := []*workflow.Node{start, sets("a", "k", 1), sets("b", "k", nil), sets("c", "k", 2), sets("d", "k", nil)}
		g, err := workflow.New(workflow.Graph{Name: "wf", Edges: chain(nodes...), Reduce: map[string]workflow.Reducer{"k": tt.reduce}})
		require.NoError(t, err)
		s := newStage(t)
		s.steps(g, message("m"))
		inv, err := session.Snapshot(t.Context(), s.svc, key)
		require.NoError(t, err)
		require.Equal(t, tt.want, inv.State["k"], name)
	}
}
