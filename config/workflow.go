package config

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/yamlfile"
)

// workflowConfig is a graph of nodes.
type workflowConfig struct {
	Nodes []nodeConfig `yaml:"nodes" json:"nodes" jsonschema:"the steps"`
	Edges []edgeConfig `yaml:"edges" json:"edges" jsonschema:"which node's output is the input of which; those from START get the user's message"`
	Limit int          `yaml:"limit" json:"limit,omitempty" jsonschema:"how many nodes may run at the same time; no limit if empty"`
	Runs  int          `yaml:"runs" json:"runs,omitempty" jsonschema:"how often one node may run in one run of the workflow; 100 if empty"`
}

// nodeConfig is a node: it has one of the kinds in nodeKinds.
type nodeConfig struct {
	Name      string          `yaml:"name" json:"name" jsonschema:"what edges and the log call the node"`
	Agent     *agentConfig    `yaml:"agent" json:"agent,omitempty" jsonschema:"an agent in a conversation of its own, which is told the input; what it says last is the output. It is named like the node if it has no name"`
	Tool      string          `yaml:"tool" json:"tool,omitempty" jsonschema:"a tool, or SERVER/TOOL; the input is its arguments: an object, or a text that is one in JSON"`
	Ask       *askConfig      `yaml:"ask" json:"ask,omitempty" jsonschema:"a question to a person; the answer is the output"`
	Join      bool            `yaml:"join" json:"join,omitempty" jsonschema:"true: the node waits for all nodes with an edge to it; its output is an object with the output of each by name"`
	Each      *eachConfig     `yaml:"each" json:"each,omitempty" jsonschema:"runs once for each item of the input, a list; the output is the list of the outputs"`
	Workflow  *workflowConfig `yaml:"workflow" json:"workflow,omitempty" jsonschema:"a workflow in this one"`
	OutputKey string          `yaml:"output_key" json:"output_key,omitempty" jsonschema:"a state key that the output is saved under"`
	Retry     *retryConfig    `yaml:"retry" json:"retry,omitempty" jsonschema:"how often it is tried again if it fails; not at all if empty"`
	Timeout   time.Duration   `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long one attempt may take, such as 30s; no limit if empty"`
}

type askConfig struct {
	Message string         `yaml:"message" json:"message" jsonschema:"the question; {output} in it is replaced by the node's input, {key} by the value of a state key, and {key?} by that of a key that may be missing"`
	Schema  map[string]any `yaml:"schema" json:"schema,omitempty" jsonschema:"the JSON schema of the answer; a text if empty. Another answer is refused, and the question is asked again"`
}

type eachConfig struct {
	Agent    *agentConfig    `yaml:"agent" json:"agent,omitempty" jsonschema:"an agent, as in a node"`
	Tool     string          `yaml:"tool" json:"tool,omitempty" jsonschema:"a tool, as in a node"`
	Workflow *workflowConfig `yaml:"workflow" json:"workflow,omitempty" jsonschema:"a workflow, as in a node"`
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
	Otherwise bool    `yaml:"otherwise" json:"otherwise,omitempty" jsonschema:"true: the edge leads on if no edge of the same node with a condition does"`
}

