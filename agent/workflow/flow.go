package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// Run implements agent.Agent. It goes on with the runs that the invocation is about, or begins one.
func (g *graph) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		inv := host.Now()
		w := &work{key: inv.Key, host: host, began: host.Began}
		w.update(inv)
		over := false
		put := func(e *session.Event, err error) bool {
			if over {
				return false
			}
			over = !yield(e, err)
			if !over && e != nil && !e.Partial {
				w.update(host.Now())
			}
			return !over
		}
		if path, ok := abandons(inv.Input, host.Began); ok {
			g.abandon(w, host, put, path)
			return
		}
		outer, _ := ctx.Value(pathKey{}).(string)
		for _, path := range g.pathsOf(w, host, outer) {
			if over || ctx.Err() != nil {
				return
			}
			message := g.message(host, w.firstOf(path))
			w.content = nil
			var input any
			if message != nil {
				w.content = message.Content
				input = message.Content
			}
			s := &site{work: w, graph: g, host: host, yield: put, path: path, input: input}
			res := g.attempt(ctx, s)
			if res.outcome == hasFailed && ctx.Err() == nil {
				s.tell(res.err)
			}
		}
	}
}

// pathsOf returns the paths of the runs that the invocation is about: those whose calls the user has
// answered; or else, if the user has said something new, a new run; or else those that have not ended,
// and one for a message that nobody has begun a run for. Only runs in the host's branch count, below
// the run outer of a node that the workflow's agent is in.
func (g *graph) pathsOf(w *work, host *agent.Host, outer string) []string {
	inv := host.Now()

	// Which runs are there?
	var open, answered []string
	endedNow := false
	latest := int64(0) // the position at which the latest run began
	for _, path := range w.runsIn(outer) {
		if name, _ := element(path); name != g.Name() || !g.inBranch(w, host, path) {
			continue
		}
		latest = max(latest, w.firstOf(path).Seq)
		switch end := w.end(path); {
		case end != nil:
			endedNow = endedNow || end.Seq > host.Began
		case w.answered(path, host.Began):
			answered = append(answered, path)
			fallthrough
		default:
			open = append(open, path)
		}
	}

	// What is the invocation about?
	input := inv.Input
	fresh := input != nil && input.Seq > host.Began
	message := g.message(host, nil)
	switch {
	case len(answered) > 0:
		return answered
	case endedNow, fresh && says(input):
		return []string{g.fresh(w, host, outer, inv.ID)}
	case fresh:
		open = nil // it is about something else
	case input != nil:
		open = slices.DeleteFunc(open, func(path string) bool {
			_, run := element(path)
			return run != escaped(inv.ID) && !strings.HasPrefix(run, escaped(inv.ID)+"-")
		})
	}
	if message != nil && message.Seq > latest { // nobody has begun a run for it
		open = append(open, g.fresh(w, host, outer, cmp.Or(message.InvocationID, inv.ID)))
	}
	return open
}

// open reports whether a run of the workflow that this invocation is about has not ended: one that it has
// made events of, or any if it has no input.
func (g *graph) open(host *agent.Host) bool {
	inv := host.Now()
	for _, run := range session.Nodes(inv.Live).Workflows() {
		name, _ := element(run.Path)
		if name != g.Name() || !run.Open() || !agent.Sees(host.Branch, run.Events[0].Branch) {
			continue
		}
		if inv.Input == nil || run.Events[len(run.Events)-1].Seq > host.Began {
			return true
		}
	}
	return false
}

// fresh returns the path of a new run. It has the name of the invocation that begins it, or of the call
// that the workflow answers as an agent that is called like a tool.
func (g *graph) fresh(w *work, host *agent.Host, outer, invocation string) string {
	base := invocation
	if at := strings.LastIndexByte(host.Branch, '@'); at >= 0 && outer == "" {
		base = host.Branch[at+1:]
	}
	path := g.Name() + "@" + escaped(base)
	if outer != "" {
		path = outer + "/" + path
	}
	free := path
	for n := 2; w.firstOf(free) != nil; n++ {
		free = fmt.Sprintf("%s-%d", path, n)
	}
	return free
}

// escaped returns an id as a part of a path.
func escaped(id string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", "@", "%40", "#", "%23").Replace(id)
}

