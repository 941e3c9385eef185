package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

var (
	start = workflow.Start
	chain = workflow.Chain
)

// gives is a node with an output, whatever its input.
func gives[T any](name string, out T) *workflow.Node {
	return workflow.Func(name,
		func(context.Context, *workflow.Run, struct{}) (T, error) { return out, nil })
}

// takes is a node that hands its input on.
func takes(name string) *workflow.Node {
	return workflow.Func(name,
		func(_ context.Context, _ *workflow.Run, in any) (any, error) { return in, nil })
}

// routes is a node that chooses a route.
func routes(name string, route any) *workflow.Node {
	return workflow.Func(name, func(_ context.Context, r *workflow.Run, in any) (any, error) {
		r.Route(route)
		return in, nil
	})
}

// notes is a node that notes its input.
func notes(name string, to *[]any) *workflow.Node {
	var mu sync.Mutex
	return workflow.Func(name, func(_ context.Context, _ *workflow.Run, in any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		*to = append(*to, in)
		return in, nil
	})
}

func called(name string, n *workflow.Node) *workflow.Node {
	n.Name = name
	return n
}

func newGraph(t *testing.T, edges ...[]workflow.Edge) agent.Agent {
	t.Helper()
	g, err := workflow.New(workflow.Graph{Name: "wf", Edges: slices.Concat(edges...)})
	require.NoError(t, err)
	return g
}

// events runs an agent, and returns what was yielded.
func (s *stage) events(root agent.Agent, input *session.Event) ([]*session.Event, error) {
	r, err := runner.New(runner.Options{Agent: root, Sessions: s.svc, Plugins: s.plugins, Now: s.now})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, r.Close(context.Background())) }()
	var events []*session.Event
	for e, err := range r.Run(s.t.Context(), key, input, session.RunConfig{Create: true}) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// steps runs an agent, and returns what the runs of nodes did, each as "path without the name of
// the workflow's run: what".
func (s *stage) steps(root agent.Agent, input *session.Event) []string {
	s.t.Helper()
	events, err := s.events(root, input)
	require.NoError(s.t, err)
	steps := []string{}
	for _, e := range events {
		if e.NodeInfo == nil {
			continue
		}
		_, path, _ := strings.Cut(e.NodeInfo.Path, "/")
		if path == "" {
			path = "wf"
		}
		what := ""
		switch {
		case e.ErrorCode != "":
			what = e.ErrorCode
		case len(e.FunctionCalls()) > 0:
			what = "calls " + e.FunctionCalls()[0].Name
		case e.NodeInfo.Ended:
			data, _ := json.Marshal(e.Output)
			what = string(data)
			if e.Actions.Route != nil {
				what += fmt.Sprint(" route ", e.Actions.Route)
			}
		default:
			what = "says " + e.Text()
		}
		steps = append(steps, path+": "+what)
	}
	return steps
}

func message(id string) *session.Event {
	e := session.Message("hello")
	e.ID = id
	return e
}

