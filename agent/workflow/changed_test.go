package workflow_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// renamed returns a node that had other names before.
func renamed(n *workflow.Node, was ...string) *workflow.Node {
	n.Was = was
	return n
}

// A run that has begun goes on with a graph whose nodes have other names, from wherever it was left.
// Without Node.Was that is NODE_GONE.
func TestRenamedNodes(t *testing.T) {
	fails := func(name string) *workflow.Node {
		return workflow.Func(name, func(context.Context, *workflow.Run, any) (any, error) {
			return nil, errors.New("not yet")
		})
	}
	parent := func(child *workflow.Node) *workflow.Node {
		return workflow.Func("p", func(ctx context.Context, r *workflow.Run, in any) (any, error) {
			return workflow.Do[any](ctx, r, child, "x", in)
		})
	}
	inner := func(n *workflow.Node) *workflow.Node {
		g, err := workflow.New(workflow.Graph{Name: "in", Edges: chain(start, n)})
		require.NoError(t, err)
		return workflow.Agent(g)
	}
	asking := func(name string) *workflow.Node { return asker[string](name, "q") }
	sets := func(name string) *workflow.Node {
		return workflow.Func(name, func(_ context.Context, r *workflow.Run, _ any) (int, error) {
			r.Set("k", name)
			return 1, nil
		})
	}
	looped := func(name string) []workflow.Edge {
		n := workflow.Func(name, func(ctx context.Context, r *workflow.Run, in any) (any, error) {
			if r.Path == "wf@m/c@1" {
				r.Route("again")
				return in, nil
			}
			return workflow.Ask[any](ctx, r, "q", "q?")
		})
		if name != "c" {
			n.Was = []string{"c"}
		}
		return append(chain(start, n), workflow.Edge{From: n, To: n, Route: "again"})
	}
	for name, tt := range map[string]struct {
		before, after []workflow.Edge
		input         *session.Event
		then          []string // the steps
	}{
		"ended nodes": {
			before: chain(start, gives("a", 1), takes("b"), asking("c")),
			after:  chain(start, renamed(gives("a2", 7), "a"), renamed(takes("b2"), "z", "b"), asking("c"), takes("d")),
			input:  answer("c@1#q", "yes"),
			then:   []string{`c@1: ["yes"]`, `d@1: ["yes"]`, `wf: ["yes"]`},
		},
		"one that waits": {
			before: chain(start, asking("c")),
			after:  chain(start, renamed(asking("c2"), "c"), takes("d")),
			input:  answer("c@1#q", "yes"),
			then:   []string{`c@1: ["yes"]`, `d@1: ["yes"]`, `wf: ["yes"]`},
		},
		"one that has set a state key that a later one sets": {
			before: chain(start, sets("a"), asking("c")),
			after:  chain(start, renamed(sets("a2"), "a"), asking("c"), sets("d")),
			input:  answer("c@1#q", "yes"),
			then:   []string{`c@1: ["yes"]`, "d@1: 1", "wf: 1"},
		},
		"one that has failed": {
			before: chain(start, gives("a", 1), fails("b")),
			after:  chain(start, gives("a", 1), renamed(takes("b2"), "b")),
			then:   []string{"b@1: 1", "wf: 1"},
		},
		"a child": {
			before: chain(start, parent(asking("c"))),
			after:  chain(start, parent(renamed(asking("c2"), "c"))),
			input:  answer("p@1/c@x#q", "yes"),
			then:   []string{`p@1/c@x: ["yes"]`, `p@1: ["yes"]`, `wf: ["yes"]`},
		},
		"a graph": {
			before: chain(start, called("g", inner(asking("c")))),
			after:  chain(start, renamed(called("g2", inner(renamed(asking("c2"), "c"))), "g")),
			input:  answer("g@1/c@1#q", "yes"),
			then:   []string{`g@1/c@1: ["yes"]`, `g@1: ["yes"]`, `wf: ["yes"]`},
		},
		"an agent that waits": {
			before: chain(start, workflow.Agent(asks("f"))),
			after:  chain(start, renamed(called("f2", workflow.Agent(asks("f"))), "f"), takes("d")),
			input:  yes("f"),
			then:   []string{"f@1: says ", "f@1: says done", `f@1: "done"`, `d@1: "done"`, `wf: "done"`},
		},
		"a loop in its second round": {
			before: looped("c"),
			after:  looped("c2"),
			input:  answer("c@2#q", "yes"),
			then:   []string{`c@2: "yes"`, "wf: null"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.steps(newGraph(t, tt.before), message("m"))
			old := newStage(t)
			old.restore(without(s.live()))
			require.Equal(t, tt.then, s.steps(newGraph(t, tt.after), tt.input))

			// The picture shows what it did under its old name.
			var b bytes.Buffer
			require.NoError(t, workflow.PictureOf(newGraph(t, tt.after)).Mermaid(&b, old.workflow()))
			require.Regexp(t, `(?m)^  (n1.*:::|class n1 )`, b.String())

			if name == "a child" {
				return // its function calls whatever it likes
			}
			for _, e := range tt.after {
				e.To.Was = nil
			}
			steps := old.steps(newGraph(t, tt.after), tt.input)
			require.Equal(t, "wf: NODE_GONE", steps[len(steps)-1])
		})
	}
}