// inBranch reports whether a run was begun in the host's branch.
func (g *graph) inBranch(w *work, host *agent.Host, path string) bool {
	branch := w.firstOf(path).Branch
	if !strings.HasPrefix(branch, host.Branch) {
		return false
	}
	rest := branch[len(host.Branch):]
	_, below, isolated := strings.Cut(rest, "@")
	return !isolated || strings.HasPrefix(below, strings.ReplaceAll(path, ".", "%2E"))
}

// says reports whether an event says more than answers to function calls.
func says(e *session.Event) bool {
	return e.Content != nil && slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
		return p != nil && p.FunctionResponse == nil
	})
}

// commands reports whether an event is a command.
func commands(e *session.Event) bool {
	_, ok := e.Command()
	return ok
}

// message returns the message that a run began with: the last one before its first event that the
// host's branch has, or else sees. before is nil for a run that has no event yet.
func (g *graph) message(host *agent.Host, before *session.Event) *session.Event {
	live := host.Now().Live
	isolated := strings.Contains(host.Branch, "@")
	for _, e := range slices.Backward(live) {
		switch {
		case before != nil && e.Seq >= before.Seq, !says(e), commands(e):
		case isolated && e.Branch == host.Branch && e.Content.Role == genai.RoleUser && (e.NodeInfo == nil || e.Author != g.Name()):
			return e
		case !isolated && e.Author == session.User && agent.Sees(host.Branch, e.Branch):
			return e
		}
	}
	return nil
}

// An execution is the work of one invocation on one run of a workflow.
type execution struct {
	*graph
	site   *site
	cancel context.CancelFunc // of the nodes

	// What the log says, as far as it was walked.
	version int
	walked  int // ends
	nodes   map[string]*progress
	queue   []*progress // those that may start, in the order in which they were triggered
	head    int         // how many of the queue next has taken
	outputs []output    // of nodes that no edge leaves
	gone    error       // the log has a run that the graph does not lead to

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
}

type output struct {
	node  string
	value any
}

type nodeResult struct {
	node string
	result
}

func (g *graph) composite() bool                             { return true }
func (g *graph) agents() []agent.Agent                       { return []agent.Agent{g} }
func (g *graph) schemas() (input, output *jsonschema.Schema) { return nil, nil }

// attempt works on a run of the workflow until no node of it can go on. around is where the run is made:
// as a node, or by itself.
func (g *graph) attempt(ctx context.Context, around *site) result {
	own := *around
	own.graph = g
	x := &execution{graph: g, site: &own}
	nodes, cancel := context.WithCancel(ctx)
	defer cancel()
	x.cancel = cancel

	// Does the graph lead to all that the log has?
	x.walk()
	if x.gone == nil {
		x.gone = x.unknown()
	}
	if x.gone != nil {
		res := own.failed(NodeGone, x.gone)
		res.final = true
		return res
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
	return own.finish(value, session.Actions{}, nil)
}

// walk takes in the ends that are new in the log: what they trigger.
func (x *execution) walk() {
	ends, version := x.site.work.endsIn(x.site.path, x.walked)
	if x.nodes == nil || version != x.version {
		// The log was rewound, or is walked for the first time.
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
			x.trigger(e.To, trigger{input: x.site.input, by: Start.Name})
		}
		ends, _ = x.site.work.endsIn(x.site.path, 0)
	}
	for _, run := range ends {
		x.walked++
		name, number := element(run.Path)
		p := x.nodes[name]
		if p == nil || number != strconv.Itoa(p.ended+1) || p.ended >= len(p.triggers) {
			x.gone = errGone(run.Path, p != nil)
			return
		}
		p.ended++
		x.enqueue(p)
		x.fire(p.node, run.Output, run.End.Actions.Route)
	}
}

func errGone(path string, known bool) error {
	name, _ := element(path)
	what := "is not in the graph"
	if known {
		what = "is in the graph, but no edge leads to this run of it"
	}
	return fmt.Errorf("the log has the run %s, and the node %s %s: the graph was changed while this run was under way; "+
		"go on with the graph as it was, or abandon the run", path, name, what)
}

