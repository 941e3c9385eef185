package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// An execution is the work of one invocation on one run of a workflow.
type execution struct {
	*graph
	task   *task
	cancel context.CancelFunc // of the nodes

	// What the log says, as far as it was walked.
	version int
	walked  int // ends
	nodes   map[string]*progress
	queue   []*progress // those that may start, in the order in which they were triggered
	head    int         // how many of the queue next has taken
	outputs []output    // of nodes that no edge leaves
	gone    error       // set if the log has a run of a node that no edge of the graph can have begun

	active  int
	parked  bool // a node waits, or was stopped
	failure *Error

	mu      sync.Mutex
	results []nodeResult // of parts that have ended, and that next has not seen yet
}

// progress is how far a node has come.
type progress struct {
	node     *Node
	triggers []trigger
	waiting  map[string][]trigger // of a join, by the node that they came from, until there is one of each
	ended    int                  // how many of its runs have ended
	running  bool
	parked   bool // it waits, or was stopped, and does not go on in this invocation
	queued   bool
}

// A trigger begins a run of a node: the first one its first run, and so on.
type trigger struct {
	input any
	by    string
	cause *cause   // the run that it begins
	after []*cause // what has ended before
}

type output struct {
	node  string
	value any
}

type nodeResult struct {
	node string
	result
}

func (g *graph) agents() []agent.Agent                       { return []agent.Agent{g} }
func (g *graph) schemas() (input, output *jsonschema.Schema) { return nil, nil }

// attempt works on a run of the workflow until no node of it can go on. around is where the run is made:
// as a node, or by itself.
func (g *graph) attempt(ctx context.Context, around *task) result {
	own := *around
	own.graph = g
	own.state = inherit(g.State, around.state)
	if len(g.Reduce) > 0 {
		own.reduce = maps.Clone(around.reduce)
		if own.reduce == nil {
			own.reduce = map[string]Reducer{}
		}
		maps.Copy(own.reduce, g.Reduce)
	}
	x := &execution{graph: g, task: &own}
	nodes, cancel := context.WithCancel(ctx)
	defer cancel()
	x.cancel = cancel

	// Does the graph lead to all that the log has?
	x.walk()
	if x.gone == nil {
		x.gone = x.unknown()
	}
	if x.gone != nil {
		return own.failedForGood(NodeGone, x.gone)
	}
	if len(g.Gone) > 0 && !x.closeGone() {
		return result{outcome: stopped}
	}

	// Run what can run.
	more := agent.Schedule(nodes, own.host, own.yield, func() []agent.Part { return x.next(nodes) })
	switch {
	case !more || ctx.Err() != nil:
		return result{outcome: stopped}
	case x.failure != nil:
		return own.failed(x.failure.Code, x.failure)
	case x.gone != nil:
		return own.failed(NodeGone, x.gone)
	case x.parked:
		return result{outcome: waits}
	}

	// No node is left.
	if err := x.stuck(); err != nil {
		return own.failed(NodeStuck, err)
	}
	var value any
	if len(x.outputs) > 1 {
		names := []string{}
		for _, o := range x.outputs {
			names = append(names, o.node)
		}
		slices.Sort(names)
		return own.failed(NodeOutputs, fmt.Errorf("the workflow has %d outputs, of the nodes %s; only one can be its own, so lead the others to a Join",
			len(names), strings.Join(names, ", ")))
	}
	if len(x.outputs) == 1 {
		value = x.outputs[0].value
	}
	return own.finish(ending{output: value})
}

// walk takes in the ends that are new in the log: what they trigger.
func (x *execution) walk() {
	ends, version := x.task.invocation.endsIn(x.task.path, x.walked)
	if x.nodes == nil || version != x.version {
		// The log is folded for the first time, or anew after a rewind or a compaction.
		before := x.nodes
		x.nodes = map[string]*progress{}
		for name, n := range x.graph.nodes {
			p := &progress{node: n}
			if was := before[name]; was != nil {
				p.running = was.running
				p.parked = was.parked
			}
			x.nodes[name] = p
		}
		x.version = version
		x.walked = 0
		x.queue = nil
		x.head = 0
		x.outputs = nil
		for _, e := range x.out[Start] {
			x.trigger(e.To, trigger{input: x.task.input, by: Start.Name})
		}
		ends, _ = x.task.invocation.endsIn(x.task.path, 0)
	}
	for _, run := range ends {
		x.walked++
		name, number := element(run.Path)
		if slices.Contains(x.Gone, name) {
			continue
		}
		p := x.progressOf(name)
		if p == nil || number != strconv.Itoa(p.ended+1) || p.ended >= len(p.triggers) {
			x.gone = errGone(run.Path, p != nil)
			return
		}
		p.ended++
		x.enqueue(p)
		x.fire(&p.triggers[p.ended-1], p.node, run)
	}
}

