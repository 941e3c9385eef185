package session

import (
	"slices"
	"strings"

	"google.golang.org/genai"
)

// NodeStatus says how far a node run has come, as the log tells.
type NodeStatus string

const (
	// Completed is a run that has ended, or, in other kits' logs, one with an output or a route.
	Completed NodeStatus = "completed"
	// Failed is a run whose last attempt has failed.
	Failed NodeStatus = "failed"
	// Waiting is a run with a question that nobody has answered.
	Waiting NodeStatus = "waiting"
	// Answered is a run all of whose questions are answered, and that has not gone on since.
	Answered NodeStatus = "answered"
	// Unclear is a run that has events, but none that ends it, fails it or asks a question: its process ended while it
	// ran.
	Unclear NodeStatus = "unclear"
)

// A NodeRun is one run of a workflow's node, as a log tells it. It is what Nodes answers, and must not be changed.
type NodeRun struct {
	// Path names the run; see NodeInfo.
	Path string
	// Invocation is the invocation of a run of another kit, whose paths repeat in each invocation. It is "" for a
	// run of this module, which may go on in any invocation.
	Invocation string
	// First is the event that first names the run, and Last the latest event of it; an event of a node inside of it
	// is neither. They are nil for a run that is known only by the output of a node inside of it.
	First, Last *Event
	// Failures is how many attempts have failed. Failure is the last event that says so; it is nil if none has.
	Failures int
	Failure  *Event
	// Questions are what the run has asked people, in order.
	Questions []*Question
	// Output is the run's output, or that of the run that its end names (NodeInfo.OutputOf); nil if it has none.
	Output any
	// Route is what chooses the edges after the run, nil if nothing does.
	Route any
	// End is the event that ended the run (NodeInfo.Ended), nil for a run that has not ended. Other kits write none.
	End *Event

	goesOn bool // the run has an event after its last failure
}

// Ended reports whether the run has ended and is never made again.
func (r *NodeRun) Ended() bool { return r.End != nil }

// Attempts is how many attempts the log shows: those that failed, and the one that has left something since.
func (r *NodeRun) Attempts() int {
	if r.goesOn || r.Failures == 0 {
		return r.Failures + 1
	}
	return r.Failures
}

// Waits returns the questions that nobody has answered, in order.
func (r *NodeRun) Waits() []*Question {
	var open []*Question
	for _, q := range r.Questions {
		if q.Response == nil {
			open = append(open, q)
		}
	}
	return open
}

// Status returns what the log knows of the run.
func (r *NodeRun) Status() NodeStatus {
	switch {
	case r.End != nil && r.End.ErrorCode != "":
		return Failed
	case r.End != nil, !ownPath(r.Path) && (r.Output != nil || r.Route != nil):
		return Completed
	case r.Failures > 0 && !r.goesOn:
		return Failed
	case len(r.Waits()) > 0:
		return Waiting
	case len(r.Questions) > 0 && r.Last == r.Questions[len(r.Questions)-1].Event:
		return Answered
	}
	return Unclear
}

// A WorkflowRun is one run of a workflow, as a log tells it, with the runs of the nodes in it and below. It must not
// be changed.
type WorkflowRun struct {
	// Path is the first element of the paths in it. Invocation is as in NodeRun.
	Path       string
	Invocation string
	// Input is the event that the run began with: the last one before the run's first event, in its branch or one
	// above it, with which a user, or an agent that called the workflow like a tool, said more than answers to
	// function calls. It is nil if there is none.
	Input *Event
	// Events are the run's events in order: all whose path begins with Path.
	Events []*Event
	// Nodes are the runs of nodes in the order in which the log first names them, the workflow's own among them.
	Nodes []*NodeRun
	// Ends are the runs among these that have ended, in the order in which they did.
	Ends []*NodeRun
	// Ended says that the workflow's own run has ended.
	Ended bool

	own *NodeRun // the workflow's own run, nil until the log names it
}

// Open reports whether the run can go on: it is this module's, and has not ended. A compaction covers no event of
// it, and not its input.
func (w *WorkflowRun) Open() bool { return !w.Ended && ownPath(w.Path) }

// Failed reports whether the last event of the run says that the workflow itself has failed. Such a run is open, but it does
// not go on until somebody asks for it.
func (w *WorkflowRun) Failed() bool {
	return !w.Ended && w.own != nil && w.own.Failures > 0 && !w.own.goesOn && w.own.Last == w.Events[len(w.Events)-1]
}