// Behaviours 1 to 8: what can be built.
func TestGraphsThatAreRefused(t *testing.T) {
	a, b, c := takes("a"), takes("b"), takes("c")
	text := workflow.Func("text",
		func(context.Context, *workflow.Run, string) (string, error) { return "", nil })
	number := workflow.Func("number",
		func(context.Context, *workflow.Run, int) (int, error) { return 0, nil })
	type full struct{ Name, Town string }
	type part struct{ Name string }
	town := workflow.Func("town",
		func(context.Context, *workflow.Run, full) (full, error) { return full{}, nil })
	named := workflow.Func("named",
		func(context.Context, *workflow.Run, part) (part, error) { return part{}, nil })
	for _, tt := range []struct {
		name  string
		edges []workflow.Edge
		want  []string
	}{
		{
			"two nodes of one name",
			chain(start, a, gives("a", 1)),
			[]string{`two nodes are named "a"`},
		},
		{
			"also of another kind",
			chain(start, a, workflow.Join("a")),
			[]string{`two nodes are named "a"`},
		},
		{
			"no way from Start",
			append(chain(start, a), workflow.Edge{From: b, To: a}),
			[]string{"no way from Start leads to the node b"},
		},
		{
			"an edge into Start",
			append(chain(start, a), workflow.Edge{From: a, To: start}),
			[]string{"no edge leads to Start"},
		},
		{
			"a route out of Start",
			[]workflow.Edge{{From: start, To: a, Route: "x"}},
			[]string{"an edge from Start must have no route"},
		},
		{
			"a cycle without a route",
			append(chain(start, a, b, c), workflow.Edge{From: c, To: b}),
			[]string{"b → c → b are a cycle"},
		},
		{
			"two defaults",
			append(chain(start, a), workflow.Edge{From: a, To: b, Route: workflow.Default}, workflow.Edge{From: a, To: c, Route: workflow.Default}),
			[]string{"only one can"},
		},
		{
			"a default in a list",
			append(chain(start, a), workflow.Edge{From: a, To: b, Route: []any{"x", workflow.Default}}),
			[]string{"a list of routes has Default in it"},
		},
		{
			"an edge twice",
			append(chain(start, a, b), workflow.Edge{From: a, To: b}),
			[]string{"from a to b is there twice"},
		},
		{
			"a route twice",
			append(chain(start, a), workflow.Edge{From: a, To: b, Route: []any{"x", "y"}}, workflow.Edge{From: a, To: b, Route: "y"}),
			[]string{"is there twice"},
		},
		{
			"a route that is none",
			append(chain(start, a), workflow.Edge{From: a, To: b, Route: map[string]any{}}),
			[]string{"must be a string, a number, a bool"},
		},
		{
			"types that do not fit",
			chain(start, text, number),
			[]string{"it is of type string, and must be of type integer"},
		},
		{"objects that do not fit", chain(start, named, town), []string{"it has no Town"}},
		{"a nil", []workflow.Edge{{From: start}}, []string{"has no From or no To"}},
		{
			"a node that nobody made",
			chain(start, &workflow.Node{Name: "x"}),
			[]string{"node x: it was not made by"},
		},
		{"a name with a slash", chain(start, takes("a/b")), []string{"must not be empty or START"}},
		{"a parameter without a type in JSON", chain(start, a, workflow.Func("f", func(context.Context, *workflow.Run, struct {
			F func() `state:"f"`
		}) (int, error) {
			return 0, nil
		})), []string{`node f: the parameter "f"`}},
		{"nothing to run", chain(start, called("e", workflow.Each(nil, 0)), called("t", workflow.Tool(nil)), called("a", workflow.Agent(nil))), []string{
			"it has no node to run", "the tool is nil", "the agent is nil"}},
		{
			"everything at once",
			append(chain(start, a, gives("a", 1)), workflow.Edge{From: b, To: start}),
			[]string{`two nodes are named "a"`, "no edge leads to Start", "node b"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := workflow.New(workflow.Graph{Name: "wf", Edges: tt.edges})
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
	_, err := workflow.New(workflow.Graph{
		Name:  "wf",
		Edges: append(chain(start, a, b), workflow.Edge{From: b, To: a, Route: "again"}),
	})
	require.NoError(t, err, "a cycle with a route")
	_, err = workflow.New(workflow.Graph{Name: "wf", Edges: chain(start, town, named)})
	require.NoError(t, err, "an object with more than what is wanted")
	_, err = workflow.New(workflow.Graph{Name: "a.b"})
	require.ErrorContains(t, err, "must not be empty")
}

// Each graph, with what its runs do. The numbers are those of the behaviours of the Python kit.
func TestGraphs(t *testing.T) {
	inner := func(name string, edges ...[]workflow.Edge) *workflow.Node {
		g, err := workflow.New(workflow.Graph{Name: name, Edges: slices.Concat(edges...)})
		require.NoError(t, err)
		return workflow.Agent(g)
	}
	x, y := gives("x", 1), gives("y", "two")
	j := workflow.Join("j")
	join := slices.Concat(chain(start, x, j), chain(start, y, j))
	count := workflow.Func("count", func(_ context.Context, r *workflow.Run, in any) (any, error) {
		n, _ := r.Get("n").(float64)
		r.Set("n", n+1)
		if n < 2 {
			r.Route("again")
		}
		return n, nil
	})
	type person struct{ Name string }
	for _, tt := range []struct {
		name  string
		edges []workflow.Edge
		want  []string
	}{
		{"1 an empty graph", nil, []string{"wf: null"}},
		{"8 one name inside and outside", chain(start, takes("x1"), inner("in", chain(start, takes("x1")))), []string{
			`x1@1: "hello"`, `in@1/x1@1: "hello"`, `in@1: "hello"`, `wf: "hello"`}},
		{
			"9, 10 the input of Start and the output of each",
			chain(start, takes("a"), takes("b")),
			[]string{`a@1: "hello"`, `b@1: "hello"`, `wf: "hello"`},
		},
		{"11 outputs that are false", chain(start, gives("a", 0), takes("b"), gives("c", ""), takes("d"), gives("e", []int(nil)), takes("f"), gives("g", false), takes("h")), []string{
			"a@1: 0", "b@1: 0", `c@1: ""`, `d@1: ""`, "e@1: []", "f@1: []", "g@1: false", "h@1: false", "wf: false"}},
		{
			"11 no output",
			chain(start, gives("a", (*person)(nil)), takes("b")),
			[]string{"a@1: null", "b@1: null", "wf: null"},
		},
		{
			"12 structs become data",
			chain(start, gives("a", person{"Mina"}), takes("b")),
			[]string{`a@1: {"Name":"Mina"}`, `b@1: {"Name":"Mina"}`, `wf: {"Name":"Mina"}`},
		},
		{"22 data becomes structs", chain(start, gives("a", []map[string]any{{"Name": "Mina"}}), workflow.Func("b", func(_ context.Context, _ *workflow.Run, in []person) (string, error) { return in[0].Name, nil })), []string{
			`a@1: [{"Name":"Mina"}]`, `b@1: "Mina"`, `wf: "Mina"`}},
		{"40 a join takes all, nulls too", slices.Concat(join, chain(start, gives("z", (*int)(nil)), j)), []string{
			"x@1: 1", `y@1: "two"`, "z@1: null", `j@1: {"x":1,"y":"two","z":null}`, `wf: {"x":1,"y":"two","z":null}`}},
		{"37 a loop", append(chain(start, count), workflow.Edge{From: count, To: count, Route: "again"}), nil},
		{"43 workers", chain(start, gives("a", []int{3, 1}), workflow.Each(takes("w"), 1), takes("z")), []string{
			"a@1: [3,1]", "w@1/w@1: 3", "w@1/w@2: 1", "w@1: [3,1]", "z@1: [3,1]", "wf: [3,1]"}},
		{
			"43 one item",
			chain(start, gives("a", "one"), workflow.Each(takes("w"), 0)),
			[]string{`a@1: "one"`, `w@1/w@1: "one"`, `w@1: ["one"]`, `wf: ["one"]`},
		},
		{
			"43 no items",
			chain(start, gives("a", []int{}), workflow.Each(takes("w"), 0)),
			[]string{"a@1: []", "w@1: []", "wf: []"},
		},
		{"47, 48 three levels", chain(start, inner("in", chain(start, inner("deep", chain(start, gives("a", 1)))))), []string{
			"in@1/deep@1/a@1: 1", "in@1/deep@1: 1", "in@1: 1", "wf: 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				return
			}
			require.Equal(t, tt.want,
				onOneCore(newStage(t).steps(newGraph(t, tt.edges), message("m")), tt.want))
		})
	}
	// 2: there is one way to write a graph, and Chain. 13: a function has one output by its type;
	// 24: Go has no union types, an any takes all; 41: nodes at once share the branch, since an
	// agent in a node has one of its own; 38: there is no gate, a Join is one. 74: the engine sets
	// the author.
	refused := append(chain(start, count), workflow.Edge{From: count, To: count, Route: "again"})
	require.Equal(t, []string{"count@1: 0 route again", "count@2: 1 route again", "count@3: 2"},
		newStage(t).steps(newGraph(t, refused), message("m"))[:3])
}

// onOneCore brings steps of nodes that ran at the same time into the order that is wanted.
func onOneCore(got, want []string) []string {
	slices.SortStableFunc(got,
		func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
	return got
}

// 32 to 36.
func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		route any
		want  string
	}{
		{"x", "x always"}, {2, "two always"}, {2.0, "two always"}, {true, "yes always"}, {"y", "x always"},
		{[]any{"x", 2}, "x two always"}, {[]string{"none", "x"}, "x always"},
		{"none", "otherwise always"}, {nil, "otherwise always"}, {1, "otherwise always"}, {false, "otherwise always"},
	} {
		a := routes("a", tt.route)
		end := func(name string) *workflow.Node {
			return workflow.Func(
				name,
				func(_ context.Context, _ *workflow.Run, in struct{}) (*int, error) { return nil, nil },
			)
		}
		g := newGraph(t, chain(start, a), []workflow.Edge{
			{From: a, To: end("x"), Route: []string{"x", "y"}},
			{From: a, To: end("two"), Route: 2},
			{From: a, To: end("yes"), Route: true},
			{From: a, To: end("otherwise"), Route: workflow.Default},
			{From: a, To: end("always")},
		})
		var names []string
		for _, s := range onOneCore(newStage(t).steps(g, message("m")), []string{}) {
			name, _, _ := strings.Cut(s, "@")
			if !strings.HasPrefix(s, "a@") && !strings.HasPrefix(s, "wf") {
				names = append(names, name)
			}
		}
		want := strings.Fields(tt.want)
		slices.Sort(names)
		slices.Sort(want)
		require.Equal(t, want, names, "route %v", tt.route)
	}

	// 36: a route without an output goes on; the input is null.
	a := workflow.Func(
		"a",
		func(_ context.Context, r *workflow.Run, _ struct{}) (*int, error) { r.Route("x"); return nil, nil },
	)
	b := takes("b")
	require.Equal(
		t,
		[]string{"a@1: null route x", "b@1: null", "wf: null"},
		newStage(
			t,
		).steps(newGraph(t, chain(start, a), []workflow.Edge{{From: a, To: b, Route: "x"}}), message("m")),
	)

	// A route that is none fails the node.
	bad := routes("a", map[string]any{"x": 1})
	require.Equal(t, []string{"a@1: NODE_FAILED", "wf: NODE_FAILED"},
		newStage(t).steps(newGraph(t, chain(start, bad)), message("m")))
}

// 42: two nodes that lead to a plain node run it twice; 13: a workflow has one output.
func TestTwoTriggers(t *testing.T) {
	var in []any
	z := notes("z", &in)
	end := workflow.Func("end",
		func(_ context.Context, _ *workflow.Run, _ any) (*int, error) { return nil, nil })
	g := newGraph(t, chain(start, gives("x", 1), z, end), chain(start, gives("y", 2), z))
	newStage(t).steps(g, message("m"))
	require.ElementsMatch(t, []any{1.0, 2.0}, in)

	g = newGraph(t, chain(start, gives("x", 1)), chain(start, gives("y", 2)))
	events, err := newStage(t).events(g, message("m"))
	require.NoError(t, err)
	last := events[len(events)-1]
	require.Equal(t, workflow.NodeOutputs, last.ErrorCode)
	require.Contains(t, last.ErrorMessage, "2 outputs, of the nodes x, y")
}

// 14, 15, 29: messages come in order before the output, and are no input; state comes with the end.
func TestMessages(t *testing.T) {
	var said []any
	a := workflow.Func("a", func(_ context.Context, r *workflow.Run, _ string) (string, error) {
		r.Set("k", []byte("bytes")) // 16
		r.Set("gone", nil)
		if err := errors.Join(r.Say("one"), r.Say("two")); err != nil {
			return "", err
		}
		r.Set("l", r.Get("k") != nil)
		return "out", nil
	})
	a.OutputKey = "a"
	s := newStage(t)
	require.Equal(t,
		[]string{"a@1: says one", "a@1: says two", `a@1: "out"`, `b@1: "out"`, `wf: "out"`},
		s.steps(newGraph(t, chain(start, a, notes("b", &said))), message("m")))
	require.Equal(t, []any{"out"}, said)
	state, err := s.svc.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"k": "Ynl0ZXM=", "l": true, "a": "out"}, state.State)
}

