package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
)

// A Graph describes a workflow: nodes, and edges along which the output of one becomes the input of
// the next. New makes an agent of it.
type Graph struct {
	// Name is the agent's name, and the author of the nodes' events.
	Name string
	// Description says what the workflow is for, for agents that may hand over to it.
	Description string
	// Edges are the edges, the first ones from Start. Where one end leads to several nodes, these get
	// it in this order.
	Edges []Edge
	// Children lists the nodes that are on no edge and that functions run with Do. A node that is an
	// agent, or has one in it, must be listed here; others may be.
	Children []*Node
	// Limit is how many nodes may run at the same time; 0 is without limit. A node that waits for a
	// person does not count.
	Limit int
	// Runs is how often one node may run in one run of the workflow, so that a loop ends; 0 is 100.
	Runs int
	// State says which state keys the nodes may set, and to what; nil is that of the graph that this one
	// is a node of, or else free. A node may have another (Node.State).
	State *State
	// Reduce says, by state key, what becomes of it where several nodes set it at the same time: the key's new value
	// is what the Reducer makes of the value before and of what a node sets. A key without one is set by one
	// node at a time: the second of two runs that are made at the same time fails with NodeState. What a graph
	// inside of this one does not say, this one does.
	Reduce map[string]Reducer
	// Gone lists names of nodes that the graph had before, for runs that have begun with them: what the log has of
	// such a node's runs counts for nothing, and its open calls are closed. A node with a new name has Node.Was.
	Gone []string
	// Artifacts keeps the files that nodes save; nil if they save none.
	Artifacts artifact.Service
}

// An Edge leads from one node to another. When From has ended, To gets its output as input.
type Edge struct {
	From, To *Node
	// Route is nil for an edge that always leads on. Otherwise it is a string, a number, a bool, or a
	// list of these: the edge leads on if the route that From has chosen (Run.Route) is among them. An
	// edge with the route Default leads on if no other edge of From with a route does. One with the route Failed
	// leads on if From has failed, after its Retry; no other edge does then. To gets a Failure as input.
	Route any
}

// Start is where a workflow begins: each edge from it leads to a node that gets the message that the
// workflow began with.
var Start = &Node{Name: "START"}

// Default is the route of an edge that leads on if no other edge with a route does.
var Default any = defaultRoute{}

type defaultRoute struct{}

// Failed is the route of an edge that leads on if the node that it leaves has failed. That ends the node's run,
// and the workflow goes on.
var Failed any = failedRoute{}

type failedRoute struct{}

// A Failure is what an edge with the route Failed leads on: the code and the text of the failure, and the input of
// the node that has failed.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Input   any    `json:"input,omitempty"`
}

// Chain returns the edges that lead from each node to the next, without routes.
func Chain(nodes ...*Node) []Edge {
	var edges []Edge
	for i := 1; i < len(nodes); i++ {
		edges = append(edges, Edge{From: nodes[i-1], To: nodes[i]})
	}
	return edges
}

// graph is a Graph that was checked.
type graph struct {
	Graph
	nodes  map[string]*Node   // those on edges, by name
	called map[string]*Node   // Children by name
	was    map[string]*Node   // those on edges, by the names that they had before
	out    map[*Node][]Edge   // in the order of Edges
	before map[*Node][]*Node  // the nodes with an edge to it, each once, in the order of Edges
	names  map[*Node][]string // of the nodes in before
	inner  []agent.Agent      // the agents in its nodes
}

// defaultRuns is Graph.Runs if that is 0.
const defaultRuns = 100

