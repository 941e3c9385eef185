package workflow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// delegates is a node whose output is that of a child.
func delegates(name string, child *workflow.Node) *workflow.Node {
	return workflow.Func(name, func(ctx context.Context, r *workflow.Run, in any) (any, error) {
		return workflow.Delegate[any](ctx, r, child, "", in)
	})
}

// The output of a child that stands for that of the run is in the log once; the ends name each
// other.
func TestDelegatedOutput(t *testing.T) {
	outer := delegates("outer", delegates("inner", gives("child", "text")))
	outer.OutputKey = "out"
	s := newStage(t)
	g := newGraph(t, chain(start, outer, takes("next")))
	require.Equal(
		t,
		[]string{
			`outer@1/inner@1/child@1: "text"`,
			"outer@1/inner@1: null",
			"outer@1: null",
			`next@1: "text"`,
			`wf: "text"`,
		},
		s.steps(g, message("m")),
	)
	inner, child := "wf@m/outer@1/inner@1", "wf@m/outer@1/inner@1/child@1"
	live := s.live()
	require.Equal(t, []string{child, inner, "wf@m/outer@1"}, live[1].NodeInfo.OutputFor)
	require.Equal(t, child, live[2].NodeInfo.OutputOf)
	require.Equal(t, []string{inner, "wf@m/outer@1"}, live[2].NodeInfo.OutputFor)
	require.Equal(t, inner, live[3].NodeInfo.OutputOf)
	require.Equal(t, "text", live[3].Actions.StateDelta["out"])
	require.Equal(t, "text", session.NewWorkflowRuns(live).Run("wf@m/outer@1").Output)

	// A child that asks is waited for, and one that an agent is said something by the agent.
	s = newStage(t)
	g = newGraph(t, chain(start, delegates("p", asker[string]("c", "q")), takes("next")))
	s.steps(g, message("m"))
	require.Equal(
		t,
		session.Unclear,
		session.NewWorkflowRuns(append(s.live(), &session.Event{Author: "wf", NodeInfo: &session.NodeInfo{Path: "wf@m/p@1"}})).
			Run("wf@m/p@1").
			Status(),
	)
	require.Equal(t, []string{`p@1/c@1: ["yes"]`, "p@1: null", `next@1: ["yes"]`, `wf: ["yes"]`},
		s.steps(g, answer("p@1/c@1#q", "yes")))

	talker := workflow.Agent(says("talker", "hi"))
	g, err := workflow.New(workflow.Graph{
		Name:     "wf",
		Edges:    chain(start, delegates("p", talker), takes("next")),
		Children: []*workflow.Node{talker},
	})
	require.NoError(t, err)
	steps := newStage(t).steps(g, message("m"))
	require.Equal(t, []string{`p@1/talker@1: "hi"`, "p@1: null", `next@1: "hi"`, `wf: "hi"`},
		steps[2:])
}

// A crash between the two ends, and an attempt that delegates no more.
func TestDelegatedOutputAfterACrash(t *testing.T) {
	mode := "delegate"
	child := gives("child", "of child")
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, in any) (string, error) {
		if mode == "own" {
			return "own", nil
		}
		return workflow.Delegate[string](ctx, r, child, "", in)
	})
	g := newGraph(t, chain(start, p))
	crashed := func() *stage {
		appends := 0
		s := newStage(t)
		s.svc = &fragile{Service: s.svc, fails: func() int {
			if appends++; appends == 3 { // the input, the child's end, the end
				return 1
			}
			return 0
		}}
		_, err := s.events(g, message("m"))
		require.ErrorIs(t, err, errCrash)
		return s
	}
	require.Equal(t, []string{"p@1: null", `wf: "of child"`}, crashed().steps(g, nil))
	s := crashed()
	mode = "own"
	require.Equal(t, []string{`p@1: "own"`, `wf: "own"`}, s.steps(g, nil))
}

// A run has one child whose output is its own; one that failed does not count.
func TestOneDelegatedOutput(t *testing.T) {
	a, b := gives("a", 1), gives("b", 2)
	bad := workflow.Func("bad",
		func(context.Context, *workflow.Run, any) (int, error) { return 0, errors.New("no") })
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		_, err := workflow.Delegate[int](ctx, r, bad, "", nil)
		require.Error(t, err)
		_, err = workflow.Delegate[int](ctx, r, a, "x", nil)
		require.NoError(t, err)
		_, err = workflow.Delegate[int](ctx, r, a, "x", nil)
		require.NoError(t, err, "the same again")
		_, err = workflow.Delegate[int](ctx, r, b, "", nil)
		require.ErrorContains(t, err, "already that of wf@m/p@1/a@x")
		return 7, nil
	})
	require.Equal(t, []string{"p@1/bad@1: NODE_FAILED", "p@1/a@x: 1", "p@1: null", "wf: 1"},
		newStage(t).steps(newGraph(t, chain(start, p)), message("m")))

	once := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		return workflow.Delegate[int](ctx, r, a, "", nil)
	})
	once.Once = true
	events, err := newStage(t).events(newGraph(t, chain(start, once)), message("m"))
	require.NoError(t, err)
	require.Contains(t, events[2].ErrorMessage, "the output of a node with Once is its own")
}

// A child that has failed for good fails again when its caller is called again, without another
// attempt: after an error that is not worth one, or too many. It is tried again once its caller has
// failed.
func TestChildThatFailedStaysFailed(t *testing.T) {
	tries := 0
	child := workflow.Func(
		"child",
		func(context.Context, *workflow.Run, any) (int, error) { tries++; return 0, errors.New("no") },
	)
	child.Retry = workflow.Retry{Attempts: 5, If: func(error) bool { return false }}
	strict := true
	p := workflow.Func("p", func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
		_, err := workflow.Do[int](ctx, r, child, "", nil)
		var failed *workflow.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, workflow.NodeFailed, failed.Code)
		word, err := workflow.Ask[string](ctx, r, "q", "?")
		if err == nil && strict {
			err = errors.New("not today")
		}
		return word, err
	})
	g := newGraph(t, chain(start, p))
	s := newStage(t)
	require.Equal(t, []string{"p@1/child@1: NODE_FAILED", "p@1: calls adk_request_input"},
		s.steps(g, message("m")))
	require.Equal(t, []string{"p@1: NODE_FAILED", "wf: NODE_FAILED"},
		s.steps(g, answer("p@1#q", "yes")))
	require.Equal(t, 1, tries)
	strict = false
	require.Equal(t, []string{"p@1/child@1: NODE_FAILED", `p@1: "yes"`, `wf: "yes"`},
		s.steps(g, nil))
	require.Equal(t, 2, tries)
}
