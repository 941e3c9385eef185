package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// Each round of a loop is a run of its own whose input is the output before it, and a join in the
// loop takes the ends of its round.
func TestRoundsOfALoop(t *testing.T) {
	head := workflow.Func("head", func(_ context.Context, _ *workflow.Run, in any) (string, error) {
		if both, ok := in.(map[string]any); ok {
			return fmt.Sprint(both["l"], both["r"], "."), nil
		}
		return "hello.", nil
	})
	side := func(name string) *workflow.Node {
		return workflow.Func(
			name,
			func(_ context.Context, _ *workflow.Run, in string) (string, error) { return name + in, nil },
		)
	}
	l, r, j := side("l"), side("r"), workflow.Join("j")
	j2 := workflow.Func("tail", func(_ context.Context, r *workflow.Run, in any) (any, error) {
		if r.Path == "wf@m/tail@1" {
			r.Route("again")
		}
		return in, nil
	})
	g := newGraph(t, chain(start, head, l, j, j2), chain(head, r, j),
		[]workflow.Edge{{From: j2, To: head, Route: "again"}})
	want := []string{
		`head@1: "hello."`, `l@1: "lhello."`, `r@1: "rhello."`, `j@1: {"l":"lhello.","r":"rhello."}`,
		`tail@1: {"l":"lhello.","r":"rhello."} route again`,
		`head@2: "lhello.rhello.."`, `l@2: "llhello.rhello.."`, `r@2: "rlhello.rhello.."`,
		`j@2: {"l":"llhello.rhello..","r":"rlhello.rhello.."}`, `tail@2: {"l":"llhello.rhello..","r":"rlhello.rhello.."}`,
		`wf: null`, // since an edge leaves each node
	}
	require.Equal(t, want, onOneCore(newStage(t).steps(g, message("m")), want))
}

