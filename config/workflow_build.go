package config

import (
	"context"
	"fmt"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/internal/eventtext"
)

// workflow makes the agent of a workflow that was checked.
func (b *builder) workflow(path, name, description string, w *workflowConfig, ref, refPath string) agent.Agent {
	before := len(b.errs)

	// The nodes.
	nodes := map[string]*workflow.Node{workflow.Start.Name: workflow.Start}
	for i, one := range w.workers(path) {
		n := &w.Nodes[i]
		made := b.node(&one, n, ref, refPath)
		if made == nil {
			continue // b.errs says why
		}
		made.OutputKey = n.OutputKey
		made.Timeout = n.Timeout
		made.Was = n.Was
		if r := n.Retry; r != nil {
			made.Retry = workflow.Retry{Attempts: r.Attempts, Delay: r.Delay, Factor: r.Factor, Max: r.Max, Jitter: r.Jitter}
		}
		nodes[n.Name] = made
	}
	if len(b.errs) > before {
		return nil
	}

	// The edges. Those of a node that have conditions leave from a node behind it, which decides.
	var edges []workflow.Edge
	deciders := map[string]*decider{}
	for i := range w.Edges {
		e := &w.Edges[i]
		from := nodes[e.From]
		var route any
		if e.Failed {
			route = workflow.Failed
		}
		if e.When != "" || e.Otherwise {
			d := deciders[e.From]
			if d == nil {
				d = &decider{}
				deciders[e.From] = d
				edges = append(edges, workflow.Edge{From: from, To: d.node(from)})
			}
			from = d.made
			if e.Otherwise {
				route = otherwise
				d.otherwise = true
			} else {
				when, err := compileWhen(b.source, fmt.Sprintf("%s.edges[%d].when", path, i), e.When)
				if err != nil { // the check of the file says this first
					b.errs = append(b.errs, err)
					return nil
				}
				route = e.When
				d.conditions = append(d.conditions, when)
			}
		}
		for _, to := range e.To {
			edges = append(edges, workflow.Edge{From: from, To: nodes[to], Route: route})
		}
	}
	made, err := workflow.New(workflow.Graph{
		Name:        name,
		Description: description,
		Edges:       edges,
		Limit:       w.Limit,
		Runs:        w.Runs,
		State:       w.stateSchema(),
		Reduce:      w.reducers(),
		Gone:        w.gone(deciders),
		Artifacts:   b.artifacts,
	})
	if err != nil {
		b.bad(path, "%w", err)
		return nil
	}
	return made
}

// node makes a node without the fields that all kinds have, nil if that failed.
func (b *builder) node(one *worker, n *nodeConfig, ref, refPath string) *workflow.Node {
	var made *workflow.Node
	switch {
	case n.Join:
		return workflow.Join(n.Name)
	case n.Ask != nil:
		return n.Ask.node(n.Name)
	case one.agent != nil:
		a := b.build(one.path+".agent", one.agent, ref, refPath)
		if a == nil {
			return nil
		}
		made = workflow.Agent(a)
	case one.workflow != nil:
		a := b.workflow(one.path+".workflow", one.name, "", one.workflow, ref, refPath)
		if a == nil {
			return nil
		}
		made = workflow.Agent(a)
	case one.tool != "":
		made = b.toolNode(one)
	}
	if made == nil {
		return nil
	}
	made.Name = n.Name
	if n.Each != nil {
		made = workflow.Each(made, n.Each.Limit)
		made.MaxItems = n.Each.MaxItems
	}
	return made
}

// toolNode makes a node that calls a tool.
func (b *builder) toolNode(one *worker) *workflow.Node {
	before := len(b.errs)
	tools := b.tool(one.path+".tool", one.tool)
	switch {
	case len(b.errs) > before:
		return nil
	case len(tools) == 1:
		made := workflow.Tool(tools[0])
		if one.args != nil {
			made.Input = func(output any, state map[string]any) (any, error) {
				return values{output: output, state: state}.fill(one.args)
			}
		}
		return made
	case b.dry: // the tools of a server are not known
		return workflow.Func(one.name, func(context.Context, *workflow.Run, any) (any, error) { return nil, nil })
	}
	b.bad(one.path+".tool", "%s has %d tools, and a node calls one; write %s/TOOL", one.tool, len(tools), one.tool)
	return nil
}

// reducers are those that a file can name, each with the JSON types that a schema may give its values.
var reducers = map[string]struct {
	reduce workflow.Reducer
	types  []string
}{
	"append": {workflow.Append, []string{"array"}},
	"add":    {workflow.Add, []string{"number", "integer"}},
	"union":  {workflow.Union, []string{"array"}},
	"max":    {workflow.Max, []string{"number", "integer"}},
}

// reducers returns the reducers of the workflow's state keys.
func (w *workflowConfig) reducers() map[string]workflow.Reducer {
	named := map[string]workflow.Reducer{}
	for key, name := range w.Reduce {
		named[key] = reducers[name].reduce
	}
	return named
}

// gone returns the names of nodes that the workflow does not have any more: those that it lists, and those that
// decided behind a node whose edges have no conditions now.
func (w *workflowConfig) gone(deciders map[string]*decider) []string {
	var names []string
	for _, name := range w.Gone {
		names = append(names, name, name+eventtext.DeciderMark)
	}
	for i := range w.Nodes {
		if name := w.Nodes[i].Name; deciders[name] == nil {
			names = append(names, name+eventtext.DeciderMark)
		}
	}
	return names
}

// stateSchema returns what the nodes may set, nil if that is anything.
func (w *workflowConfig) stateSchema() *workflow.State {
	if len(w.State) == 0 {
		return nil
	}
	return workflow.StateSchema(map[string]any{"type": "object", "properties": w.State})
}
