package config

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// What is wrong with a workflow is told with its place.
func TestAWorkflowIsChecked(t *testing.T) {
	flow := func(text string) string { return "agent:\n  name: desk\n  model: script:s.yaml\n  workflow:\n" + text }
	for _, c := range []struct{ text, want string }{
		{text: "    nodes: []\n    edges: []\n", want: "f.yaml:5:5: the workflow has no edges"},
		{text: "    nodes:\n    - {name: a, join: true}\n    edges:\n    - {from: START, to: b}\n",
			want: `f.yaml:8:25: there is no node "b"; there are a`},
		{text: "    nodes:\n    - {name: a, join: true}\n    edges:\n    - {from: strat, to: a}\n",
			want: `f.yaml:8:14: there is no node "strat"`},
		{text: "    nodes:\n    - {name: a}\n    edges:\n    - {from: START, to: a}\n",
			want: "f.yaml:6:7: the node a has no kind; it needs one of agent, tool, ask, join, each, workflow"},
		{text: "    nodes:\n    - {name: a, join: true, tool: x}\n    edges:\n    - {from: START, to: a}\n",
			want: "the node a has 2 kinds, tool and join"},
		{text: "    nodes:\n    - {name: a, tool: x}\n    edges:\n    - {from: START, to: a}\n",
			want: `f.yaml:6:23: unknown tool or server "x"`},
		{text: "    nodes:\n    - {name: a, ask: {message: ''}}\n    edges:\n    - {from: START, to: a}\n",
			want: "f.yaml:6:22: the question has no message"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi, schema: {type: sting}}}\n    edges:\n    - {from: START, to: a}\n",
			want: "f.yaml:6:"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    - {name: b, ask: {message: hi}}\n    edges:\n    - {from: START, to: a}\n",
			want: "f.yaml:7:7: no edge leads to the node b"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    edges:\n    - {from: START, to: a}\n    - {from: a, to: a, when: outptu == 1}\n",
			want: `f.yaml:9:30: when: unknown name outptu; did you mean "output"?`},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    edges:\n    - {from: START, to: a}\n    - {from: a, to: a, when: '1'}\n",
			want: "f.yaml:9:"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    edges:\n    - {from: START, to: a}\n    - {from: a, to: a, when: 'all(1..int(output), # > 0)'}\n",
			want: "ranges (a..b) are not supported"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    edges:\n    - {from: START, to: a, when: output == 1}\n",
			want: "an edge from START has no condition"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    - {name: j, join: true}\n    edges:\n    - {from: START, to: a}\n    - {from: a, to: j, when: output == 1}\n",
			want: "cannot lead to the join j"},
		{text: "    nodes:\n    - {name: a, ask: {message: hi}}\n    edges:\n    - {from: START, to: a}\n    - {to: a}\n",
			want: "f.yaml:9:7: the edge leaves no node; write from: NODE, or from: START"},
		{text: "    nodes:\n    - {name: a, join: true, args: {x: 1}}\n    edges:\n    - {from: START, to: a}\n",
			want: "f.yaml:6:35: args are the arguments of a tool, and the node a calls none"},
		{text: "    nodes:\n    - {name: a, each: {limit: 2}}\n    edges:\n    - {from: START, to: a}\n",
			want: "an each needs one of agent, tool and workflow"},
		{text: "    nodes:\n    - {name: a, agent: {instruction: x}, timeout: 0s}\n    edges:\n    - {from: START, to: a}\n",
			want: "timeout 0s: it must be more than 0"},
		{text: "    nodes:\n    - {name: a, agent: {instruction: x, tools: [y]}}\n    edges:\n    - {from: START, to: a}\n",
			want: `unknown tool or server "y"`},
	} {
		_, err := Parse("f.yaml", []byte(flow(c.text)))
		require.ErrorContains(t, err, c.want, c.text)
	}
}

