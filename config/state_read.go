package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugin"
)

// StateRead returns the state keys that the agent's instructions, questions, arguments and conditions read, sorted; "*"
// among them stands for every key. What plugins read is in plugin.Plugin.ReadsState.
func (c *Config) StateRead() []string {
	r := stateReads{}
	if c.file.Agent != nil {
		c.file.readBy(c.file.Agent, r)
	}
	return slices.Sorted(maps.Keys(r))
}

// stateReads are state keys that something reads.
type stateReads map[string]bool

func (r stateReads) add(keys ...string) {
	for _, key := range keys {
		if key != "" {
			r[key] = true
		}
	}
}

// value adds the keys of the placeholders in a text, or in the texts of an object or a list, without those that stand
// for something else there.
func (r stateReads) value(value any, others ...string) {
	switch value := value.(type) {
	case string:
		for _, m := range placeholder.FindAllStringSubmatch(value, -1) {
			first, _, deeper := strings.Cut(m[1], ".")
			if slices.Contains(others, first) {
				continue
			}
			r.add(first)
			if deeper {
				r.add(m[1])
			}
		}
	case map[string]any:
		for _, inner := range value {
			r.value(inner, others...)
		}
	case []any:
		for _, inner := range value {
			r.value(inner, others...)
		}
	}
}

// readBy adds what an agent and those in it read.
func (c *file) readBy(a *agentConfig, r stateReads) {
	r.value(a.Instruction)
	c.readByWorkflow(a.Workflow, r)
	for _, in := range a.inside() {
		c.readBy(in.agent, r)
	}
}

// comes is the placeholder in a node's texts for what comes to the node.
const comes = "output"

// readByWorkflow adds what a workflow and those in it read, but for their agents.
func (c *file) readByWorkflow(w *workflowConfig, r stateReads) {
	if w == nil {
		return
	}
	for _, n := range w.Nodes {
		if n.Ask != nil {
			r.value(n.Ask.Message, comes)
		}
	}
	for _, e := range w.Edges {
		if e.When == "" {
			continue
		}
		if compiled, err := compileWhen(c.source, "", e.When); err == nil { // check has complained of another one
			r.add(compiled.reads...)
		}
	}
	for _, one := range w.workers("") {
		r.value(one.args, comes)
		c.readByWorkflow(one.workflow, r)
	}
}

// notForCallers returns the state keys that callers of a server may not write, by default: those that the agent and
// the plugins read. It leaves out "plan.items" beside "plan": that is how a part of plan is read, and a key with a dot
// only if a caller could make one.
func (c *Config) notForCallers(plugins []*plugin.Plugin) []string {
	r := stateReads{}
	r.add(c.StateRead()...)
	maps.DeleteFunc(r, func(key string, _ bool) bool {
		first, _, deeper := strings.Cut(key, ".")
		return deeper && r[first]
	})
	for _, p := range plugins {
		if p.ReadsState != nil {
			r.add(p.ReadsState()...)
		}
	}
	return slices.Sorted(maps.Keys(r))
}