// WorkflowRuns is what a log says of workflows. NewWorkflowRuns makes one, and Add takes in what comes after; the zero
// WorkflowRuns is that of an empty log. It is not safe for use by several goroutines at once.
//
// Only positions count: each event is taken in for what it says, after those before it, whatever their invocation and
// time. So a first run, an answer, a crash and a rewind lead to the same runs if they leave the same events.
//
// An event of the user's, and an event without a path, belongs to no node run. After a run has ended, no event adds to
// it. In another kit's log an output of a run that has one begins another run of that path, since some kits number every
// run alike; but an output without OutputFor only repeats what was said.
type WorkflowRuns struct {
	runs      []*NodeRun
	workflows []*WorkflowRun
	byPath    map[string]*NodeRun  // the latest, of keys with nothing but a path
	latest    map[nodeKey]*NodeRun // of other keys
	byRoot    map[nodeKey]*WorkflowRun
	calls     CallTracker
	questions map[*genai.FunctionCall]*Question // that are open
	inputs    map[string]*Event                 // the last input by branch
}

// A nodeKey distinguishes node runs: by their path and, in other kits' logs, also by their invocation and by the ID that
// the alpha version of the Python kit gave to each run (execution).
type nodeKey struct{ invocation, execution, path string }

// NewWorkflowRuns returns what a live view, or a log without compactions and rewinds, says of workflows.
//
// The law, for every log and every position n in it: NewWorkflowRuns(Live(log + rewind to n)) == NewWorkflowRuns(Live(log[:n])).
func NewWorkflowRuns(events []*Event) *WorkflowRuns {
	r := new(WorkflowRuns)
	for _, e := range events {
		r.Add(e)
	}
	return r
}

// List returns the node runs in the order in which the log first names them.
func (r *WorkflowRuns) List() []*NodeRun { return r.runs }

// Workflows returns the runs of workflows in the order of their first events.
func (r *WorkflowRuns) Workflows() []*WorkflowRun { return r.workflows }

// Run returns the node run with that path, nil if there is none. It finds runs of this module; of other kits' runs a
// path does not say which.
func (r *WorkflowRuns) Run(path string) *NodeRun { return r.byPath[path] }

// Workflow returns the run of a workflow with that path, which has one element, nil if there is none.
func (r *WorkflowRuns) Workflow(path string) *WorkflowRun { return r.byRoot[nodeKey{path: path}] }

// Add takes in the next event. It returns the calls that the event makes and those that it answers, as
// CallTracker.Add does.
func (r *WorkflowRuns) Add(e *Event) (made, answered []*Call) {
	made, answered = r.calls.Add(e)
	r.addToRun(e, made, answered)
	return made, answered
}

// addToRun takes in what an event says of its node run. asked are the calls that it makes.
func (r *WorkflowRuns) addToRun(e *Event, asked, answered []*Call) {
	// Does it answer questions?
	for _, c := range answered {
		q := r.questions[c.FunctionCall]
		if q == nil {
			continue
		}
		q.Response = e
		q.Result = c.Result
		delete(r.questions, c.FunctionCall)
		q.Answer = answerOf(q.Call, q.Result)
	}
	n := e.NodeInfo
	if e.Author == User || n == nil || n.Path == "" {
		r.addInput(e)
		return
	}

	// Which run is it of?
	key := r.key(e, n.Path)
	w := r.workflow(e, key)
	w.Events = append(w.Events, e)
	output := outputOf(e)
	run := r.run(w, key, e, output, n)
	if run.Ended() {
		return
	}
	if run.First == nil {
		run.First = e
	}
	run.Last = e

	// What does it say of the run?
	if e.ErrorCode != "" && e.FromWorkflow() { // an agent's failure is a step of the attempt
		run.Failures++
		run.Failure = e
		run.goesOn = false
	} else {
		run.goesOn = true
	}
	for _, c := range asked {
		call := c.FunctionCall
		if call.Name != AskTool {
			continue
		}
		name, ours := strings.CutPrefix(call.ID, n.Path+"#")
		if !ours {
			name = call.ID
		}
		q := &Question{Name: name, Call: call, Event: e}
		run.Questions = append(run.Questions, q)
		if r.questions == nil {
			r.questions = map[*genai.FunctionCall]*Question{}
		}
		r.questions[c.FunctionCall] = q
	}
	if output != nil && run.Output == nil {
		run.Output = output
	}
	if e.Actions.Route != nil {
		run.Route = e.Actions.Route
	}
	if n.Ended { // what the end says counts, whatever was said before
		run.Output = output
		if n.OutputOf != "" {
			run.Output = nil
			if other := r.Run(n.OutputOf); other != nil && other.Ended() {
				run.Output = other.Output
			}
		}
		run.Route = e.Actions.Route
		run.End = e
		w.Ends = append(w.Ends, run)
		w.Ended = w.Ended || n.Path == w.Path
	}

	// In another kit's log the output may be that of runs around it, too. Here their ends say so (OutputOf).
	for _, path := range n.OutputFor {
		if output == nil || path == n.Path || path == "" || ownPath(path) {
			continue
		}
		around := r.run(w, r.key(e, path), e, output, n)
		if !around.Ended() && around.Output == nil {
			around.Output = output
		}
	}
}

