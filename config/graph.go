package config

import (
	"slices"

	"github.com/plughook/plughook/agent/workflow"
)

// Graph returns the picture of the workflow that the configuration's agent is, as the file has it: a
// question is a node of the kind ask, and conditions are on the edges. It is nil if the agent is no
// workflow.
func (c *Config) Graph() *workflow.Picture {
	if c.file.Agent == nil {
		return nil
	}
	return c.file.Agent.Workflow.picture(c.file.Agent.Name)
}

// picture returns the picture of a workflow, nil for none.
func (w *workflowConfig) picture(name string) *workflow.Picture {
	if w == nil {
		return nil
	}
	p := &workflow.Picture{Name: name}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		node := workflow.PictureNode{Name: n.Name, Kind: n.kind(), Was: n.Was, Inside: n.Workflow.picture(n.Name)}
		if n.Each != nil {
			node.Inside = n.Each.Workflow.picture(n.Name)
		}
		p.Nodes = append(p.Nodes, node)
	}
	for i := range w.Edges {
		e := &w.Edges[i]
		label := e.When
		switch {
		case e.Otherwise:
			label = otherwise
		case e.Failed:
			label = "failed"
		}
		for _, to := range e.To {
			p.Edges = append(p.Edges, workflow.PictureEdge{From: e.From, To: to, Label: label})
		}
	}
	return p
}

// kind returns the kind of a node that was checked.
func (n *nodeConfig) kind() string {
	return nodeKinds[slices.IndexFunc(nodeKinds, func(kind string) bool { return given(n, kind) })]
}
