package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A Run is one attempt of a node's run, as its function sees it. It belongs to the function that it is
// passed to, and to its goroutine: other goroutines use it only within Together.
type Run struct {
	// Path names the run; it is the same in each attempt, whatever process makes it, so it can be the
	// key by which another system knows what was done before.
	Path string
	// Attempt is the number of the attempt, from 1. What failed before a crash counts.
	Attempt int
	// TriggeredBy is the name of the node whose end began this run: Start's for one at the beginning, for
	// a join that of the last one, and "" for a run that Do or Each has begun.
	TriggeredBy string
	// Predecessors are the names of all nodes with an edge to this one. They must not be changed.
	Predecessors []string
	// Session is the session's key.
	Session session.Key
	// UserContent is the message that the workflow began with. It must not be changed. It is nil if a
	// compaction has covered it.
	UserContent *genai.Content
	// Actions are effects that go into the log with the run's end, in the same append: state, files, a
	// route. A failed attempt has none, nor one that waits.
	Actions session.Actions

	site     *site
	mu       sync.Mutex
	said     int
	counts   map[string]int
	children map[string]*child
	delegate string // the path of the child whose output is that of this run
}

// Invocation returns the invocation as it is now. What this attempt sets is not in its state; see Get.
func (r *Run) Invocation() *session.Invocation { return r.site.host.Now() }

// Get returns the value of a state key: what this attempt has set or else what the session has, nil if
// neither has one.
func (r *Run) Get(key string) any {
	if v, ok := r.Actions.StateDelta[key]; ok {
		return v
	}
	return r.site.host.Now().State[key]
}

// Set sets a state key to a JSON value, with the run's end; nil deletes it.
func (r *Run) Set(key string, value any) {
	if r.Actions.StateDelta == nil {
		r.Actions.StateDelta = map[string]any{}
	}
	r.Actions.StateDelta[key] = value
}

// Route chooses the edges with this route, or with one of a list.
func (r *Run) Route(route any) { r.Actions.Route = route }

// Save keeps a file of the session, and notes its version in the log with the run's end.
func (r *Run) Save(ctx context.Context, name string, data *genai.Part) (version int64, err error) {
	artifacts := r.site.graph.Artifacts
	if artifacts == nil {
		return 0, errors.New("workflow: there is no artifact service; set Graph.Artifacts")
	}
	version, err = artifacts.Save(ctx, r.Session, name, data)
	if err != nil {
		return 0, err
	}
	r.Actions.ArtifactDelta = maps.Clone(r.Actions.ArtifactDelta)
	if r.Actions.ArtifactDelta == nil {
		r.Actions.ArtifactDelta = map[string]int64{}
	}
	r.Actions.ArtifactDelta[name] = version
	return version, nil
}

// Say tells the user something. It is an event of its own, and no output. What the same run has said
// before, in an attempt that failed or waited, is not said again: the first call is compared with what
// was said first, and so on. The error is ErrEnded of package agent if the invocation has ended.
func (r *Run) Say(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.site.work.saidBy(r.Path)
	if r.said < len(said) && said[r.said].Text() == text {
		r.said++
		return nil
	}
	e := r.site.event()
	e.Content = genai.NewContentFromText(text, genai.RoleModel)
	if !r.site.put(e) {
		return agent.ErrEnded
	}
	r.said = len(r.site.work.saidBy(r.Path))
	return nil
}

// Together calls functions at once, each on a goroutine of its own, and returns when all have returned,
// with their errors joined. They may use Ask, Do and Say.
func (r *Run) Together(ctx context.Context, functions ...func(ctx context.Context) error) error {
	errs := make([]error, len(functions)+1)
	own := r.site
	defer func() { r.site = own }()
	var parts []agent.Part
	for i, f := range functions {
		parts = append(parts, func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			// Any part's host and yield serve all of them; those of the caller are for its goroutine.
			r.mu.Lock()
			if r.site == own {
				shared := *own
				shared.host = host
				shared.yield = yield
				r.site = &shared
			}
			r.mu.Unlock()
			_, errs[i] = safely(func() (any, error) { return nil, f(ctx) })
		})
	}
	if len(parts) == 1 {
		_, err := safely(func() (any, error) { return nil, functions[0](ctx) })
		return err
	}
	if !agent.Together(ctx, own.host, own.yield, parts...) {
		errs[len(functions)] = agent.ErrEnded
	}
	return errors.Join(errs...)
}

// ErrWaits says that a question has no answer yet. A function that gets it returns it, alone, wrapped
// or joined with others.
var ErrWaits = errors.New("workflow: a question waits for its answer")