// unknown returns an error that names a run in the log that the graph does not lead to.
func (x *execution) unknown() error {
	for _, path := range x.site.work.runsIn(x.site.path) {
		name, number := element(path)
		p := x.nodes[name]
		n, err := strconv.Atoi(number)
		if p == nil || err != nil || n < 1 || n > len(p.triggers) {
			return errGone(path, p != nil)
		}
	}
	return nil
}

// fire triggers what follows the end of a node.
func (x *execution) fire(n *Node, value, route any) {
	edges := x.out[n]
	if len(edges) == 0 {
		if value != nil {
			x.outputs = append(x.outputs, output{node: n.Name, value: value})
		}
		return
	}
	matched := slices.ContainsFunc(edges, func(e Edge) bool {
		return e.Route != nil && e.Route != Default && meets(e.Route, route)
	})
	leads := func(e Edge) bool {
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
			x.trigger(e.To, trigger{input: value, by: n.Name})
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
		for name := range inputs {
			p.waiting[name] = p.waiting[name][1:]
			if content, ok := inputs[name].(*genai.Content); ok {
				inputs[name], _ = plain(content)
			}
		}
		t.input = inputs
	}
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
			x.failure = &Error{Path: fmt.Sprintf("%s/%s@%d", x.site.path, p.node.Name, p.ended+1), Code: NodeLimit,
				Err: fmt.Errorf("the node has run %d times, which is the most that Graph.Runs allows", most)}
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
	s := *x.site
	s.node = p.node
	s.path = s.path + "/" + p.node.Name + "@" + strconv.Itoa(p.ended+1)
	s.input = t.input
	s.by = t.by
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
		var has, lacks []string
		for _, before := range x.before[p.node] {
			if len(p.waiting[before.Name]) > 0 {
				has = append(has, before.Name)
			} else {
				lacks = append(lacks, before.Name)
			}
		}
		if len(has) > 0 {
			wrong = append(wrong, fmt.Errorf("the join %s has the end of %s and waits for that of %s, which does not come",
				name, strings.Join(has, ", "), strings.Join(lacks, ", ")))
		}
	}
	return errors.Join(wrong...)
}

// abandonCommand is the name of the command by which somebody ends a run.
const abandonCommand = "workflow.abandon"

// Abandon returns an input that ends a run of a workflow that has not ended, whatever it waits for:
// path is the first element of the paths of its nodes (session.WorkflowRun.Path). The workflow answers
// the run's open calls with an error, and ends it with the code Abandoned. It is for a run that cannot
// go on, such as one of a graph that was changed. The workflow must be the runner's root agent.
func Abandon(path string) *session.Event {
	command := session.Command{Name: abandonCommand, Args: map[string]any{"run": path}}
	e := command.Event()
	e.Content = genai.NewContentFromText("Abandon the run "+path+".", genai.RoleUser)
	return e
}

// abandons returns the run that an input ends, if it is one that Abandon has made.
func abandons(input *session.Event, began int64) (path string, ok bool) {
	if input == nil || input.Seq <= began {
		return "", false
	}
	c, ok := input.Command()
	path, isText := c.Args["run"].(string)
	return path, ok && c.Name == abandonCommand && isText
}

// abandon ends a run.
func (g *graph) abandon(w *work, host *agent.Host, put func(*session.Event, error) bool, path string) {
	s := &site{work: w, graph: g, host: host, yield: put, path: path}
	name, _ := element(path)
	began := w.firstOf(path)
	if began == nil || name != g.Name() || above(path) != "" || w.end(path) != nil {
		e := &session.Event{Author: g.Name(), Branch: host.Branch, ErrorCode: NodeGone,
			ErrorMessage: fmt.Sprintf("the workflow %s has no run %s that has not ended", g.Name(), path)}
		s.put(e)
		return
	}
	for _, c := range w.openCalls(path) {
		e := &session.Event{Author: c.event.Author, Branch: c.event.Branch, NodeInfo: &session.NodeInfo{Path: c.path}}
		e.Content = respond(&c, map[string]any{"error": "the workflow's run was abandoned", "interrupted": true})
		if !s.put(e) {
			return
		}
	}
	e := s.event()
	e.NodeInfo.Ended = true
	e.ErrorCode = Abandoned
	e.ErrorMessage = "the run was abandoned"
	s.put(e)
}
