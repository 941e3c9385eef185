package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/tool"
)

// A Node is a step of a workflow. Func, Agent, Tool, Join and Each make nodes. Set its fields after
// that, before New.
//
// A run of a node that has ended is not made again. One that was cut off by a crash is made again from
// its beginning: what it does outside of the session is done at least once. Give that Run.Path as a
// key, or set Once.
type Node struct {
	// Name is the node's name in its graph. It must not contain '.', '/', '@' or '#'.
	Name string
	// Retry says how often a run is tried. The zero Retry tries once.
	Retry Retry
	// Timeout is how long one attempt may take; 0 is without limit. The context of the attempt ends
	// then; the workflow waits until the node has returned.
	Timeout time.Duration
	// Once says that the node's effects must not happen twice: a call with the node's name and input is
	// in the log before the node begins, so that plugins see it. If the process ends before the call is
	// answered, nobody knows how far the node came; then the run asks a person, who answers "again" to have
	// the call made again, or what it has returned, in JSON. An attempt that has failed may be tried again.
	// It is for nodes that Func makes. A node that Tool makes is always like that.
	Once bool
	// Input makes the node's input of what comes to it, which is the output of the node before or the
	// item of an Each, and of the session's state; nil hands it on as it is. It is called before each
	// attempt, must not change what it gets, and has no effects. What comes to a node at the beginning of
	// a workflow is a *genai.Content. An error fails the run with NodeInput, and it is not tried again.
	Input func(input any, state map[string]any) (any, error)
	// MaxItems is how many items a node that Each makes takes at most; 0 is 10,000. A longer list fails the run
	// with NodeLimit before the first item. It is for nodes that Each makes.
	MaxItems int
	// Deadline is how long a question of the node (Ask) may wait for its answer; 0 is for ever. The question's
	// deadline is in the log, and shown to people. After it an answer does not count, and Ask returns ErrDeadline.
	// Nothing wakes a run: it goes on with the next invocation that does, with an answer or without input.
	Deadline time.Duration
	// OutputKey is a state key that gets the node's output, in the same append; "" is none.
	OutputKey string
	// State says which state keys the node may set, and to what; nil is that of its graph.
	State *State
	// Was lists names that the node had before, for runs that have begun with them: what the log has under such a
	// name is this node's, and a run of it that has begun keeps its path.
	Was []string

	kind kind
}

// named reports whether a node has a name, or had it before.
func (n *Node) named(name string) bool { return n.Name == name || slices.Contains(n.Was, name) }

// A kind is what nodes do.
type kind interface {
	// attempt makes one attempt of a run.
	attempt(ctx context.Context, s *task) result
	// agents returns the agents in it.
	agents() []agent.Agent
	// schemas returns those of its input and its output, nil where anything fits or it is not known.
	schemas() (input, output *jsonschema.Schema)
}

// untyped is embedded in kinds whose input and output may be anything.
type untyped struct{}

func (untyped) schemas() (input, output *jsonschema.Schema) { return nil, nil }

// check returns what is wrong with a node.
func (n *Node) check() error {
	var wrong []error
	report := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("node %s: "+format, append([]any{n.Name}, args...)...))
	}
	if n.Name == "" || n.Name == Start.Name || strings.ContainsAny(n.Name, "./@#") {
		report("the name %q must not be empty or START, and not contain '.', '/', '@' or '#'", n.Name)
	}
	if n.Timeout < 0 || n.Deadline < 0 {
		report("Timeout and Deadline must not be less than 0")
	}
	if n.Retry.Attempts < 0 || n.Retry.Delay < 0 || n.Retry.Max < 0 || n.Retry.Factor < 0 || n.Retry.Jitter < 0 {
		report("a field of Retry is less than 0")
	}
	mayBeOnce := false
	isEach := false
	asks := false
	var err error
	switch k := n.kind.(type) {
	case nil:
		report("it was not made by Func, Agent, Tool, Join or Each")
	case *function:
		mayBeOnce = true
		asks = !n.Once
		err = k.wrong
	case *toolNode:
		mayBeOnce = true
		err = k.wrong
	case *agentNode:
		if k.agent == nil {
			report("the agent is nil")
		}
	case *each:
		isEach = true
		if k.node == nil || k.node.kind == nil {
			report("it has no node to run for each item")
		} else {
			err = k.node.check()
		}
		if k.limit < 0 {
			report("the limit is less than 0")
		}
	}
	if err != nil {
		report("%w", err)
	}
	if n.Once && !mayBeOnce {
		report("Once is for nodes that Func makes; set it on the nodes inside of this one")
	}
	if n.Deadline > 0 && !asks {
		report("Deadline is for nodes that Func makes, and not for those with Once: no other node asks")
	}
	if n.MaxItems < 0 || n.MaxItems > 0 && !isEach {
		report("MaxItems must not be less than 0, and is for nodes that Each makes")
	}
	return errors.Join(wrong...)
}

// Func returns a node that runs a function. Its input and output are JSON values of the types In and
// Out.
//
// If In is a struct in which fields have the tag `state:"key"`, each of these fields gets the value
// of that state key, and one with `state:"node_input"` gets the output of the node before. A field may
// be missing if its tag has ",omitempty" or it is a pointer; then it keeps its zero value. Any other In
// is the output of the node before as a whole; a struct without fields takes anything. A value that is
// missing or does not fit fails the run with NodeInput before f is called, and is not tried again. At
// the beginning of a workflow the output before is the user's message: a string gets its text, a
// *genai.Content the whole, any other type what the text says in JSON.
//
// A nil pointer or map, and an empty struct, are no output. An error, or a panic, fails the attempt.
// f returns the error of Ask and Do as it gets it, or wrapped. It honours ctx.
func Func[In, Out any](name string, f func(ctx context.Context, r *Run, in In) (Out, error)) *Node {
	b, err := newBinding(reflect.TypeFor[In]())
	k := &function{binding: b, wrong: err}
	if out, err := schemaOf(reflect.TypeFor[Out]()); err == nil {
		k.output = out
	}
	k.bind = func(s *task) (func(context.Context, *Run) (any, error), error) {
		in, err := bind[In](b, s)
		return func(ctx context.Context, r *Run) (any, error) { return f(ctx, r, in) }, err
	}
	return &Node{Name: name, kind: k}
}