// Ask asks a person, and returns the answer, a JSON value of type T. While there is none the error is
// ErrWaits; the function returns it, and is called again, from its beginning, when all questions of
// its run are answered: then Ask returns the answer. It may take days, and another process.
//
// The question is a function call (session.AskTool) whose response is the answer. An answer that does
// not fit the schema of T is refused: the question is asked again, and says why. name tells the
// questions of a run apart.
func Ask[T any](ctx context.Context, r *Run, name, message string) (answer T, err error) {
	if err := context.Cause(ctx); err != nil {
		return answer, err
	}
	schema, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return answer, fmt.Errorf("workflow: the question %q: %w", name, err)
	}
	to := reflect.ValueOf(&answer).Elem()
	err = r.ask(name, message, schema, func(value any) error {
		if value == nil && to.Kind() != reflect.Pointer && to.Kind() != reflect.Interface {
			return errors.New("it is empty")
		}
		var fits func(context.Context, any) error
		if schema != nil {
			if fits, err = tool.Schema(schema); err != nil {
				return err
			}
		}
		to.SetZero()
		return convert(to, value, fits)
	})
	return answer, err
}

// AskSchema is Ask for an answer whose schema is a value: a *genai.Schema, or whatever else
// tool.Schema takes, such as a map. The answer is a JSON value that fits it. A schema that cannot be
// compiled is an error.
func AskSchema(ctx context.Context, r *Run, name, message string, schema any) (answer any, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s, ok := schema.(*genai.Schema); ok {
		schema = tool.JSONSchema(s)
	}
	fits, err := tool.Schema(schema)
	if err != nil {
		return nil, fmt.Errorf("workflow: the question %q: %w", name, err)
	}
	err = r.ask(name, message, schema, func(value any) error {
		answer = value
		return fits(ctx, value)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// ask puts a question, or reads the answer.
func (r *Run) ask(name, message string, schema any, read func(any) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" || strings.Contains(name, "#") {
		return fmt.Errorf("workflow: the name %q of a question must not be empty, and not contain '#'", name)
	}
	if r.site.node.Once {
		return errors.New("workflow: a node with Once cannot ask; ask in a node before it")
	}
	return r.site.ask(r.Path+"#"+name, message, schema, read)
}

// ask puts the question with an id, or reads the answer.
func (s *site) ask(base, message string, schema any, read func(any) error) error {
	id := base
	said := message
	for n := 2; ; n++ {
		// Is the question in the log?
		c := s.work.callOf(id)
		if c == nil {
			e, err := s.question(id, said, schema)
			if err != nil {
				return err
			}
			if !s.put(e) {
				return agent.ErrEnded
			}
			c = s.work.callOf(id)
		}
		switch {
		case c == nil:
			return errWithheld
		case c.response == nil:
			return ErrWaits
		}

		// Does the answer fit? If not, the next question says why.
		why := errors.New("the question was interrupted")
		if !c.interrupted() {
			values := answers(c.result.Response)
			for i, value := range values {
				err := read(value)
				if err == nil {
					return nil
				}
				if i == 0 || i < len(values)-1 { // the last is the object around the answer
					why = err
				}
			}
		}
		id = fmt.Sprintf("%s#%d", base, n)
		reason := strings.TrimPrefix(why.Error(), "the whole: ")
		said = fmt.Sprintf("%s\n(The answer before was refused: %s)", message, reason)
	}
}

// errWithheld says that a plugin has withheld a question.
var errWithheld = errors.New("workflow: a plugin has withheld the question")

// answers returns what a response may say: the value within {"result": v}, also as JSON, or the whole.
func answers(response map[string]any) []any {
	var values []any
	for _, name := range []string{"result", "response", "payload"} {
		value, ok := response[name]
		if !ok || len(response) > 1 {
			continue
		}
		values = append(values, value)
		if text, ok := value.(string); ok {
			if parsed, err := session.DecodeValue([]byte(text)); err == nil {
				values = append(values, parsed)
			}
		}
	}
	return append(values, response)
}

// question returns the event that asks.
func (s *site) question(id, message string, schema any) (*session.Event, error) {
	args := map[string]any{"interruptId": id, "message": message}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	value, err := session.DecodeValue(data)
	if err != nil {
		return nil, err
	}
	if value != nil {
		args["response_schema"] = value
	}
	e := s.event()
	e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{
		FunctionCall: &genai.FunctionCall{ID: id, Name: session.AskTool, Args: args},
	}}}
	e.LongRunningToolIDs = []string{id}
	return e, nil
}

// Do runs a node within the run of another, and returns its output. The child's run is named by its
// node and name; with an empty name the runs of a node are numbered in the order of the calls, so
// calls at the same time (Run.Together) need names. A name is not a number, and has no '/', '@' or '#'.
//
// A child that has ended is not run again: Do returns what its end in the log says. Calls with the
// same name at the same time share one run. A child that waits makes Do return ErrWaits. A child that
// has failed, after its own Retry, makes Do return an *Error, which the caller may go on after. A
// child that is an agent, or has one in it, must be one of Graph.Callees.
func Do[Out any](ctx context.Context, r *Run, n *Node, name string, in any) (out Out, err error) {
	return do[Out](ctx, r, n, name, in, false)
}