// progressOf returns that of the node with a name, or that had it before; nil if there is none.
func (x *execution) progressOf(name string) *progress {
	if n := x.was[name]; n != nil {
		name = n.Name
	}
	return x.nodes[name]
}

func errGone(path string, known bool) error {
	name, _ := element(path)
	what := "is not in the graph"
	advice := fmt.Sprintf("if the node has another name now, list %s in its Was (was: in a configuration); if it is gone, "+
		"list %[1]s in Graph.Gone (gone:), and its runs count for nothing", name)
	if known {
		what = "is in the graph, but no edge leads to this run of it"
		advice = fmt.Sprintf("to have it run again, give the node another name and list %s in Graph.Gone (gone: in a configuration)", name)
	}
	return fmt.Errorf("the log has the run %s, and the node %s %s: the graph was changed while this run was under way; "+
		"%s; or go on with the graph as it was, or abandon the run", path, name, what, advice)
}

// unknown returns an error that names a run in the log that the graph does not lead to.
func (x *execution) unknown() error {
	for _, path := range x.task.invocation.runsIn(x.task.path) {
		name, number := element(path)
		if slices.Contains(x.Gone, name) {
			continue
		}
		p := x.progressOf(name)
		n, err := strconv.Atoi(number)
		if p == nil || err != nil || n < 1 || n > len(p.triggers) {
			return errGone(path, p != nil)
		}
	}
	return nil
}

// closeGone closes the calls of nodes that are gone. It reports whether the invocation goes on.
func (x *execution) closeGone() bool {
	for _, path := range x.task.invocation.runsIn(x.task.path) {
		name, _ := element(path)
		if slices.Contains(x.Gone, name) && !x.task.closeCalls(path, nil, "the workflow does not have the node "+name+" any more") {
			return false
		}
	}
	return true
}

// fire triggers what follows the end of a node's run.
func (x *execution) fire(ended *trigger, n *Node, run *session.NodeRun) {
	value := run.Output
	route := run.End.Actions.Route
	failed := run.End.ErrorCode != ""
	edges := x.out[n]
	goesOn := slices.ContainsFunc(edges, func(e Edge) bool { return (e.Route == Failed) == failed })
	switch {
	case failed && !goesOn:
		x.gone = fmt.Errorf("the log has the run %s, which has ended with a failure, and no edge from the node %s has the route "+
			"Failed (failed: true in a configuration): the graph was changed while this run was under way; give it such an edge, "+
			"or abandon the run", run.Path, n.Name)
		return
	case failed:
		value, _ = plain(Failure{Code: run.End.ErrorCode, Message: run.End.ErrorMessage, Input: ended.input})
	case !goesOn:
		if value != nil {
			x.outputs = append(x.outputs, output{node: n.Name, value: value})
		}
		return
	}
	matched := slices.ContainsFunc(edges, func(e Edge) bool {
		return e.Route != nil && e.Route != Default && meets(e.Route, route)
	})
	leads := func(e Edge) bool {
		if failed || e.Route == Failed {
			return failed && e.Route == Failed
		}
		switch e.Route {
		case nil:
			return true
		case Default:
			return !matched
		}
		return meets(e.Route, route)
	}
	for i, e := range edges {
		again := slices.ContainsFunc(edges[:i], func(other Edge) bool { return other.To == e.To && leads(other) })
		if leads(e) && !again {
			x.trigger(e.To, trigger{input: value, by: n.Name, after: []*cause{ended.cause}})
		}
	}
}