// addInput notes an event if a workflow may begin with it: a message of the user's, or the request to an agent that another
// one has called like a tool. Such a call has a branch of its own, in which the request is the only content with the role
// user.
func (r *WorkflowRuns) addInput(e *Event) {
	request := e.Content != nil && e.Content.Role == genai.RoleUser && isolated(e.Branch)
	says := (e.Author == User || request) && slices.ContainsFunc(e.Parts(), func(p *genai.Part) bool {
		return p.FunctionResponse == nil
	})
	if !says {
		return
	}
	if r.inputs == nil {
		r.inputs = map[string]*Event{}
	}
	r.inputs[e.Branch] = e
}

// key returns what distinguishes the run with that path from others, for an event that names the path.
func (r *WorkflowRuns) key(e *Event, path string) nodeKey {
	key := nodeKey{path: path}
	if !ownPath(path) {
		key.invocation = e.InvocationID
		if path == e.NodeInfo.Path {
			key.execution = string(e.NodeInfo.Extra["executionId"])
		}
	}
	return key
}

// ownPath reports whether a path is one of this module: its first element has the name of a run. Other kits have a
// number there, or nothing.
func ownPath(path string) bool {
	root, _, _ := strings.Cut(path, "/")
	_, run, ok := strings.Cut(root, "@")
	return ok && strings.Trim(run, "0123456789") != ""
}

// workflow returns the run of the workflow that an event with that key belongs to. It makes one if the event is the first.
func (r *WorkflowRuns) workflow(e *Event, key nodeKey) *WorkflowRun {
	root, _, _ := strings.Cut(key.path, "/")
	rootKey := nodeKey{invocation: key.invocation, path: root}
	if w := r.byRoot[rootKey]; w != nil {
		return w
	}
	if r.byRoot == nil {
		r.byRoot = map[nodeKey]*WorkflowRun{}
	}
	w := &WorkflowRun{Path: root, Invocation: key.invocation}
	r.byRoot[rootKey] = w
	r.workflows = append(r.workflows, w)

	// It began with the latest input that its branch sees. An isolated branch that has an input sees none above it.
	branch := e.Branch
	for {
		input := r.inputs[branch]
		if input != nil && (w.Input == nil || input.Seq > w.Input.Seq) {
			w.Input = input
		}
		if branch == "" || w.Input != nil && isolated(branch) {
			return w
		}
		branch = branch[:max(0, strings.LastIndexByte(branch, '.'))]
	}
}

// isolated reports whether a branch begins a conversation of its own, which sees nothing of what is above it.
func isolated(branch string) bool {
	return strings.Contains(branch[strings.LastIndexByte(branch, '.')+1:], "@")
}

// run returns the run with that key. It makes one if the log has not named it yet, or if another kit's event has an output
// or a route for a run that has one already.
func (r *WorkflowRuns) run(w *WorkflowRun, key nodeKey, e *Event, output any, n *NodeInfo) *NodeRun {
	run := r.byPath[key.path]
	other := key != nodeKey{path: key.path}
	if other {
		run = r.latest[key]
	}
	again := false
	if run != nil && !ownPath(key.path) {
		switch {
		case output != nil:
			again = run.Output != nil && len(n.OutputFor) > 0
		case e.Actions.Route != nil && key.path == n.Path:
			again = run.Route != nil
		}
	}
	if run != nil && !again {
		return run
	}
	run = &NodeRun{Path: key.path, Invocation: key.invocation}
	if r.byPath == nil {
		r.byPath = map[string]*NodeRun{}
		r.latest = map[nodeKey]*NodeRun{}
	}
	if other {
		r.latest[key] = run
	} else {
		r.byPath[key.path] = run
	}
	r.runs = append(r.runs, run)
	w.Nodes = append(w.Nodes, run)
	if run.Path == w.Path {
		w.own = run
	}
	return run
}

// outputOf returns the output that an event has, nil if it has none.
func outputOf(e *Event) any {
	if e.Output != nil || !e.NodeInfo.MessageAsOutput {
		return e.Output
	}
	if e.Content == nil {
		return nil
	}
	return textValue(e.Text())
}

// FromWorkflow reports whether a workflow says something of a node's run: its author is the workflow around the node, or
// one around that, and no agent in the node.
func (e *Event) FromWorkflow() bool {
	if e.NodeInfo == nil || e.NodeInfo.Path == "" {
		return false
	}

	// An agent in the node speaks in a branch of its own. It may have the same name as a workflow, so look at the branch.
	own := "@" + strings.ReplaceAll(e.NodeInfo.Path, ".", "%2E")
	for element := range strings.SplitSeq(e.Branch, ".") {
		if strings.HasSuffix(element, own) {
			return false
		}
	}
	path := strings.Split(e.NodeInfo.Path, "/")
	around := path[:max(1, len(path)-1)] // a workflow's own path has one element
	return slices.ContainsFunc(around, func(element string) bool {
		name, _, _ := strings.Cut(element, "@")
		return name == e.Author
	})
}