// 17 to 23, 25 to 27.
func TestParameters(t *testing.T) {
	type place struct {
		Town string `json:"town"`
	}
	type params struct {
		In    int     `state:"node_input"`
		Tone  string  `state:"tone"`
		More  []place `state:"more,omitempty"`
		Maybe *int    `state:"maybe"`
		Other string  // no parameter
	}
	sets := func(values map[string]any, out any) *workflow.Node {
		return workflow.Func(
			"set",
			func(_ context.Context, r *workflow.Run, _ struct{}) (any, error) {
				for k, v := range values {
					r.Set(k, v)
				}
				return out, nil
			},
		)
	}
	take := workflow.Func(
		"take",
		func(_ context.Context, _ *workflow.Run, in params) (string, error) {
			return fmt.Sprintf("%+v", in), nil
		},
	)
	whole := workflow.Func("whole",
		func(_ context.Context, _ *workflow.Run, in place) (string, error) { return in.Town, nil })
	number := workflow.Func("number",
		func(_ context.Context, _ *workflow.Run, in int) (int, error) { return in, nil })
	many := map[string]any{"tone": "kind", "more": []place{{"Oslo"}}}
	for _, tt := range []struct {
		name  string
		state map[string]any
		out   any
		node  *workflow.Node
		want  string
	}{
		{"19 input and state", many, 3, take, "{In:3 Tone:kind More:[{Town:Oslo}] Maybe:<nil> Other:}"},
		{"20 missing", nil, 3, take, `the parameter "tone" is missing: the state has no such key`},
		{"20 no output before", many, nil, take, `the parameter "node_input" is missing`},
		{"21 not needed", map[string]any{"tone": ""}, 3, take, "{In:3 Tone: More:[] Maybe:<nil> Other:}"},
		{"23 a wrong item", map[string]any{"tone": "x", "more": []any{map[string]any{"town": 1}}}, 3, take, `the parameter "more" does not fit: /*/town`},
		{"23 an item lacks something", map[string]any{"tone": "x", "more": []any{map[string]any{}}}, 3, take, `the parameter "more" does not fit: /*/town: is missing`},
		{"18 the input lacks something", nil, map[string]any{"tow": "Oslo"}, whole, `the parameter "node_input" does not fit: /town: is missing`},
		{"18 the input has more", nil, map[string]any{"town": "Oslo", "x": 1}, whole, "Oslo"},
		{"a text that is an object", nil, `{"town":"Oslo"}`, whole, "Oslo"},
		{"no number of a text", nil, "3", number, `the parameter "node_input" does not fit: it is "3", and must be of type int`},
		{"no int of a fraction", nil, 1.5, number, "does not fit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, err := newStage(
				t).events(newGraph(t, chain(start, sets(tt.state, tt.out), tt.node)), message("m"))
			require.NoError(t, err)
			last := events[len(events)-1]
			require.Contains(t, fmt.Sprint(last.Output, last.ErrorMessage), tt.want)
			if last.Output == nil {
				require.Equal(t, workflow.NodeInput, last.ErrorCode)
				failed := events[len(events)-2]
				require.Equal(t, workflow.NodeInput, failed.ErrorCode)
				require.Len(t, events, 4, "it is not tried again")
			}
		})
	}

	// 25: what the workflow begins with.
	input := session.Message("Hello, ")
	input.Content.Parts = append(input.Content.Parts, &genai.Part{Text: "you"},
		&genai.Part{InlineData: &genai.Blob{MIMEType: "x/y", Data: []byte{1}}})
	var parts int
	text := workflow.Func("text",
		func(_ context.Context, r *workflow.Run, in string) (string, error) { return in, nil })
	content := workflow.Func(
		"content",
		func(_ context.Context, r *workflow.Run, in *genai.Content) (*int, error) {
			parts = len(in.Parts)
			require.Equal(t, in, r.UserContent)
			return nil, nil
		},
	)
	events, err := newStage(t).events(newGraph(t, chain(start, text), chain(start, content)), input)
	require.NoError(t, err)
	require.Equal(t, "Hello, you", events[len(events)-1].Output)
	require.Equal(t, 3, parts)
}

