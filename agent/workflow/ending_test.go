package workflow_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
)

// boss is an agent that runs others as it likes: here, one after the other in a branch of its own.
func boss(agents ...agent.Agent) agent.Agent {
	return agent.New(
		"boss",
		"",
		func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				for _, a := range agents {
					if !agent.Run(ctx, a, h.At("boss"), yield) || h.Waits(a) {
						return
					}
				}
			}
		},
		agents...)
}

func TestAnAgentThatRunsOthersIsWaitedFor(t *testing.T) {
	root := func() agent.Agent {
		return workflow.Sequential("s", "", says("first", "1"), boss(asks("a")), says("after", "2"))
	}
	s := newStage(t)
	s.says(root(), session.Message("go"), "first: 1", "a|boss: call a", "a|boss: confirm 1")
	s.says(root(), yes("a"), "a|boss: answer", "a|boss: done", "after: 2")
}

// inOrder is an agent that runs one when the other one has ended.
func inOrder(a agent.Agent, after <-chan struct{}, ended chan<- struct{}) agent.Agent {
	return agent.New(
		"of "+a.Name(),
		"",
		func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				if after != nil {
					<-after
				}
				agent.Run(ctx, a, h, yield)
				if ended != nil {
					close(ended)
				}
			}
		},
		a,
	)
}

func TestABranchThatFailsEndsTheSequenceWhicheverComesLast(t *testing.T) {
	t.Run("the failure", func(t *testing.T) {
		first := make(chan struct{})
		p := workflow.Parallel("p", "", inOrder(says("good", "1"), nil, first),
			inOrder(says("bad", "!2"), first, nil))
		newStage(
			t,
		).says(workflow.Sequential("s", "", p, says("after", "3")), session.Message("go"), "good|p.of good: 1", "bad|p.of bad: 2BROKEN")
	})
	t.Run("the other one", func(t *testing.T) {
		first := make(chan struct{})
		p := workflow.Parallel("p", "", inOrder(says("good", "1"), first, nil),
			inOrder(says("bad", "!2"), nil, first))
		newStage(
			t,
		).says(workflow.Sequential("s", "", p, says("after", "3")), session.Message("go"), "bad|p.of bad: 2BROKEN", "good|p.of good: 1")
	})
	t.Run("a failure that was mended in its branch", func(t *testing.T) {
		p := workflow.Parallel("p", "", twice("a", "!1", "2"))
		newStage(
			t,
		).says(workflow.Sequential("s", "", p, says("after", "3")), session.Message("go"), "a|p.a: 1BROKEN", "a|p.a: 2", "after: 3")
	})
}

func TestAnEscalationEndsTheLoopThatTheAgentIsIn(t *testing.T) {
	inner := func() agent.Agent { return workflow.Loop("inner", "", 0, says("a", "1", "^2", "3", "^4")) }
	for name, c := range map[string]struct {
		outer agent.Agent
		want  []string
	}{
		"a loop in a loop":               {workflow.Loop("outer", "", 2, inner(), says("b", "-")), []string{"a: 1", "a: 2", "b: -", "a: 3", "a: 4", "b: -"}},
		"a loop in a sequence in a loop": {workflow.Loop("outer", "", 2, workflow.Sequential("s", "", inner(), says("b", "-"))), []string{"a: 1", "a: 2", "b: -", "a: 3", "a: 4", "b: -"}},
		"a loop in any agent in a loop":  {workflow.Loop("outer", "", 2, boss(inner()), says("b", "-")), []string{"a|boss: 1", "a|boss: 2", "b: -", "a|boss: 3", "a|boss: 4", "b: -"}},
		"of an agent after the inner":    {workflow.Loop("outer", "", 2, inner(), says("b", "^-"), says("c", "+")), []string{"a: 1", "a: 2", "b: -"}},
		"beside the inner":               {workflow.Loop("outer", "", 2, workflow.Sequential("s", "", inner(), says("b", "^-")), says("c", "+")), []string{"a: 1", "a: 2", "b: -"}},
	} {
		t.Run(name,
			func(t *testing.T) { newStage(t).says(c.outer, session.Message("go"), c.want...) })
	}
}

func TestWhatComesAfterBranchesRunsOnce(t *testing.T) {
	last := 0
	root := func() agent.Agent {
		return workflow.Sequential("s", "", workflow.Parallel("p", "", asks("a"), asks("b")), does(
			"last",
			func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				last++
				yield(session.Reply("3"), nil)
			},
		))
	}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		last = 0
		s := newStage(t)
		_, err := s.run(root(), session.Message("go"))
		require.NoError(t, err)
		for i, id := range order {
			require.Zero(t, last)
			lines, err := s.run(root(), yes(id))
			require.NoError(t, err)
			require.Len(t, lines, 2+i, lines)
		}
		require.Equal(t, 1, last)
	}
}

// A graph that has ended has not failed, though an attempt of a node in it has, in whichever
// branch.
func TestAGraphThatHasEndedHasNotFailed(t *testing.T) {
	of := func(path, code string, ended bool, branch string) *session.Event {
		return &session.Event{
			Branch:    branch,
			ErrorCode: code,
			NodeInfo:  &session.NodeInfo{Path: path, Ended: ended},
		}
	}
	for name, c := range map[string]struct {
		events []*session.Event
		goesOn bool
	}{
		"the second attempt ended":  {[]*session.Event{of("g@i/n@1", "FAILED", false, "x"), of("g@i/n@1", "", true, "x")}, true},
		"the graph did without":     {[]*session.Event{of("g@i/n@1/m@1", "FAILED", false, "x"), of("g@i", "", true, "")}, true},
		"another node ended":        {[]*session.Event{of("g@i/n@1", "FAILED", false, ""), of("g@i/n@10", "", true, "")}, false},
		"an agent's word after it":  {[]*session.Event{of("g@i/n@1", "FAILED", false, ""), session.Reply("well")}, true},
		"the end is that it failed": {[]*session.Event{of("g@i/n@1", "FAILED", false, ""), of("g@i", "FAILED", true, "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			graph := agent.New(
				"g",
				"",
				func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
					return func(yield func(*session.Event, error) bool) {
						for _, e := range c.events {
							if !yield(e, nil) {
								return
							}
						}
					}
				},
			)
			ran := false
			after := agent.New(
				"after",
				"",
				func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
					ran = true
					return func(func(*session.Event, error) bool) {}
				},
			)
			_, err := newStage(
				t).run(workflow.Sequential("s", "", graph, after), session.Message("go"))
			require.NoError(t, err)
			require.Equal(t, c.goesOn, ran)
		})
	}
}
