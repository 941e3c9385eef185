package workflow_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// A till is a workflow that charges a card, and then asks. It counts the charges.
type till struct {
	t       *testing.T
	charges int
}

func (c *till) workflow(name string) agent.Agent {
	pay := workflow.Func("pay", func(context.Context, *workflow.Run, any) (int, error) {
		c.charges++
		return 1, nil
	})
	g, err := workflow.New(workflow.Graph{Name: name, Edges: chain(start, pay, asker[string]("sure", "q"))})
	require.NoError(c.t, err)
	return g
}

// A run that waits is not begun anew by its workflow under another name, in whatever team: without input that is
// NODE_GONE. Under the old name the run goes on.
func TestRenamedWorkflow(t *testing.T) {
	for name, team := range map[string]func(a agent.Agent) agent.Agent{
		"the root": func(a agent.Agent) agent.Agent { return a },
		"in a sequence": func(a agent.Agent) agent.Agent {
			return workflow.Sequential("team", "", says("before", "hi"), a, says("after", "bye"))
		},
		"beside others": func(a agent.Agent) agent.Agent {
			return workflow.Parallel("team", "", a, says("other", "hi"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &till{t: t}
			s := newStage(t)
			s.steps(team(c.workflow("wf")), message("m"))
			renamed := team(c.workflow("wf2"))
			for _, input := range []*session.Event{nil, message("m")} { // a client sends its message again
				events, err := s.events(renamed, input)
				require.NoError(t, err)
				i := slices.IndexFunc(events, func(e *session.Event) bool { return e.ErrorCode == workflow.NodeGone })
				require.GreaterOrEqual(t, i, 0)
				require.Contains(t, events[i].ErrorMessage, "the run wf@m")
			}
			require.Equal(t, 1, c.charges)

			last := s.steps(team(c.workflow("wf")), answer("sure@1#q", "yes"))
			require.Contains(t, last, `wf: ["yes"]`)
			require.Equal(t, 1, c.charges)

			// A run that has ended is not begun anew, either.
			s.steps(renamed, nil)
			require.Equal(t, 1, c.charges)
		})
	}
}

// The same for a workflow in the team of a node: an answer that comes to it is NODE_GONE.
func TestRenamedWorkflowInANode(t *testing.T) {
	c := &till{t: t}
	around := func(name string) agent.Agent {
		team := workflow.Agent(workflow.Sequential("team", "", c.workflow(name)))
		g, err := workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, team)})
		require.NoError(t, err)
		return g
	}
	s := newStage(t)
	s.steps(around("in"), message("m"))
	require.Empty(t, s.steps(around("in2"), nil))
	steps := s.steps(around("in2"), answer("team@1/in@m/sure@1#q", "yes"))
	require.Equal(t, []string{"team@1: NODE_GONE", "team@1: NODE_FAILED", "wf: NODE_FAILED"}, steps)
	require.Equal(t, 1, c.charges)
}

// An answer to a run whose workflow has another name is refused, and is not in the log. The run can be abandoned, and
// new messages begin new runs.
func TestAnswerToARenamedWorkflow(t *testing.T) {
	c := &till{t: t}
	s := newStage(t)
	s.steps(c.workflow("wf"), message("m"))
	before := len(s.live())
	desk := workflow.Sequential("desk", "", says("clerk", "hi"))
	for _, root := range []agent.Agent{c.workflow("wf2"), desk} {
		_, err := s.events(root, answer("sure@1#q", "yes"))
		require.ErrorIs(t, err, session.ErrInvalid)
		require.ErrorContains(t, err, "there is no workflow wf")
		require.Len(t, s.live(), before)
	}

	require.Equal(t, []string{"pay@1: 1", "sure@1: calls adk_request_input"}, s.steps(c.workflow("wf2"), message("n")))
	require.Equal(t, []string{"wf: ABANDONED"}, s.steps(c.workflow("wf2"), workflow.Abandon("wf@m")))
	require.Equal(t, []string{`sure@1: ["yes"]`, `wf: ["yes"]`},
		s.steps(c.workflow("wf2"), workflow.Answer("wf2@n/sure@1#q", "yes")))
	require.Equal(t, 2, c.charges)
}

// An open run of another workflow of the same team is no reason not to begin one.
func TestOpenRunOfAnotherWorkflow(t *testing.T) {
	c := &till{t: t}
	for name, listed := range map[string]bool{"a root that lists its agents": true, "one that does not": false} {
		a, b := c.workflow("a"), c.workflow("b")
		var agents []agent.Agent
		if listed {
			agents = []agent.Agent{a, b}
		}
		root := agent.New("root", "", func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
			if in := host.Now().Input; in != nil && in.Text() != "" {
				return a.Run(ctx, host)
			}
			return b.Run(ctx, host)
		}, agents...)
		s := newStage(t)
		s.steps(root, message("m"))
		require.Equal(t, []string{"pay@1: 1", "sure@1: calls adk_request_input"}, s.steps(root, nil), name)
		require.Equal(t, `wf: ["yes"]`, s.steps(root, workflow.Answer("b@m/sure@1#q", "yes"))[1], name)
	}
}