// Agent returns a node that runs an agent. A workflow that New has made runs as a part of this one: its
// nodes have paths below that of the node. Any other agent gets a conversation of its own, with the
// input as the user's message. What it says last is the output: its text, or the value that its text is
// in JSON if the agent has an output schema (llm.Config.Output).
func Agent(a agent.Agent) *Node {
	if g, ok := a.(*graph); ok {
		return &Node{Name: g.Name(), kind: g}
	}
	k := &agentNode{agent: a}
	if a == nil {
		return &Node{kind: k}
	}
	return &Node{Name: a.Name(), kind: k}
}

// Tool returns a node that calls a tool. The input is the arguments: an object, a text that is one in
// JSON, or nothing. The call is in the log before the tool runs, as an agent's call is: plugins see it
// and can hold, change or answer it. The output is the response; of {"result": v} it is v.
func Tool(t *tool.Tool) *Node {
	k := &toolNode{tool: t}
	if t == nil {
		k.wrong = errors.New("the tool is nil")
		return &Node{kind: k}
	}
	k.check, k.wrong = t.Check()
	if k.wrong == nil && t.Run == nil {
		k.wrong = fmt.Errorf("tool %s: Run is nil", t.Name())
	}
	name := ""
	if t.Declaration != nil {
		name = t.Name()
	}
	return &Node{Name: name, kind: k}
}

// Join returns a node that runs when all nodes with an edge to it have ended: its first run takes
// the first end of each, its second run the second. Its output is an object with the output of each by
// name, null for one without. If a run of the workflow comes to an end while a join has got some of
// its inputs and not all, the run fails with NodeStuck.
func Join(name string) *Node { return &Node{Name: name, kind: join{}} }

// Each returns a node that runs n once for each item of its input, a list, and whose output is the list
// of the outputs in the order of the items. What is no list is a list of one item; no input is none.
// limit is how many run at the same time, 0 is without limit. If one fails, the others are cancelled,
// and the run fails; those that have ended are not run again when it is tried again. Node.MaxItems bounds the
// list. It has n's name unless another is set.
func Each(n *Node, limit int) *Node {
	each := &Node{kind: &each{node: n, limit: limit}}
	if n != nil {
		each.Name = n.Name
	}
	return each
}

// Retry says how often a run of a node is tried, and when. The attempts are counted in the log, so a
// crash does not begin anew; they are counted anew once the workflow has failed.
type Retry struct {
	// Attempts is how often a run is tried, the first attempt included; 0 is 1.
	Attempts int
	// Delay is how long the second attempt waits after the first; each further one waits Factor times
	// as long as the one before, and no longer than Max. A Factor of 0 is 2, a Max of 0 a minute.
	Delay  time.Duration
	Factor float64
	Max    time.Duration
	// Jitter is the share of the delay by which chance makes it longer or shorter: 0.2 waits between
	// 80 and 120 percent of it.
	Jitter float64
	// If says which errors are worth another attempt; nil is all. errors.As finds an *Error in what it
	// gets, and what a function has returned.
	If func(error) bool
}

// delay returns how long to wait after so many failed attempts.
func (r Retry) delay(failed int) time.Duration {
	d := float64(r.Delay) * math.Pow(cmp.Or(r.Factor, 2), float64(failed-1))
	d = min(d, float64(cmp.Or(r.Max, time.Minute)))
	d *= 1 + r.Jitter*(2*rand.Float64()-1)
	return time.Duration(max(0, d))
}

// Codes of failures, in an event's ErrorCode and in an Error.
const (
	NodeFailed   = "NODE_FAILED"   // the function, agent or tool has failed
	NodeTimeout  = "NODE_TIMEOUT"  // it took longer than Node.Timeout, or nobody has answered within Node.Deadline
	NodeInput    = "NODE_INPUT"    // its input or a state key is missing or does not fit
	NodeWithheld = "NODE_WITHHELD" // a plugin has withheld its end, its question or its call
	NodeStuck    = "NODE_STUCK"    // a join waits for what will not come
	NodeLimit    = "NODE_LIMIT"    // a node has run as often as Graph.Runs allows, or has more items than Node.MaxItems
	NodeState    = "NODE_STATE"    // it sets a state key that another run sets at the same time
	NodeGone     = "NODE_GONE"     // the log has a run of a node that is not in the graph
	NodeOutputs  = "NODE_OUTPUTS"  // the workflow has more than one output
	Abandoned    = "ABANDONED"     // somebody has ended the workflow's run; see Abandon
)

// An Error says that a run of a node, or of a workflow, has failed.
type Error struct {
	// Path names the run.
	Path string
	// Code is one of the codes of this package.
	Code string
	// Err is why. If the failure was read from the log, it has the text alone.
	Err error
}

// Error says which run has failed and why; if that is the failure of a run within it, only that one.
func (e *Error) Error() string {
	if within, ok := e.Err.(*Error); ok {
		return within.Error()
	}
	return fmt.Sprintf("%s: %s: %v", e.Path, e.Code, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