// Delegate is Do for a child whose output is that of the run, too. The log has it once: the end of the
// child says that it is for both (NodeInfo.OutputFor), that of the run names the child (NodeInfo.OutputOf),
// and what the function returns beside its error is not used. A run has one such child; after a child that
// has failed it may have another. A node with Once has none.
func Delegate[Out any](ctx context.Context, r *Run, n *Node, name string, in any) (Out, error) {
	return do[Out](ctx, r, n, name, in, true)
}

func do[Out any](ctx context.Context, r *Run, n *Node, name string, in any, delegate bool) (out Out, err error) {
	value, err := r.do(ctx, n, name, in, delegate)
	if err != nil || value == nil {
		return out, err
	}
	if err := convert(reflect.ValueOf(&out).Elem(), value, nil); err != nil {
		return out, fmt.Errorf("workflow: the output of %s does not fit: %w", n.Name, err)
	}
	return out, nil
}

// A child is a run that Do has begun.
type child struct {
	done   chan struct{}
	output any
	err    error
}

func (r *Run) do(ctx context.Context, n *Node, name string, in any, delegate bool) (_ any, err error) {
	if n == nil {
		return nil, errors.New("workflow: Do got no node")
	}
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	if err := n.checkState(r.site.state); err != nil {
		return nil, fmt.Errorf("workflow: Do: %w", err)
	}
	if r.site.graph.called[n.Name] != n && len(n.kind.agents()) > 0 {
		return nil, fmt.Errorf("workflow: Do: the node %s is an agent or has one in it; list it in Graph.Callees", n.Name)
	}
	if delegate && r.site.node.Once {
		return nil, errors.New("workflow: Delegate: the output of a node with Once is its own; use Do")
	}
	if name != "" && (strings.Trim(name, "0123456789") == "" || strings.ContainsAny(name, "/@#")) {
		return nil, fmt.Errorf("workflow: Do: the name %q of a run must not be a number, and not contain '/', '@' or '#'", name)
	}
	input, err := plainInput(in)
	if err != nil {
		return nil, fmt.Errorf("workflow: Do: the input of %s: %w", n.Name, err)
	}

	// Is it the first call with this name?
	r.mu.Lock()
	if r.children == nil {
		r.children = map[string]*child{}
		r.counts = map[string]int{}
	}
	if name == "" {
		r.counts[n.Name]++
		name = fmt.Sprint(r.counts[n.Name])
	}
	s := r.site.below(n, name, input)
	if delegate && r.delegate != "" && r.delegate != s.path {
		r.mu.Unlock()
		return nil, fmt.Errorf("workflow: Delegate: the output of this run is already that of %s; a run has one", r.delegate)
	}
	if delegate {
		r.delegate = s.path
		s.outputFor = append([]string{s.path}, r.site.outputFor...)
		if r.site.outputFor == nil {
			s.outputFor = append(s.outputFor, r.Path)
		}
		defer func() {
			if err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.delegate = ""
			}
		}()
	}
	c := r.children[s.path]
	first := c == nil
	if first {
		c = &child{done: make(chan struct{})}
		r.children[s.path] = c
	}
	r.mu.Unlock()
	if !first {
		select {
		case <-c.done:
			return c.output, c.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer close(c.done)
	c.err = errors.New("workflow: the run has panicked")

	// Run it.
	res := s.run(ctx)
	switch res.outcome {
	case hasEnded:
		c.err = agent.ErrEnded
		if run := s.work.ended(s.path); run != nil { // else it was rewound
			c.output = run.Output
			c.err = nil
		}
	case waits:
		c.err = fmt.Errorf("%s: %w", s.path, ErrWaits)
	case hasFailed:
		c.err = res.err
	default:
		c.err = agent.ErrEnded
		if cause := context.Cause(ctx); cause != nil {
			c.err = cause
		}
	}
	return c.output, c.err
}

// plainInput returns what a node gets as input: a content as it is, or JSON values.
func plainInput(in any) (any, error) {
	if c, ok := in.(*genai.Content); ok && c != nil {
		return c, nil
	}
	return plain(in)
}

// newRun returns what the function of a node gets.
func (s *site) newRun(attempt int) *Run {
	return &Run{
		Path:         s.path,
		Attempt:      attempt,
		TriggeredBy:  s.by,
		Predecessors: slices.Clip(s.predecessors),
		Session:      s.work.key,
		UserContent:  s.work.content,
		site:         s,
	}
}

// Answer returns an input with the answer to a question, by the id of its call: a JSON value.
func Answer(id string, answer any) *session.Event {
	call := &genai.FunctionCall{ID: id, Name: session.AskTool}
	e := session.Respond(call, map[string]any{"result": answer})
	e.Author = session.User
	return e
}