// targets are the nodes that an edge leads to.
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
		one := worker{path: at, name: n.Name, agent: n.Agent, tool: n.Tool, workflow: n.Workflow}
		if n.Each != nil {
			one = worker{path: at + ".each", name: n.Name, agent: n.Each.Agent, tool: n.Each.Tool, workflow: n.Each.Workflow}
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
			known = append(known, n.Name)
		}
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
	c.checkLeast(bad, path+".limit", w.Limit, 1)
	c.checkLeast(bad, path+".runs", w.Runs, 1)

	// The edges.
	if len(w.Edges) == 0 {
		bad(path, "the workflow has no edges; the first leads from START to a node")
		return
	}
	led := map[string]bool{}
	for i := range w.Edges {
		e := &w.Edges[i]
		at := fmt.Sprintf("%s.edges[%d]", path, i)
		if !slices.Contains(known, e.From) {
			bad(at+".from", "there is no node %q%s", e.From, yamlfile.Meant(e.From, known))
		}
		conditional := e.When != "" || e.Otherwise
		if conditional && e.From == workflow.Start.Name {
			bad(at, "an edge from START has no condition; put it on an edge of the first node")
		}
		if e.When != "" && e.Otherwise {
			bad(at, "an edge has either when: or otherwise:")
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

// checkConditions returns what is wrong with the conditions in an agent's workflows, and in those of
// the agents below it.
func (c *file) checkConditions(path string, a *agentConfig) []error {
	errs := c.checkEdges(path+".workflow", a.Workflow)
	for _, in := range a.inside() {
		errs = append(errs, c.checkConditions(path+"."+in.path, in.agent)...)
	}
	return errs
}

// checkEdges returns what is wrong with the conditions in a workflow and those below it.
func (c *file) checkEdges(path string, w *workflowConfig) (errs []error) {
	if w == nil {
		return nil
	}
	for i := range w.Edges {
		at := fmt.Sprintf("%s.edges[%d].when", path, i)
		if w.Edges[i].When == "" {
			continue
		}
		if _, err := compileWhen(c.source, at, w.Edges[i].When); err != nil {
			errs = append(errs, err)
		}
	}
	for _, one := range w.workers(path) {
		errs = append(errs, c.checkEdges(one.path+".workflow", one.workflow)...)
	}
	return errs
}

// checkNode checks what a node says of itself.
func (c *file) checkNode(bad complaint, path string, n *nodeConfig) {
	kinds := func(at string, among []string) (list []string) {
		for _, kind := range among {
			if c.source.Has(at + "." + kind) {
				list = append(list, kind)
			}
		}
		return list
	}
	switch has := kinds(path, nodeKinds); {
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
		if has := kinds(path+".each", []string{"agent", "tool", "workflow"}); len(has) != 1 {
			bad(path+".each", "an each needs one of agent, tool and workflow")
		}
		c.checkLeast(bad, path+".each.limit", n.Each.Limit, 1)
	}
	if n.Ask != nil {
		if strings.TrimSpace(n.Ask.Message) == "" {
			bad(path+".ask", "the question has no message")
		}
		if n.Ask.Schema != nil {
			if _, err := tool.Schema(n.Ask.Schema); err != nil {
				bad(path+".ask.schema", "%w", err)
			}
		}
	}
	if n.Retry != nil {
		c.checkLeast(bad, path+".retry.attempts", n.Retry.Attempts, 1)
		c.checkDuration(bad, path+".retry", "delay", n.Retry.Delay)
		c.checkDuration(bad, path+".retry", "max", n.Retry.Max)
		if n.Retry.Factor < 0 || n.Retry.Jitter < 0 || n.Retry.Jitter > 1 {
			bad(path+".retry", "factor is not below 0, and jitter is from 0 to 1")
		}
	}
	c.checkDuration(bad, path, "timeout", n.Timeout)
}

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
		if e.When != "" || e.Otherwise {
			d := deciders[e.From]
			if d == nil {
				d = &decider{}
				deciders[e.From] = d
				edges = append(edges, workflow.Edge{From: from, To: d.node(e.From)})
			}
			from = d.made
			route = workflow.Default
			if e.When != "" {
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
		return workflow.Tool(tools[0])
	case b.dry: // the tools of a server are not known
		return workflow.Func(one.name, func(context.Context, *workflow.Run, any) (any, error) { return nil, nil })
	}
	b.bad(one.path+".tool", "%s has %d tools, and a node calls one; write %s/TOOL", one.tool, len(tools), one.tool)
	return nil
}

// A decider is the node behind a node with conditions on its edges. Its route is the list of those
// that hold, and its output is that of the node. What it decided is in the log, so that a later
// change of the state does not change the way that was taken.
type decider struct {
	made       *workflow.Node
	conditions []*when
}

func (d *decider) node(behind string) *workflow.Node {
	d.made = workflow.Func(behind+deciderMark, func(_ context.Context, r *workflow.Run, output any) (any, error) {
		var holds []any
		state := r.Invocation().State
		for _, c := range d.conditions {
			yes, err := c.holds(output, state)
			if err != nil {
				return nil, err
			}
			if yes {
				holds = append(holds, c.source)
			}
		}
		if len(holds) > 0 {
			r.Route(holds)
		}
		return output, nil
	})
	return d.made
}

// deciderMark ends the name of a node that decides; no node of a file has such a name.
const deciderMark = "?"

// node makes a node that asks.
func (a *askConfig) node(name string) *workflow.Node {
	return workflow.Func(name, func(ctx context.Context, r *workflow.Run, output any) (any, error) {
		message, err := a.text(output, r.Invocation().State)
		if err != nil {
			return nil, err
		}
		form := a.Schema
		if len(form) == 0 {
			form = map[string]any{"type": "string"}
		}
		if len(form) == 1 { // the question's call has the schema
			switch form["type"] {
			case "string":
				return workflow.Ask[string](ctx, r, questionName, message)
			case "boolean":
				return workflow.Ask[bool](ctx, r, questionName, message)
			case "number":
				return workflow.Ask[float64](ctx, r, questionName, message)
			case "integer":
				return workflow.Ask[int64](ctx, r, questionName, message)
			}
		}
		return a.askForm(ctx, r, message)
	})
}

// questionName is what a node of a file calls its question.
const questionName = "answer"

// askForm asks for an answer that fits the schema, until one does.
func (a *askConfig) askForm(ctx context.Context, r *workflow.Run, message string) (any, error) {
	fits, err := tool.Schema(a.Schema)
	if err != nil {
		return nil, err
	}
	message += "\n" + a.form()
	said := message
	name := questionName
	for n := 2; ; n++ {
		answer, err := workflow.Ask[any](ctx, r, name, said)
		if err != nil {
			return nil, err
		}
		if err = fits(ctx, answer); err == nil {
			return answer, nil
		}
		if text, ok := answer.(string); ok {
			value, parseErr := session.DecodeValue([]byte(text))
			if parseErr == nil && fits(ctx, value) == nil {
				return value, nil
			}
		}
		said = fmt.Sprintf("%s\n(The answer before was refused: %v)", message, err)
		name = fmt.Sprintf("%s-%d", questionName, n)
	}
}

// form says what answers fit the schema.
func (a *askConfig) form() string {
	if list, ok := a.Schema["enum"].([]any); ok {
		var words []string
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		return "One of: " + strings.Join(words, ", ")
	}
	data, err := json.Marshal(a.Schema)
	if err != nil {
		return ""
	}
	return "The answer is JSON with the schema " + string(data)
}

// spoken returns the text of an input that is the user's message, and any other input as it is.
func spoken(output any) any {
	if content, ok := output.(*genai.Content); ok {
		return (&session.Event{Content: content}).Text()
	}
	message, ok := output.(map[string]any)
	if !ok || message["role"] != genai.RoleUser || message["parts"] == nil {
		return output
	}
	data, err := json.Marshal(message)
	content := &genai.Content{}
	if err != nil || json.Unmarshal(data, content) != nil {
		return output
	}
	return (&session.Event{Content: content}).Text()
}

var placeholder = regexp.MustCompile(`\{([a-zA-Z_][a-zA-Z0-9_:]*)(\?)?\}`)

// text returns the message with the values in it.
func (a *askConfig) text(output any, state map[string]any) (string, error) {
	var missing error
	text := placeholder.ReplaceAllStringFunc(a.Message, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		value, ok := state[m[1]]
		if m[1] == "output" {
			value = spoken(output)
			ok = true
		}
		switch text, isText := value.(string); {
		case !ok && m[2] == "":
			missing = fmt.Errorf("the message has {%s}, and the state has no such key; those it has: %s", m[1],
				strings.Join(slices.Sorted(maps.Keys(state)), ", "))
			return ""
		case value == nil:
			return ""
		case isText:
			return text
		}
		data, err := json.Marshal(value)
		if err != nil {
			missing = err
		}
		return string(data)
	})
	return text, missing
}