// workflow returns what the log has of the workflow's run.
func (s *stage) workflow() *session.WorkflowRun {
	return session.NewWorkflowRuns(s.live()).Workflow("wf@m")
}

// What a node did that the graph does not have any more counts for nothing, if the graph says so: its question is
// not asked any more, its output goes nowhere. Otherwise the run is refused, and the error says what can be said.
func TestGoneNodes(t *testing.T) {
	a := gives("a", 1)
	old := []*workflow.Node{asker[string]("old", "q"), takes("ended")}
	before := append(chain(start, a, old[0]), chain(a, old[1])...)
	after := chain(start, gives("a", 1), takes("b"), asker[string]("c", "q"))
	s := newStage(t)
	require.ElementsMatch(t, []string{"a@1: 1", "ended@1: 1", "old@1: calls adk_request_input"},
		s.steps(newGraph(t, before), message("m")))

	events, err := s.events(newGraph(t, after), nil)
	require.NoError(t, err)
	require.Equal(t, workflow.NodeGone, events[0].ErrorCode)
	for _, what := range []string{"wf@m/ended@1", "Was", "was:", "Graph.Gone", "gone:", "abandon"} {
		require.Contains(t, events[0].ErrorMessage, what)
	}

	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: after, Gone: []string{"old", "ended"}})
	require.NoError(t, err)
	require.Equal(t, []string{"old@1: says ", "b@1: 1", "c@1: calls adk_request_input"}, s.steps(g, nil))
	require.Empty(t, s.workflow().Nodes[2].Waits(), "nobody is asked what a node that is gone wanted to know")
	_, err = s.events(g, answer("old@1#q", "late"))
	require.Error(t, err)
	require.Equal(t, []string{`c@1: ["yes"]`, `wf: ["yes"]`}, s.steps(g, answer("c@1#q", "yes")))
}

// A run that no edge leads to any more is made again by a node of another name.
func TestARunThatNoEdgeLeadsTo(t *testing.T) {
	s := newStage(t)
	s.steps(newGraph(t, chain(start, takes("a"), asker[string]("b", "q"))), message("m"))
	between := []*workflow.Node{start, takes("a"), gives("new", 2), asker[string]("b", "q")}
	events, err := s.events(newGraph(t, chain(between...)), nil)
	require.NoError(t, err)
	require.Contains(t, events[0].ErrorMessage, "give the node another name and list b in Graph.Gone")

	between[3].Name = "b2"
	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: chain(between...), Gone: []string{"b"}})
	require.NoError(t, err)
	require.Equal(t, []string{"b@1: says ", "new@1: 2", "b2@1: calls adk_request_input"}, s.steps(g, nil))
}

// Names of before that could mean two nodes are refused.
func TestNamesOfBeforeAreClear(t *testing.T) {
	for name, g := range map[string]workflow.Graph{
		"a node's own":    {Edges: chain(start, renamed(takes("a"), "a"))},
		"another node's":  {Edges: chain(start, renamed(takes("a"), "b"), takes("b"))},
		"twice":           {Edges: chain(start, renamed(takes("a"), "c"), renamed(takes("b"), "c"))},
		"of a child":      {Edges: chain(start, takes("a")), Children: []*workflow.Node{renamed(takes("b"), "a")}},
		"gone and not":    {Edges: chain(start, takes("a")), Gone: []string{"a"}},
		"gone and before": {Edges: chain(start, renamed(takes("a"), "b")), Gone: []string{"b"}},
	} {
		g.Name = "wf"
		_, err := workflow.New(g)
		require.ErrorContains(t, err, "one", name)
	}
}

// A question of a node that is of another kind by now does not wait any more when the node's run has ended.
func TestQuestionOfANodeOfAnotherKind(t *testing.T) {
	for name, n := range map[string]*workflow.Node{
		"an agent": workflow.Agent(says("a", "hi")),
		"a graph":  inner(t, "a", gives("x", 1)),
		"a worker": called("a", workflow.Each(gives("x", 1), 0)),
		"a tool": called("a", workflow.Tool(&tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: "t"},
			Run:         func(context.Context, *tool.Call) (map[string]any, error) { return map[string]any{"result": 1}, nil },
		})),
	} {
		if name == "a tool" {
			n.Input = func(any, map[string]any) (any, error) { return nil, nil }
		}
		s := newStage(t)
		s.steps(newGraph(t, chain(start, asker[string]("a", "q"), takes("b"))), message("m"))
		steps := s.steps(newGraph(t, chain(start, n, takes("b"))), nil)
		require.Regexp(t, "^wf: ", steps[len(steps)-1], name)
		for _, c := range session.Calls(s.live()) {
			require.False(t, c.Waits(), "%s: %s", name, c.ID)
		}
	}
}