// 28, 31: what a graph in a graph writes is read outside.
func TestInputOfANode(t *testing.T) {
	// It is made of the output before and the state, also where that would not fit the node.
	words := gives("words", []string{"a", "b"})
	words.OutputKey = "words"
	count := workflow.Func("count",
		func(_ context.Context, _ *workflow.Run, n int) (int, error) { return n, nil })
	count.Input = func(input any, state map[string]any) (any, error) {
		return len(input.([]any)) + len(state["words"].([]any)), nil
	}
	require.Equal(t, "count@1: 4",
		newStage(t).steps(newGraph(t, chain(start, words, count)), message("m"))[1])

	// Of each item, too.
	double := workflow.Func("double",
		func(_ context.Context, _ *workflow.Run, s string) (string, error) { return s, nil })
	double.Input = func(input any, _ map[string]any) (any, error) { return fmt.Sprint(input, input), nil }
	require.Contains(t,
		newStage(t).steps(newGraph(t, chain(start, words, workflow.Each(double, 0))), message("m")),
		`double@1: ["aa","bb"]`)

	// An error, or a panic, fails the run, once.
	double.Retry.Attempts = 3
	for _, input := range []func(any, map[string]any) (any, error){
		func(any, map[string]any) (any, error) { return nil, errors.New("no") },
		func(any, map[string]any) (any, error) { panic("no") },
	} {
		double.Input = input
		require.Equal(t, []string{"double@1: NODE_INPUT", "wf: NODE_INPUT"},
			newStage(t).steps(newGraph(t, chain(start, double)), message("m")))
	}
}

