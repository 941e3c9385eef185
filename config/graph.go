package config

import "github.com/plughook/plughook/agent/workflow"

// A Graph is a workflow of a configuration, for those who draw it.
type Graph struct {
	Name  string
	Nodes []GraphNode
	Edges []GraphEdge
}

// A GraphNode is a node of a workflow. Kind is agent, tool, ask, join, each or workflow.
type GraphNode struct{ Name, Kind string }

// A GraphEdge leads from one node, or from START, to another.
type GraphEdge struct {
	From, To string
	When     string // the condition; "" is none
	Default  bool   // it leads on if no edge of From with a condition does
}

// Start is what edges call the place where a workflow begins.
var Start = workflow.Start.Name

// Graph returns the workflow that the configuration's agent is, without what is in its nodes; nil if
// the agent is none.
func (c *Config) Graph() *Graph {
	if c.file.Agent == nil || c.file.Agent.Workflow == nil {
		return nil
	}
	w := c.file.Agent.Workflow
	g := &Graph{Name: c.file.Agent.Name}
	for i := range w.Nodes {
		g.Nodes = append(g.Nodes, GraphNode{Name: w.Nodes[i].Name, Kind: w.Nodes[i].kind()})
	}
	for i := range w.Edges {
		e := &w.Edges[i]
		for _, to := range e.To {
			g.Edges = append(g.Edges, GraphEdge{From: e.From, To: to, When: e.When, Default: e.Otherwise})
		}
	}
	return g
}

// kind returns the kind of a node that was checked.
func (n *nodeConfig) kind() string {
	switch {
	case n.Agent != nil:
		return "agent"
	case n.Tool != "":
		return "tool"
	case n.Ask != nil:
		return "ask"
	case n.Join:
		return "join"
	case n.Each != nil:
		return "each"
	}
	return "workflow"
}