// A slow branch does not hold the others: here it waits for the end of a longer one.
func TestBranchesDoNotWaitForEachOther(t *testing.T) {
	over := make(chan struct{})
	slow := workflow.Func("slow", func(ctx context.Context, _ *workflow.Run, _ any) (*int, error) {
		select {
		case <-over:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	last := workflow.Func("last",
		func(context.Context, *workflow.Run, any) (*int, error) { close(over); return nil, nil })
	g := newGraph(t, chain(start, slow), chain(start, takes("a"), takes("b"), last))
	steps := newStage(t).steps(g, message("m"))
	require.ElementsMatch(t, []string{"last@1: null", "slow@1: null"}, steps[2:4]) // slow may come to its end first
}

// As many workers run at once as may, also when the run goes on in another process; those that wait
// for a person do not count.
func TestLimitOfWorkersAfterAResume(t *testing.T) {
	var now, most atomic.Int32
	w := workflow.Func("w", func(ctx context.Context, r *workflow.Run, in int) (int, error) {
		word, err := workflow.Ask[int](ctx, r, "q", "?")
		if err != nil {
			return 0, err
		}
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		for range 100 { // give the others a chance
			r.Invocation()
		}
		return in + word, nil
	})
	const items = 12
	s := newStage(t)
	g := newGraph(t, chain(start, gives("list", make([]int, items)), workflow.Each(w, 3)))
	require.Len(t, s.steps(g, message("m")), 1+items, "all ask")
	var answers []*session.Event
	for i := range items {
		answers = append(answers, answer(fmt.Sprintf("w@1/w@%d#q", i+1), i))
	}
	steps := s.steps(g, both(answers...))
	require.Equal(t, "w@1: [0,1,2,3,4,5,6,7,8,9,10,11]", steps[len(steps)-2])
	require.LessOrEqual(t, most.Load(), int32(3))
}

// Children of one name under two parents are two runs.
func TestOneChildOfTwoParents(t *testing.T) {
	child := workflow.Func(
		"child",
		func(_ context.Context, _ *workflow.Run, in string) (string, error) { return "child of " + in, nil },
	)
	parent := func(name string) *workflow.Node {
		return workflow.Func(
			name,
			func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
				return workflow.Do[string](ctx, r, child, "c", name)
			},
		)
	}
	g := newGraph(t, chain(start, parent("a"), parent("b")))
	require.Equal(
		t,
		[]string{
			`a@1/child@c: "child of a"`,
			`a@1: "child of a"`,
			`b@1/child@c: "child of b"`,
			`b@1: "child of b"`,
			`wf: "child of b"`,
		},
		newStage(t).steps(g, message("m")),
	)
}

// A run is the same after its answer, after a failure and in another process: its path, its input,
// who began it.
func TestARunIsTheSameAfterAResume(t *testing.T) {
	type seen struct {
		Path, By, Text string
		In             any
		Before         []string
	}
	var all []seen
	a := workflow.Func("a", func(ctx context.Context, r *workflow.Run, in any) (string, error) {
		all = append(all,
			seen{r.Path, r.TriggeredBy, r.UserContent.Parts[0].Text, in, r.Predecessors})
		word, err := workflow.Ask[string](ctx, r, "q", "?")
		if err == nil && r.Attempt == 1 {
			err = errors.New("not yet")
		}
		return word, err
	})
	s := newStage(t)
	g := newGraph(t, chain(start, gives("x", 7), a))
	s.steps(g, message("m"))
	s.steps(g, answer("a@1#q", "yes"))
	require.Equal(t, []string{`a@1: "yes"`, `wf: "yes"`}, s.steps(g, nil))
	require.Len(t, all, 3)
	require.Equal(t, seen{"wf@m/a@1", "x", "hello", 7.0, []string{"x"}}, all[0])
	require.Equal(t, all[0], all[1])
	require.Equal(t, all[0], all[2])
}

// What an agent in a node says while it speaks reaches the caller, and is not stored, nor is its
// state.
func TestPartialEvents(t *testing.T) {
	speaks := does(
		"speaks",
		func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
			part := session.Reply("he")
			part.Partial = true
			part.Actions.StateDelta = map[string]any{"k": 1}
			_ = yield(part, nil) && yield(session.Reply("hello"), nil)
		},
	)
	s := newStage(t)
	r := s.runner(newGraph(t, chain(start, workflow.Agent(speaks))))
	var said []string
	for e, err := range r.Run(t.Context(), key, message("m"), session.RunConfig{Create: true, Streaming: session.SSE}) {
		require.NoError(t, err)
		if e.Author == "speaks" {
			require.Equal(t, "wf@m/speaks@1", e.NodeInfo.Path)
			said = append(said, e.Text())
		}
	}
	require.NoError(t, r.Close(context.Background()))
	require.Equal(t, []string{"he", "hello"}, said)
	require.False(t, slices.ContainsFunc(s.live(),
		func(e *session.Event) bool { return e.Partial || e.Text() == "he" }))
	state, err := s.svc.Get(t.Context(), key)
	require.NoError(t, err)
	require.Empty(t, state.State)
}

// Edges with one route to several nodes all lead on.
func TestOneRouteToSeveralNodes(t *testing.T) {
	a, j := routes("a", "x"), workflow.Join("j")
	b, c := takes("b"), takes("c")
	g := newGraph(t, chain(start, a),
		[]workflow.Edge{{From: a, To: b, Route: "x"}, {From: a, To: c, Route: "x"}}, chain(b, j),
		chain(c, j))
	steps := newStage(t).steps(g, message("m"))
	require.Equal(t, []string{`j@1: {"b":"hello","c":"hello"}`, `wf: {"b":"hello","c":"hello"}`},
		steps[3:])
}

// The type of a function behind a join says what each of the nodes before it must hand over.
func TestInputBehindAJoin(t *testing.T) {
	j := workflow.Join("j")
	type inputs struct {
		X int    `json:"x"`
		Y string `json:"y"`
	}
	sum := workflow.Func(
		"sum",
		func(_ context.Context, _ *workflow.Run, in inputs) (string, error) {
			return fmt.Sprint(in.X, in.Y), nil
		},
	)
	for want, y := range map[string]any{"wf: \"1two\"": "two", "wf: NODE_INPUT": 2} {
		steps := newStage(
			t,
		).steps(newGraph(t, chain(start, gives("x", 1), j, sum), chain(start, gives("y", y), j)), message("m"))
		require.Equal(t, want, steps[len(steps)-1])
	}
}
