package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/yamlfile"
)

// checkWorkflow checks a workflow and what is in it; above is the model that its agents have if they
// name none.
func (c *file) checkWorkflow(bad complaint, path string, w *workflowConfig, above string, agents *names) {
	// The nodes.
	nodes := c.names("node")
	known := []string{workflow.Start.Name}
	joins := map[string]bool{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		if !agentName.MatchString(n.Name) || n.Name == workflow.Start.Name || n.Name == session.User {
			bad(at, "a node cannot be named %q: 1 to 64 letters, digits, '_' and '-', the first a letter or '_', and not START or user", n.Name)
		} else {
			nodes.take(bad, at, n.Name)
		}
		known = append(known, n.Name) // also a name that is wrong: edges to it are not wrong twice
		joins[n.Name] = n.Join
		c.checkNode(bad, at, n)
	}
	for _, one := range w.workers(path) {
		if one.agent != nil {
			if one.agent.Name == "" {
				one.agent.Name = one.name
			}
			c.checkAgent(bad, one.path+".agent", one.agent, above, agents)
		}
		if one.args != nil && one.tool == "" {
			bad(one.path+".args", "args are the arguments of a tool, and the node %s calls none", one.name)
		}
		if one.tool != "" {
			if err := c.checkTool(one.tool); err != nil {
				bad(one.path+".tool", "%w", err)
			}
		}
		if one.workflow != nil {
			agents.take(bad, one.path+".workflow", one.name)
			c.checkWorkflow(bad, one.path+".workflow", one.workflow, above, agents)
		}
	}
	checkAbove0(c, bad, path+".limit", w.Limit)
	checkAbove0(c, bad, path+".runs", w.Runs)
	for _, key := range slices.Sorted(maps.Keys(w.State)) {
		if _, err := tool.Schema(w.State[key]); err != nil {
			bad(path+".state."+key, "%w", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.Reduce)) {
		name := w.Reduce[key]
		reducer, ok := reducers[name]
		if !ok {
			known := slices.Sorted(maps.Keys(reducers))
			bad(path+".reduce."+key, "there is no reducer %q%s; it is one of %s", name, yamlfile.Meant(name, known), strings.Join(known, ", "))
			continue
		}
		schema, _ := w.State[key].(map[string]any)
		asked, _ := schema["type"].(string)
		if asked != "" && !slices.Contains(reducer.types, asked) {
			bad(path+".reduce."+key, "%s makes a value of type %s, and the state's schema asks for %s: no value can fit",
				name, strings.Join(reducer.types, " or "), asked)
		}
	}

	// The edges.
	if len(w.Edges) == 0 {
		bad(path, "the workflow has no edges; the first leads from START to a node")
		return
	}
	led := map[string]bool{}
	for i := range w.Edges {
		e := &w.Edges[i]
		at := fmt.Sprintf("%s.edges[%d]", path, i)
		switch {
		case e.From == "":
			bad(at, "the edge leaves no node; write from: NODE, or from: START")
		case !slices.Contains(known, e.From):
			bad(at+".from", "there is no node %q%s", e.From, yamlfile.Meant(e.From, known))
		}
		conditional := e.When != "" || e.Otherwise
		if (conditional || e.Failed) && e.From == workflow.Start.Name {
			bad(at, "an edge from START has no condition; put it on an edge of the first node")
		}
		if conditional && e.Failed {
			bad(at, "an edge for failures has neither when: nor otherwise:; ask for output.code in a node behind it")
		}
		if e.When != "" && e.Otherwise {
			bad(at, "an edge has either when: or otherwise:")
		}
		if e.When != "" {
			if _, err := compileWhen(c.source, at+".when", e.When); err != nil {
				c.errs = append(c.errs, err) // it says by itself where in the condition
			}
		}
		if len(e.To) == 0 {
			bad(at, "the edge leads to no node; write to: NODE")
		}
		for _, to := range e.To {
			switch {
			case to == workflow.Start.Name:
				bad(at+".to", "no edge leads to START")
			case !slices.Contains(known, to):
				bad(at+".to", "there is no node %q%s", to, yamlfile.Meant(to, known[1:]))
			case conditional && joins[to]:
				bad(at, "an edge with a condition cannot lead to the join %s, which would wait for ever if the condition is false; put a node between", to)
			case e.Failed && joins[to] && !w.leads(e.From, to):
				bad(at, "the join %s would wait for ever if %s does not fail; lead an edge without failed: from %[2]s to it, too", to, e.From)
			}
			led[to] = true
		}
	}
	for i := range w.Nodes {
		if !led[w.Nodes[i].Name] {
			bad(fmt.Sprintf("%s.nodes[%d]", path, i), "no edge leads to the node %s", w.Nodes[i].Name)
		}
	}
}

// leads reports whether an edge that always leads on goes from one node to another.
func (w *workflowConfig) leads(from, to string) bool {
	return slices.ContainsFunc(w.Edges, func(e edgeConfig) bool {
		return e.From == from && e.When == "" && !e.Otherwise && !e.Failed && slices.Contains(e.To, to)
	})
}

// checkNode checks what a node says of itself.
func (c *file) checkNode(bad complaint, path string, n *nodeConfig) {
	switch has := c.keysAt(path, nodeKinds); {
	case len(has) == 0:
		bad(path, "the node %s has no kind; it needs one of %s", n.Name, strings.Join(nodeKinds, ", "))
	case len(has) > 1:
		bad(path, "the node %s has %d kinds, %s and %s; write one node for each", n.Name, len(has), has[0], has[1])
	case has[0] == "join" && !n.Join:
		bad(path+".join", "write join: true, or give the node another kind")
	case has[0] == "tool" && n.Tool == "":
		bad(path+".tool", "the node %s names no tool", n.Name)
	}
	if n.Each != nil {
		if has := c.keysAt(path+".each", []string{"agent", "tool", "workflow"}); len(has) != 1 {
			bad(path+".each", "an each needs one of agent, tool and workflow")
		}
		checkAbove0(c, bad, path+".each.limit", n.Each.Limit)
		checkAbove0(c, bad, path+".each.max_items", n.Each.MaxItems)
	}
	if n.Ask != nil {
		n.Ask.check(bad, path+".ask")
	}
	if n.Retry != nil {
		checkAbove0(c, bad, path+".retry.attempts", n.Retry.Attempts)
		checkAbove0(c, bad, path+".retry.delay", n.Retry.Delay)
		checkAbove0(c, bad, path+".retry.max", n.Retry.Max)
		if n.Retry.Factor < 0 || n.Retry.Jitter < 0 || n.Retry.Jitter > 1 {
			bad(path+".retry", "factor is not below 0, and jitter is from 0 to 1")
		}
	}
	checkAbove0(c, bad, path+".timeout", n.Timeout)
}