func TestStateOfGraphInGraph(t *testing.T) {
	in, err := workflow.New(workflow.Graph{
		Name: "in",
		Edges: chain(start, workflow.Func(
			"w",
			func(_ context.Context, r *workflow.Run, _ struct{}) (*int, error) {
				r.Set("k", "v")
				return nil, nil
			},
		)),
	})
	require.NoError(t, err)
	type param struct {
		K string `state:"k"`
	}
	read := workflow.Func(
		"read",
		func(_ context.Context, r *workflow.Run, in param) (string, error) {
			return in.K + fmt.Sprint(r.Get("k")), nil
		},
	)
	require.Equal(t, []string{"in@1/w@1: null", "in@1: null", `read@1: "vv"`, `wf: "vv"`},
		newStage(t).steps(newGraph(t, chain(start, workflow.Agent(in), read)), message("m")))
}

// What a node is told of its run.
func TestWhatARunKnows(t *testing.T) {
	j := workflow.Join("j")
	var seen *workflow.Run
	z := workflow.Func("z", func(ctx context.Context, r *workflow.Run, _ struct{}) (*int, error) {
		seen = r
		version, err := r.Save(ctx, "file", &genai.Part{Text: "x"})
		require.NoError(t, err)
		require.EqualValues(t, 0, version)
		require.Equal(t, "m", r.Invocation().ID)
		return nil, nil
	})
	g, err := workflow.New(
		workflow.Graph{Name: "wf", Artifacts: artifact.NewMemory(), Edges: slices.Concat(
			chain(start, gives("x", 1), j, z), chain(start, gives("y", 1), j))},
	)
	require.NoError(t, err)
	events, err := newStage(t).events(g, message("m"))
	require.NoError(t, err)
	require.Equal(t, "wf@m/z@1", seen.Path)
	require.Equal(t, 1, seen.Attempt)
	require.Equal(t, "j", seen.TriggeredBy)
	require.Equal(t, []string{"j"}, seen.Predecessors)
	require.Equal(t, key, seen.Session)
	require.Equal(t, "hello", seen.UserContent.Parts[0].Text)
	require.Equal(t, map[string]int64{"file": 0}, events[len(events)-2].Actions.ArtifactDelta)
	for _, e := range events[1:] {
		require.Equal(t, "wf", e.Author)
	}
}