// New returns an agent that runs a graph. It can be the root of a runner, a sub-agent of others, and
// (with Agent) a node of another graph. The error names everything that is wrong with the graph.
//
// A message of the user begins a run of the workflow. The run has ended when no node is left to run;
// its output is that of the node that no edge leaves. A run that was cut off, has failed, or waits for
// a person goes on with the next invocation that has no new message, or that answers its question.
// What a node has ended with is in the log and is not made again.
func New(description Graph) (agent.Agent, error) {
	g := &graph{
		Graph:  description,
		nodes:  map[string]*Node{},
		called: map[string]*Node{},
		was:    map[string]*Node{},
		out:    map[*Node][]Edge{},
		before: map[*Node][]*Node{},
		names:  map[*Node][]string{},
	}
	g.Edges = slices.Clone(g.Edges)
	var wrong []error
	report := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("workflow %s: "+format, append([]any{g.Name()}, args...)...))
	}

	// The name becomes a part of paths and branches.
	if strings.ContainsAny(g.Name(), "./@#") || g.Name() == "" {
		report("the name %q must not be empty, and not contain '.', '/', '@' or '#'", g.Name())
	}
	if g.Limit < 0 || g.Runs < 0 {
		report("Limit and Runs must not be less than 0")
	}
	g.addEdges(report)
	for _, n := range g.Children {
		if n == nil {
			report("a node in Children is nil")
			continue
		}
		g.addNode(n, g.called, report)
	}
	g.checkNames(report)
	g.checkReach(report)
	g.checkCycles(report)
	if err := g.checkState(nil, nil); err != nil {
		report("%w", err)
	}
	if err := agent.Check(g); err != nil {
		report("%w", err)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return g, nil
}

// addEdges takes in the edges and the nodes on them.
func (g *graph) addEdges(report func(string, ...any)) {
	for i, e := range g.Edges {
		if e.From == nil || e.To == nil {
			report("edge %d has no From or no To", i+1)
			continue
		}
		edge := fmt.Sprintf("the edge from %s to %s", e.From.Name, e.To.Name)
		if e.From != Start {
			g.addNode(e.From, g.nodes, report)
		}
		if e.To == Start {
			report("%s: no edge leads to Start", edge)
			continue
		}
		g.addNode(e.To, g.nodes, report)

		// The route.
		route, err := plainRoute(e.Route)
		if err != nil {
			report("%s: %w", edge, err)
		}
		e.Route = route
		g.Edges[i].Route = route
		if e.From == Start && e.Route != nil {
			report("%s: an edge from Start must have no route: no node before it chooses one", edge)
		}
		for _, other := range g.out[e.From] {
			switch {
			case other.To == e.To && sameRoute(other.Route, e.Route):
				report("%s is there twice", edge)
			case other.Route == Default && e.Route == Default:
				report("%s and the one to %s both have the route Default; only one can", edge, other.To.Name)
			}
		}

		// What goes along it.
		if e.From != Start && e.From.kind != nil && e.To.kind != nil && e.To.Input == nil {
			_, output := e.From.kind.schemas()
			if e.Route == Failed {
				output = failureSchema
			}
			input, _ := e.To.kind.schemas()
			if why := misfit(output, input, ""); why != "" {
				report("%s: the output does not fit the input: %s", edge, why)
			}
		}
		g.out[e.From] = append(g.out[e.From], e)
		if !slices.Contains(g.before[e.To], e.From) {
			g.before[e.To] = append(g.before[e.To], e.From)
			g.names[e.To] = append(g.names[e.To], e.From.Name)
		}
	}
}

// addNode takes in a node, once.
func (g *graph) addNode(n *Node, to map[string]*Node, report func(string, ...any)) {
	if to[n.Name] == n {
		return
	}
	for _, others := range []map[string]*Node{g.nodes, g.called} {
		if others[n.Name] != nil && others[n.Name] != n {
			report("two nodes are named %q; give each a name of its own", n.Name)
			return
		}
	}
	to[n.Name] = n
	if err := n.check(); err != nil {
		report("%w", err)
		return
	}
	g.inner = append(g.inner, n.kind.agents()...)
}

// checkNames reports names of before that are not clear.
func (g *graph) checkNames(report func(string, ...any)) {
	for _, name := range g.Gone {
		if g.nodes[name] != nil || g.called[name] != nil {
			report("the node %s is in the graph, and in Gone", name)
		}
	}
	for _, nodes := range []map[string]*Node{g.nodes, g.called} {
		for _, name := range sortedKeys(nodes) {
			n := nodes[name]
			for _, was := range n.Was {
				if g.nodes[was] != nil || g.called[was] != nil || g.was[was] != nil || slices.Contains(g.Gone, was) {
					report("the node %s was %q, and so was or is another one, or it is in Gone", name, was)
				}
				g.was[was] = n
			}
		}
	}
}