// trigger begins a run of a node: of a join, once there is one trigger from each node before it.
func (x *execution) trigger(n *Node, t trigger) {
	p := x.nodes[n.Name]
	if _, ok := n.kind.(join); ok {
		if p.waiting == nil {
			p.waiting = map[string][]trigger{}
		}
		p.waiting[t.by] = append(p.waiting[t.by], t)
		inputs := map[string]any{}
		for _, before := range x.before[n] {
			if len(p.waiting[before.Name]) == 0 {
				return
			}
			inputs[before.Name] = p.waiting[before.Name][0].input
		}
		t.after = nil
		for name := range inputs {
			t.after = append(t.after, p.waiting[name][0].after...)
			p.waiting[name] = p.waiting[name][1:]
			if content, ok := inputs[name].(*genai.Content); ok {
				inputs[name], _ = plain(content)
			}
		}
		t.input = inputs
	}
	if len(p.triggers) > 0 { // a node makes one run after the other
		t.after = append(t.after, p.triggers[len(p.triggers)-1].cause)
	}
	t.cause = &cause{node: n, number: len(p.triggers) + 1, after: t.after}
	p.triggers = append(p.triggers, t)
	x.enqueue(p)
}

// enqueue notes that a node may be able to start.
func (x *execution) enqueue(p *progress) {
	if !p.queued && p.ended < len(p.triggers) {
		p.queued = true
		x.queue = append(x.queue, p)
	}
}

// next returns the nodes to start now: those with a trigger whose run has not ended. A node makes one
// run after the other.
func (x *execution) next(ctx context.Context) []agent.Part {
	x.collect()
	if x.failure != nil || ctx.Err() != nil {
		return nil
	}
	x.walk()
	if x.gone != nil {
		x.cancel()
		return nil
	}
	var parts []agent.Part
	defer func() { // what is left moves to the front
		x.queue = slices.Delete(x.queue, 0, x.head)
		x.head = 0
	}()
	for x.head < len(x.queue) && (x.Limit == 0 || x.active < x.Limit) {
		p := x.queue[x.head]
		x.head++
		p.queued = false
		if p.running || p.parked || p.ended >= len(p.triggers) {
			continue
		}
		if most := cmp.Or(x.Runs, defaultRuns); p.ended >= most {
			x.failure = &Error{Path: fmt.Sprintf("%s/%s@%d", x.task.path, p.node.Name, p.ended+1), Code: NodeLimit,
				Err: fmt.Errorf("the node has run %d times, which is the most that Graph.Runs allows (runs: in a configuration); "+
					"raise it and go on, or abandon the run", most)}
			x.cancel()
			return nil
		}
		p.running = true
		x.active++
		parts = append(parts, x.part(p))
	}
	return parts
}

// part returns the work on the next run of a node.
func (x *execution) part(p *progress) agent.Part {
	t := p.triggers[p.ended]
	s := x.task.below(p.node, strconv.Itoa(p.ended+1), t.input)
	s.cause = t.cause
	s.caught = slices.ContainsFunc(x.out[p.node], func(e Edge) bool { return e.Route == Failed })
	s.triggeredBy = t.by
	s.predecessors = x.names[p.node]
	return func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
		s.host = host
		s.yield = yield
		res := s.run(ctx)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.results = append(x.results, nodeResult{node: s.node.Name, result: res})
	}
}

// collect takes in how parts have ended.
func (x *execution) collect() {
	x.mu.Lock()
	defer func() {
		x.results = x.results[:0]
		x.mu.Unlock()
	}()
	for _, r := range x.results {
		x.active--
		p := x.nodes[r.node]
		p.running = false
		switch r.outcome {
		case hasEnded:
			x.enqueue(p)
		case hasFailed:
			if x.failure == nil {
				x.failure = r.err
				x.cancel()
			}
		default:
			p.parked = true
			x.parked = true
		}
	}
}

// stuck returns an error that names what joins wait for, nil if none waits.
func (x *execution) stuck() error {
	var wrong []error
	for _, name := range sortedKeys(x.nodes) {
		p := x.nodes[name]
		if p.waiting == nil {
			continue // it is no join, or nothing has come to it
		}
		var has, lacks []string
		for _, before := range x.before[p.node] {
			if len(p.waiting[before.Name]) > 0 {
				has = append(has, before.Name)
			} else {
				lacks = append(lacks, before.Name)
			}
		}
		if len(has) > 0 {
			wrong = append(wrong, fmt.Errorf("the join %s has the output of %s and waits for that of %s, which will not run",
				name, strings.Join(has, ", "), strings.Join(lacks, ", ")))
		}
	}
	return errors.Join(wrong...)
}