// 39, 44, 46: nodes run at the same time, as many as may.
func TestNodesAtOnce(t *testing.T) {
	for limit, want := range map[int]int32{0: 4, 2: 2, 1: 1} {
		var now, most atomic.Int32
		var edges [][]workflow.Edge
		for i := range 4 {
			edges = append(edges, chain(start, workflow.Func(
				fmt.Sprint("n", i),
				func(context.Context, *workflow.Run, struct{}) (*int, error) {
					n := now.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					for end := time.Now().Add(time.Minute); most.Load() < want && time.Now().Before(end); { // the others come
						time.Sleep(time.Millisecond)
					}
					time.Sleep(20 * time.Millisecond) // and perhaps too many
					now.Add(-1)
					return nil, nil
				},
			)))
		}
		g, err := workflow.New(
			workflow.Graph{Name: "wf", Edges: slices.Concat(edges...), Limit: limit})
		require.NoError(t, err)
		newStage(t).steps(g, message("m"))
		require.Equal(t, want, most.Load(), "limit %d", limit)
	}

	// Workers have a limit of their own.
	var now, most atomic.Int32
	w := workflow.Func("w", func(context.Context, *workflow.Run, int) (int, error) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(2 * time.Millisecond)
		now.Add(-1)
		return 1, nil
	})
	newStage(
		t,
	).steps(newGraph(t, chain(start, gives("a", make([]int, 20)), workflow.Each(w, 3))), message("m"))
	require.LessOrEqual(t, most.Load(), int32(3))
}