// checkReach reports nodes that no way from Start leads to.
func (g *graph) checkReach(report func(string, ...any)) {
	reached := map[*Node]bool{Start: true}
	ahead := []*Node{Start}
	for len(ahead) > 0 {
		n := ahead[0]
		ahead = ahead[1:]
		for _, e := range g.out[n] {
			if !reached[e.To] {
				reached[e.To] = true
				ahead = append(ahead, e.To)
			}
		}
	}
	for _, name := range sortedKeys(g.nodes) {
		if !reached[g.nodes[name]] {
			report("no way from Start leads to the node %s", name)
		}
	}
}

// checkCycles reports cycles of edges that always lead on: they would never end.
func (g *graph) checkCycles(report func(string, ...any)) {
	const (
		onWay = 1
		done  = 2
	)
	mark := map[*Node]int{}
	var way []string
	var visit func(n *Node)
	visit = func(n *Node) {
		mark[n] = onWay
		way = append(way, n.Name)
		for _, e := range g.out[n] {
			switch {
			case e.Route != nil:
			case mark[e.To] == onWay:
				from := slices.Index(way, e.To.Name)
				report("the nodes %s are a cycle in which no edge has a route (in a configuration: a condition); it would never end",
					strings.Join(append(slices.Clone(way[from:]), e.To.Name), " → "))
			case mark[e.To] == 0:
				visit(e.To)
			}
		}
		way = way[:len(way)-1]
		mark[n] = done
	}
	for _, name := range sortedKeys(g.nodes) {
		if mark[g.nodes[name]] == 0 {
			visit(g.nodes[name])
		}
	}
}

func (g *graph) Name() string          { return g.Graph.Name }
func (g *graph) Description() string   { return g.Graph.Description }
func (g *graph) Agents() []agent.Agent { return slices.Clone(g.inner) }

// Offered returns the declarations of the tools that the graph's nodes call, those of agents in nodes left
// out: for who pins declarations, and compares them.
func (g *graph) Offered() []*genai.FunctionDeclaration {
	var list []*genai.FunctionDeclaration
	for _, nodes := range []map[string]*Node{g.nodes, g.called} {
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			if t := nodes[name].toolNode(); t != nil {
				list = append(list, t.tool.Declaration)
			}
		}
	}
	return list
}

// plainRoute returns a route as JSON values, or the error that says why it is none.
func plainRoute(route any) (any, error) {
	if route == nil || route == Default || route == Failed {
		return route, nil
	}
	if list, ok := route.([]any); ok && (slices.Contains(list, Default) || slices.Contains(list, Failed)) {
		return nil, errors.New("a list of routes has Default in it, or Failed; give it an edge of its own")
	}
	value, err := plain(route)
	if err != nil {
		return nil, fmt.Errorf("the route: %w", err)
	}
	routes := routeList(value)
	if len(routes) == 0 {
		return nil, errors.New("the route is an empty list")
	}
	for _, v := range routes {
		switch v.(type) {
		case string, bool, float64:
		default:
			return nil, fmt.Errorf("the route is %s; it must be a string, a number, a bool, or a list of these", inJSON(v))
		}
	}
	return value, nil
}

// routeList returns the routes of a value: itself, or what is in it if it is a list.
func routeList(route any) []any {
	switch r := route.(type) {
	case nil:
		return nil
	case []any:
		return r
	}
	return []any{route}
}

// sameRoute reports whether two routes of edges have a route in common, or are none both.
func sameRoute(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a == Failed && b == Failed || meets(a, b)
}

// meets reports whether two routes, as JSON values, have one in common.
func meets(a, b any) bool {
	for _, v := range routeList(a) {
		if slices.Contains(routeList(b), v) {
			return true
		}
	}
	return false
}