// A file says all that a process needs: it asks, goes round, joins, and ends with an output.
func TestAWorkflowRuns(t *testing.T) {
	c, err := Parse("f.yaml", []byte(`
agent:
  name: desk
  workflow:
    nodes:
    - {name: size, ask: {message: "How many for {output}?", schema: {type: integer}}, output_key: size}
    - {name: colour, ask: {message: "Which colour?", schema: {enum: [red, blue]}}}
    - {name: both, join: true}
    - {name: sure, ask: {message: "{size} of {output}, sure?", schema: {type: boolean}}}
    - name: inner
      workflow:
        nodes: [{name: last, ask: {message: "Last word?{nothing?}"}}]
        edges: [{from: START, to: last}]
    edges:
    - {from: START, to: [size, colour]}
    - {from: [size], to: both}
    - {from: colour, to: both}
    - {from: both, to: sure}
    - {from: sure, to: inner, when: output and state.size > 2}
    - {from: sure, to: again, otherwise: true}
`))
	require.Error(t, err) // from is one node
	require.Nil(t, c)
	c, err = Parse("f.yaml", []byte(`
agent:
  name: desk
  workflow:
    nodes:
    - {name: size, ask: {message: "How many for {output}?", schema: {type: integer}}, output_key: size}
    - {name: colour, ask: {message: "Which colour?", schema: {enum: [red, blue]}}}
    - {name: both, join: true}
    - {name: sure, ask: {message: "{size} of {output}, sure?", schema: {type: boolean}}}
    - name: inner
      workflow:
        nodes: [{name: last, ask: {message: "Last word?{nothing?}"}}]
        edges: [{from: START, to: last}]
    edges:
    - {from: START, to: [size, colour]}
    - {from: size, to: both}
    - {from: colour, to: both}
    - {from: both, to: sure}
    - {from: sure, to: inner, when: output and state.size > 2}
    - {from: sure, to: sure, otherwise: true}
`))
	require.NoError(t, err)
	require.Equal(t,
		workflow.PictureEdge{From: "sure", To: "inner", Label: "output and state.size > 2"},
		c.Graph().Edges[5])
	require.Equal(t, "workflow", c.Graph().Nodes[4].Kind)
	require.Equal(t, []workflow.PictureNode{{Name: "last", Kind: "ask"}},
		c.Graph().Nodes[4].Inside.Nodes)
	parts, err := c.Open(t.Context(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, parts.Close(context.Background())) }()
	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()
	var lines []string
	say := func(input *session.Event) {
		for e, err := range r.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
			require.Empty(t, e.ErrorMessage)
			switch {
			case len(e.FunctionCalls()) > 0:
				asked := e.FunctionCalls()[0].Args
				line := fmt.Sprint(asked["message"])
				if enum := asked["response_schema"].(map[string]any)["enum"]; enum != nil {
					line += fmt.Sprint(" ", enum)
				}
				lines = append(lines, line)
			case e.Output != nil:
				lines = append(lines, fmt.Sprint(e.NodeInfo.Path, " ", e.Output))
			}
		}
	}
	begin := session.Message("tea")
	begin.ID = "mon"
	say(begin)
	require.ElementsMatch(t, []string{"How many for tea?", "Which colour? [red blue]"}, lines)
	lines = nil
	say(workflow.Answer("desk@mon/colour@1#answer", "green"))
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "The answer before was refused")
	lines = nil
	say(workflow.Answer("desk@mon/colour@1#answer#2", "blue"))
	say(workflow.Answer("desk@mon/size@1#answer", 3))
	say(workflow.Answer("desk@mon/sure@1#answer", false))
	say(workflow.Answer("desk@mon/sure@2#answer", true))
	say(workflow.Answer("desk@mon/inner@1/last@1#answer", "bye"))
	require.Equal(t, "desk@mon bye", lines[len(lines)-1])
}

// If no condition of a node holds, all its edges with otherwise lead on, in one edge or in several,
// and only then.
func TestOtherwiseLeadsToAllItsNodes(t *testing.T) {
	for name, edges := range map[string]string{
		"one edge":  "\n    - {from: ask, to: [pack, bill], otherwise: true}",
		"two edges": "\n    - {from: ask, to: pack, otherwise: true}\n    - {from: ask, to: bill, otherwise: true}",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse("f.yaml", []byte(`
agent:
  name: desk
  workflow:
    nodes:
    - {name: ask, ask: {message: Go?}}
    - {name: stop, ask: {message: Stop?}}
    - {name: pack, ask: {message: Packed?}}
    - {name: bill, ask: {message: Paid?}}
    edges:
    - {from: START, to: ask}
    - {from: ask, to: stop, when: output == "no"}`+edges))
			require.NoError(t, err)
			parts, err := c.Open(t.Context(), Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, parts.Close(context.Background())) }()
			r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close(context.Background())) }()
			for said, want := range map[string][]string{"no": {"Stop?"}, "yes": {"Packed?", "Paid?"}} {
				key := session.Key{App: "a", User: "u", ID: said}
				begin := session.Message("tea")
				begin.ID = "mon"
				for _, err := range r.Run(t.Context(), key, begin, session.RunConfig{Create: true}) {
					require.NoError(t, err)
				}
				var questions []string
				for e, err := range r.Run(t.Context(), key, workflow.Answer("desk@mon/ask@1#answer", said), session.RunConfig{}) {
					require.NoError(t, err)
					require.Empty(t, e.ErrorMessage)
					for _, call := range e.FunctionCalls() {
						questions = append(questions, fmt.Sprint(call.Args["message"]))
					}
				}
				require.ElementsMatch(t, want, questions, said)
			}
		})
	}
}