// 45, 56 to 61: attempts, failures and time-outs.
func TestRetry(t *testing.T) {
	flaky := func(name string, fails int) *workflow.Node {
		return workflow.Func(name, func(_ context.Context, r *workflow.Run, _ any) (int, error) {
			if r.Attempt <= fails {
				r.Set("lost", r.Attempt)
				return 0, fmt.Errorf("attempt %d", r.Attempt)
			}
			return r.Attempt, nil
		})
	}
	a := flaky("a", 2)
	a.Retry.Attempts = 3
	s := newStage(t)
	require.Equal(t, []string{"a@1: NODE_FAILED", "a@1: NODE_FAILED", "a@1: 3", "wf: 3"},
		s.steps(newGraph(t, chain(start, a)), message("m")))
	state, err := s.svc.Get(t.Context(), key)
	require.NoError(t, err)
	require.Empty(t, state.State, "a failed attempt sets nothing")

	// 59: it gives up; who goes on tries again, with new attempts.
	b := flaky("b", 3)
	b.Retry.Attempts = 2
	s = newStage(t)
	g := newGraph(t, chain(start, gives("x", 1), b))
	require.Equal(t, []string{"x@1: 1", "b@1: NODE_FAILED", "b@1: NODE_FAILED", "wf: NODE_FAILED"},
		s.steps(g, message("m")))
	require.Equal(t, []string{"b@1: NODE_FAILED", "b@1: 4", "wf: 4"}, s.steps(g, nil))
	require.Empty(t, s.steps(g, nil), "it has ended")

	// 57: only some errors; a panic is one.
	only := errors.New("only this")
	c := workflow.Func("c", func(_ context.Context, r *workflow.Run, _ any) (int, error) {
		if r.Attempt == 1 {
			return 0, fmt.Errorf("wrapped: %w", only)
		}
		panic("oh")
	})
	c.Retry = workflow.Retry{Attempts: 5, If: func(err error) bool { return errors.Is(err, only) }}
	events, err := newStage(t).events(newGraph(t, chain(start, c)), message("m"))
	require.NoError(t, err)
	require.Len(t, events, 4)
	require.Contains(t, events[2].ErrorMessage, "panic: oh")

	// 58: the delays.
	d := flaky("d", 3)
	d.Retry = workflow.Retry{
		Attempts: 4,
		Delay:    10 * time.Millisecond,
		Factor:   3,
		Max:      20 * time.Millisecond,
	}
	began := time.Now()
	newStage(t).steps(newGraph(t, chain(start, d)), message("m"))
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)

	// 61: time-outs fail, and are retried; a fast node is not hit.
	e := workflow.Func("e", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		if r.Attempt == 1 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return 7, nil
	})
	e.Timeout = 100 * time.Millisecond
	e.Retry.Attempts = 2
	require.Equal(t, []string{"e@1: NODE_TIMEOUT", "e@1: 7", "wf: 7"},
		newStage(t).steps(newGraph(t, chain(start, e)), message("m")))
	e.Retry.Attempts = 0
	require.Equal(t, []string{"e@1: NODE_TIMEOUT", "wf: NODE_TIMEOUT"},
		newStage(t).steps(newGraph(t, chain(start, e)), message("m")))

	// A graph in a graph is tried again; what ended in it stays.
	in, err := workflow.New(
		workflow.Graph{Name: "in", Edges: chain(start, gives("x", 1), flaky("y", 1))})
	require.NoError(t, err)
	n := workflow.Agent(in)
	n.Retry.Attempts = 2
	require.Equal(
		t,
		[]string{
			"in@1/x@1: 1",
			"in@1/y@1: NODE_FAILED",
			"in@1: NODE_FAILED",
			"in@1/y@1: 2",
			"in@1: 2",
			"wf: 2",
		},
		newStage(t).steps(newGraph(t, chain(start, n)), message("m")),
	)
}

