package config

import (
	"fmt"
	"time"

	"github.com/plughook/plughook/yamlfile"
)

// workflowConfig is a graph of nodes.
type workflowConfig struct {
	Nodes  []nodeConfig      `yaml:"nodes" json:"nodes" jsonschema:"the steps"`
	Edges  []edgeConfig      `yaml:"edges" json:"edges" jsonschema:"which node's output is the input of which; those from START get the user's message"`
	Limit  int               `yaml:"limit" json:"limit,omitempty" jsonschema:"how many nodes may run at the same time; no limit if empty"`
	State  map[string]any    `yaml:"state" json:"state,omitempty" jsonschema:"the state keys that nodes may set, each with the JSON schema of its value; any if empty. Keys with a colon are free"`
	Reduce map[string]string `yaml:"reduce" json:"reduce,omitempty" jsonschema:"what becomes of a state key that nodes set at the same time: append, add, union or max, by key. Without one this is an error"`
	Gone   targets           `yaml:"gone" json:"gone,omitempty" jsonschema:"names of nodes that the workflow had before: what runs that have begun did in them counts for nothing"`
	Runs   int               `yaml:"runs" json:"runs,omitempty" jsonschema:"how often one node may run in one run of the workflow; 100 if empty"`
}

// nodeConfig is a node: it has one of the kinds in nodeKinds.
type nodeConfig struct {
	Name      string          `yaml:"name" json:"name" jsonschema:"what edges and the log call the node"`
	Agent     *agentConfig    `yaml:"agent" json:"agent,omitempty" jsonschema:"an agent in a conversation of its own, which is told the input; what it says last is the output. It is named like the node if it has no name"`
	Tool      string          `yaml:"tool" json:"tool,omitempty" jsonschema:"a tool, or SERVER/TOOL; its arguments are in args, or else are the input: an object, or a text that is one in JSON"`
	Args      map[string]any  `yaml:"args" json:"args,omitempty" jsonschema:"the arguments of the tool; {output} in a text stands for the node's input, {output.key} for a value in it, {key} for a state key, {key?} for one that may be missing. A text that is nothing else becomes that value, with its type"`
	Ask       *askConfig      `yaml:"ask" json:"ask,omitempty" jsonschema:"a question to a person; the answer is the output"`
	Join      bool            `yaml:"join" json:"join,omitempty" jsonschema:"true: the node waits for all nodes with an edge to it; its output is an object with the output of each by name"`
	Each      *eachConfig     `yaml:"each" json:"each,omitempty" jsonschema:"runs once for each item of the input, a list (what is none is one item); the output is the list of the outputs"`
	Workflow  *workflowConfig `yaml:"workflow" json:"workflow,omitempty" jsonschema:"a workflow in this one"`
	Was       targets         `yaml:"was" json:"was,omitempty" jsonschema:"the name that the node had before, or a list of names, for runs that have begun"`
	OutputKey string          `yaml:"output_key" json:"output_key,omitempty" jsonschema:"a state key that the output is saved under"`
	Retry     *retryConfig    `yaml:"retry" json:"retry,omitempty" jsonschema:"how often it is tried again if it fails; not at all if empty"`
	Timeout   time.Duration   `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long one attempt may take, such as 30s; no limit if empty"`
}

type eachConfig struct {
	Agent    *agentConfig    `yaml:"agent" json:"agent,omitempty" jsonschema:"an agent, as in a node"`
	Tool     string          `yaml:"tool" json:"tool,omitempty" jsonschema:"a tool, as in a node"`
	Args     map[string]any  `yaml:"args" json:"args,omitempty" jsonschema:"the arguments of the tool, as in a node; {output} is the item"`
	Workflow *workflowConfig `yaml:"workflow" json:"workflow,omitempty" jsonschema:"a workflow, as in a node"`
	MaxItems int             `yaml:"max_items" json:"max_items,omitempty" jsonschema:"how many items the list may have; 10000 if empty. A longer one is an error before the first item"`
	Limit    int             `yaml:"limit" json:"limit,omitempty" jsonschema:"how many items are worked on at the same time; no limit if empty"`
}

type retryConfig struct {
	Attempts int           `yaml:"attempts" json:"attempts" jsonschema:"how often it is tried, the first attempt included"`
	Delay    time.Duration `yaml:"delay" json:"delay,omitempty" jsonschema:"how long the second attempt waits; each further one waits factor times as long"`
	Factor   float64       `yaml:"factor" json:"factor,omitempty" jsonschema:"2 if empty"`
	Max      time.Duration `yaml:"max" json:"max,omitempty" jsonschema:"the longest wait; 1m if empty"`
	Jitter   float64       `yaml:"jitter" json:"jitter,omitempty" jsonschema:"the share of the wait by which chance makes it longer or shorter, from 0 to 1"`
}

type edgeConfig struct {
	From      string  `yaml:"from" json:"from" jsonschema:"a node, or START"`
	To        targets `yaml:"to" json:"to" jsonschema:"a node, or a list of nodes"`
	When      string  `yaml:"when" json:"when,omitempty" jsonschema:"a condition over output, which is that of from, and state: the edge leads on if it is true; an edge without a condition always does"`
	Failed    bool    `yaml:"failed" json:"failed,omitempty" jsonschema:"true: the edge leads on if from has failed, after its retries; to gets an object with code, message and input"`
	Otherwise bool    `yaml:"otherwise" json:"otherwise,omitempty" jsonschema:"true: the edge leads on if no edge of the same node with a condition does; several may"`
}

// targets are names of nodes: one, or a list.
type targets []string

// UnmarshalYAML reads a name or a list of names.
func (t *targets) UnmarshalYAML(read func(any) error) error {
	var one string
	if read(&one) == nil {
		*t = targets{one}
		return nil
	}
	var list []string
	if read(&list) != nil {
		return yamlfile.Wants("the name of a node, or a list of names")
	}
	*t = list
	return nil
}

var nodeKinds = []string{"agent", "tool", "ask", "join", "each", "workflow"}

// A worker is what a node and the node in an each have in common.
type worker struct {
	path     string // where it stands
	name     string
	agent    *agentConfig
	tool     string
	args     map[string]any
	workflow *workflowConfig
}

// workers lists what runs in the workflow's nodes, and not in workflows below.
func (w *workflowConfig) workers(path string) (list []worker) {
	if w == nil {
		return nil
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		one := worker{path: at, name: n.Name, agent: n.Agent, tool: n.Tool, args: n.Args, workflow: n.Workflow}
		if e := n.Each; e != nil {
			one = worker{path: at + ".each", name: n.Name, agent: e.Agent, tool: e.Tool, args: e.Args, workflow: e.Workflow}
		}
		list = append(list, one)
	}
	return list
}

// agents lists the agents in the workflow and in those below.
func (w *workflowConfig) agents(path string) (list []inside) {
	for _, one := range w.workers(path) {
		if one.agent != nil {
			list = append(list, inside{path: one.path + ".agent", agent: one.agent})
		}
		list = append(list, one.workflow.agents(one.path+".workflow")...)
	}
	return list
}

// tools lists the tools that nodes of the workflow and of those below call.
func (w *workflowConfig) tools() (list []string) {
	for _, one := range w.workers("") {
		if one.tool != "" {
			list = append(list, one.tool)
		}
		list = append(list, one.workflow.tools()...)
	}
	return list
}