// 60, 45: a failure cancels those that run; what ended stays.
func TestFailureCancels(t *testing.T) {
	quick := make(chan struct{})
	fail := workflow.Func(
		"fail",
		func(context.Context, *workflow.Run, any) (int, error) { <-quick; return 0, errors.New("no") },
	)
	slow := workflow.Func("slow", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		if r.Invocation().ID != "m" {
			return 1, nil
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	fast := workflow.Func(
		"fast",
		func(context.Context, *workflow.Run, any) (*int, error) { defer close(quick); return nil, nil },
	)
	j := workflow.Join("j")
	g := newGraph(t, chain(start, fail, j), chain(start, slow, j), chain(start, fast, j))
	s := newStage(t)
	steps := s.steps(g, message("m"))
	require.ElementsMatch(t, []string{"fast@1: null", "fail@1: NODE_FAILED", "wf: NODE_FAILED"},
		steps)
	require.NotContains(t, s.steps(g, nil), "fast@1: null", "it has ended")

	w := workflow.Func("w", func(ctx context.Context, r *workflow.Run, in int) (int, error) {
		if in == 1 {
			return 0, errors.New("no")
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	require.Equal(
		t,
		[]string{"a@1: [0,1,2]", "w@1/w@2: NODE_FAILED", "w@1: NODE_FAILED", "wf: NODE_FAILED"},
		newStage(
			t,
		).steps(newGraph(t, chain(start, gives("a", []int{0, 1, 2}), workflow.Each(w, 0))), message("m")),
	)
}

// A join whose other way was not taken is an error that names what it waits for.
func TestStuckJoin(t *testing.T) {
	a, j := routes("a", "left"), workflow.Join("j")
	l, r := takes("l"), takes("r")
	g := newGraph(t, chain(start, a),
		[]workflow.Edge{{From: a, To: l, Route: "left"}, {From: a, To: r, Route: "right"}},
		chain(l, j), chain(r, j))
	events, err := newStage(t).events(g, message("m"))
	require.NoError(t, err)
	last := events[len(events)-1]
	require.Equal(t, workflow.NodeStuck, last.ErrorCode)
	require.Equal(t, "the join j has the output of l and waits for that of r, which will not run",
		last.ErrorMessage)
}

func TestLoopWithoutEnd(t *testing.T) {
	a := routes("a", "again")
	g, err := workflow.New(workflow.Graph{
		Name:  "wf",
		Runs:  3,
		Edges: append(chain(start, a), workflow.Edge{From: a, To: a, Route: "again"}),
	})
	require.NoError(t, err)
	steps := newStage(t).steps(g, message("m"))
	require.Equal(t, "wf: NODE_LIMIT", steps[len(steps)-1])
	require.Len(t, steps, 4)
}

// With plugins: what successors get is what plugins left; a withheld end is none; a stop leaves the
// run.
func TestPluginsAndEnds(t *testing.T) {
	on := true
	at := func(path string, out plugin.Outcome) *plugin.Plugin {
		return &plugin.Plugin{
			Name: "p",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if !on || e.NodeInfo == nil || e.NodeInfo.Path != "wf@m/"+path ||
					!e.NodeInfo.Ended {
					return plugin.Outcome{}, nil
				}
				if out.Replace != nil {
					c := e.Clone()
					c.Output = "replaced"
					return plugin.Outcome{Replace: c}, nil
				}
				return out, nil
			},
		}
	}
	g := newGraph(t, chain(start, gives("a", "secret"), takes("b")))
	s := newStage(t, at("a@1", plugin.Outcome{Replace: &session.Event{}}))
	require.Equal(t, []string{`a@1: "replaced"`, `b@1: "replaced"`, `wf: "replaced"`},
		s.steps(g, message("m")))

	s = newStage(t, at("a@1", plugin.Outcome{Withhold: true}))
	require.Equal(t, []string{"a@1: NODE_WITHHELD", "wf: NODE_WITHHELD"}, s.steps(g, message("m")))
	require.Equal(t, []string{"a@1: NODE_WITHHELD", "wf: NODE_WITHHELD"}, s.steps(g, nil))
	on = false
	require.Equal(t, []string{`a@1: "secret"`, `b@1: "secret"`, `wf: "secret"`}, s.steps(g, nil))
	on = true

	// Who withholds all that a workflow says leaves the run as it is.
	mute := &plugin.Plugin{
		Name: "p",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{Withhold: on && e.NodeInfo != nil}, nil
		},
	}
	s = newStage(t, mute)
	require.Empty(t, s.steps(g, message("m")))
	require.Empty(t, s.steps(g, nil))
	on = false
	require.Equal(t, []string{`a@1: "secret"`, `b@1: "secret"`, `wf: "secret"`}, s.steps(g, nil))
	on = true

	s = newStage(t, at("a@1", plugin.Outcome{Stop: true}))
	require.Equal(t, []string{`a@1: "secret"`}, s.steps(g, message("m")))
	require.Equal(t, []string{`b@1: "secret"`, `wf: "secret"`}, s.steps(g, nil))
}

func (s *stage) runner(root agent.Agent) *runner.Runner {
	r, err := runner.New(runner.Options{Agent: root, Sessions: s.svc, Plugins: s.plugins})
	require.NoError(s.t, err)
	return r
}

// A list that is too long is an error before the first item runs, and is not tried again.
func TestItemsAreBounded(t *testing.T) {
	list := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	for name, tt := range map[string]struct {
		items, most, ran int
	}{
		"as many as may be":    {items: 3, most: 3, ran: 3},
		"one more":             {items: 4, most: 3},
		"what a model answers": {items: 100_000},
		"the default":          {items: 10_001},
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			item := workflow.Func("item", func(context.Context, *workflow.Run, int) (any, error) {
				ran++
				return nil, nil
			})
			each := workflow.Each(item, 1)
			each.MaxItems = tt.most
			each.Retry.Attempts = 3
			answer := &withOutput{does("model", func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
				yield(session.Reply(list(tt.items)), nil)
			})}
			steps := newStage(t).steps(newGraph(t, chain(start, workflow.Agent(answer), each)), message("m"))
			require.Equal(t, tt.ran, ran)
			if tt.ran == 0 {
				require.Equal(t, []string{"item@1: NODE_LIMIT", "wf: NODE_LIMIT"}, steps[len(steps)-2:])
			}
		})
	}
}

// withOutput is an agent that answers in JSON.
type withOutput struct{ agent.Agent }

func (withOutput) OutputSchema() any { return map[string]any{"type": "array"} }
