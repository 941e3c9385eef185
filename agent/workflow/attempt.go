package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// work is what all runs of one invocation's work on a workflow share.
type work struct {
	ledger
	key     session.Key
	host    *agent.Host    // of the workflow's own goroutine
	began   int64          // the position of the log when the invocation began
	content *genai.Content // the message that the workflow began with
}

// A site is where a run of a node is made.
type site struct {
	work         *work
	graph        *graph // the workflow that the node is in, the innermost
	host         *agent.Host
	yield        func(*session.Event, error) bool
	node         *Node
	path         string
	input        any // a JSON value, or the content that the workflow began with
	by           string
	predecessors []string
}

// An outcome is how the work on a run has ended.
type outcome int

const (
	hasEnded  outcome = iota // its end is in the log
	hasFailed                // it has failed, and is not tried again now
	waits                    // it waits for an answer
	stopped                  // the invocation has ended, or a plugin has withheld the end
)

// A result is the outcome of the work on a run, or of an attempt.
type result struct {
	outcome outcome
	err     *Error // if it has failed
	final   bool   // it is not worth another attempt
	told    bool   // the failure is in the log
}

// event returns an event of the run.
func (s *site) event() *session.Event {
	return &session.Event{
		Author:   s.graph.Name(),
		Branch:   s.host.Branch,
		NodeInfo: &session.NodeInfo{Path: s.path},
	}
}

// put yields an event. The ledger has taken in what became of it when put returns. It reports whether
// the invocation goes on.
func (s *site) put(e *session.Event) bool { return s.yield(e, nil) }

// failed returns the result of an attempt that has failed.
func (s *site) failed(code string, err error) result {
	return result{outcome: hasFailed, err: &Error{Path: s.path, Code: code, Err: err}}
}

// run works on a run of a node until it has ended, waits, or has failed as often as it may.
func (s *site) run(ctx context.Context) result {
	if s.work.end(s.path) != nil {
		return result{outcome: hasEnded}
	}
	attempts := max(1, s.node.Retry.Attempts)
	_, before, last := s.work.failures(s.path)
	if before >= attempts {
		return result{outcome: hasFailed, told: true, err: &Error{Path: s.path, Code: last.ErrorCode, Err: errors.New(last.ErrorMessage)}}
	}
	for failed := before + 1; ; failed++ {
		res := s.limited(ctx)
		if res.outcome != hasFailed {
			return res
		}
		if ctx.Err() != nil && !res.told { // it was cancelled, which is no failure of its own
			return result{outcome: stopped}
		}
		if !res.told && !s.tell(res.err) {
			return result{outcome: stopped}
		}
		retry := s.node.Retry
		if res.final || failed >= attempts || retry.If != nil && !retry.If(res.err) {
			res.told = true
			return res
		}
		if d := retry.delay(failed); d > 0 {
			timer := time.NewTimer(d)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		if ctx.Err() != nil {
			return result{outcome: stopped}
		}
	}
}

// tell puts the failure of an attempt into the log.
func (s *site) tell(err *Error) bool {
	e := s.event()
	e.ErrorCode = err.Code
	e.ErrorMessage = err.Err.Error()
	return s.put(e)
}

// limited makes one attempt, within its time.
func (s *site) limited(ctx context.Context) result {
	if s.node.Timeout == 0 {
		return s.node.kind.attempt(ctx, s)
	}
	slow := fmt.Errorf("it did not finish within %s", s.node.Timeout)
	limited, cancel := context.WithTimeoutCause(ctx, s.node.Timeout, slow)
	defer cancel()
	res := s.node.kind.attempt(limited, s)
	late := context.Cause(limited) == slow && ctx.Err() == nil
	if !late || res.outcome == hasEnded || res.outcome == waits {
		return res
	}
	if res.outcome == stopped {
		return s.failed(NodeTimeout, slow)
	}
	if res.err != nil && res.err.Path == s.path && !res.told {
		res.err = &Error{Path: s.path, Code: NodeTimeout, Err: fmt.Errorf("%w: %w", slow, res.err.Err)}
	}
	return res
}

// finish puts the end of the run into the log. Its output may be any value; actions go with it.
func (s *site) finish(output any, actions session.Actions, content *genai.Content) result {
	e, err := s.ending(output, actions)
	if err != nil {
		return s.failed(NodeFailed, err)
	}
	e.Content = content
	if !s.put(e) {
		if s.work.end(s.path) == nil {
			return result{outcome: stopped}
		}
	}
	if s.work.end(s.path) == nil { // a plugin has withheld it
		return result{outcome: stopped}
	}
	return result{outcome: hasEnded}
}

// ending returns the event that ends the run.
func (s *site) ending(output any, actions session.Actions) (*session.Event, error) {
	value, err := plain(output)
	if err != nil {
		return nil, fmt.Errorf("the output: %w", err)
	}
	e := s.event()
	e.Output = value
	e.NodeInfo.Ended = true
	e.Actions = actions
	if s.node != nil && s.node.OutputKey != "" && value != nil {
		delta := map[string]any{s.node.OutputKey: value}
		for key, v := range actions.StateDelta {
			delta[key] = v
		}
		e.Actions.StateDelta = delta
	}
	if actions.Route == Default {
		return nil, errors.New("Default is the route of an edge, and cannot be chosen")
	}
	if e.Actions.Route, err = plainRoute(actions.Route); err != nil {
		return nil, err
	}
	for key, v := range e.Actions.StateDelta {
		if key == "" {
			return nil, errors.New("it has set a state key without a name")
		}
		switch v.(type) {
		case nil, string, bool, float64:
			continue
		}
		if _, err := json.Marshal(v); err != nil {
			return nil, fmt.Errorf("it has set the state key %q to a value that JSON does not have: %w", key, err)
		}
	}
	return e, nil
}

// safely calls a function. A panic becomes an error.
func safely[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// function is a node of a Go function.
type function struct {
	binding *binding
	wrong   error // what is wrong with its types
	output  *jsonschema.Schema
	bind    func(s *site) (any, error)
	f       func(ctx context.Context, r *Run, in any) (any, error)
}

func (f *function) composite() bool       { return false }
func (f *function) agents() []agent.Agent { return nil }
func (f *function) schemas() (input, output *jsonschema.Schema) {
	return f.binding.input(), f.output
}

func (f *function) attempt(ctx context.Context, s *site) result {
	// It is called again when all of its questions, and those of its children, are answered.
	if s.work.waits(s.path) {
		return result{outcome: waits}
	}
	in, err := f.bind(s)
	if err != nil {
		res := s.failed(NodeInput, err)
		res.final = true
		return res
	}
	all, _, _ := s.work.failures(s.path)
	r := s.newRun(all + 1)
	do := func() (any, error) { return f.f(ctx, r, in) }
	if s.node.Once {
		return s.once(ctx, s.node.Name, argsOf(s.input), func(context.Context, *call) (effect, error) {
			out, err := safely(do)
			return effect{output: out, actions: r.Actions}, err
		})
	}
	out, err := safely(do)
	if res, ok := s.unfinished(ctx, err); ok {
		return res
	}
	return s.finish(out, r.Actions, nil)
}

// unfinished returns the result of an attempt whose function has not come to its end.
func (s *site) unfinished(ctx context.Context, err error) (result, bool) {
	open := s.work.waits(s.path)
	switch {
	case errors.Is(err, agent.ErrEnded):
		return result{outcome: stopped}, true
	case errors.Is(err, ErrWaits) && open:
		return result{outcome: waits}, true
	case errors.Is(err, ErrWaits):
		return s.failed(NodeFailed, errors.New("it returned ErrWaits, and no question is open")), true
	case err == nil && open:
		return s.failed(NodeFailed, errors.New("it returned an output while a question is open; return the error of Ask or Do")), true
	case err != nil:
		res := s.failed(NodeFailed, err)
		res.final = errors.Is(err, errWithheld)
		return res, true
	}
	return result{}, false
}

// argsOf returns an input as the arguments of a call.
func argsOf(input any) map[string]any {
	switch v := input.(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	case *genai.Content:
		return map[string]any{"input": (&session.Event{Content: v}).Text()}
	}
	return map[string]any{"input": input}
}

// An effect is what a call has come to.
type effect struct {
	output   any
	response map[string]any // what the call is answered with, nil for {"result": output}
	actions  session.Actions
	later    bool      // the response comes later
	ask      *tool.Ask // a human is to be asked
}

// once runs what must not be run twice: the log has the call before it begins, and its response with
// the end of the run. do gets the call as plugins have left it.
func (s *site) once(ctx context.Context, name string, args map[string]any,
	do func(context.Context, *call) (effect, error)) result {
	final := func(code, format string, a ...any) result {
		res := s.failed(code, fmt.Errorf(format, a...))
		res.final = true
		return res
	}

	// Which call is it? One that was made after the last failure is this attempt's.
	made := slices.DeleteFunc(s.work.callsOf(s.path), func(c call) bool { return c.Name == session.AskTool })
	_, _, last := s.work.failures(s.path)
	var c *call
	for i := range made {
		if made[i].interrupted() {
			return final(NodeInterrupted, "the call %s was cut off, and may or may not have had its effects; "+
				"rewind the session to before it to have it made again", made[i].ID)
		}
		if last == nil || made[i].event.Seq > last.Seq {
			c = &made[i]
		}
	}
	fresh := c == nil
	if fresh {
		id := fmt.Sprintf("%s#call", s.path)
		if len(made) > 0 {
			id = fmt.Sprintf("%s#%d", id, len(made)+1)
		}
		e := s.event()
		e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{
			FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args},
		}}}
		if !s.put(e) {
			return result{outcome: stopped}
		}
		if c = s.work.callOf(id); c == nil {
			return result{outcome: stopped} // a plugin has withheld it
		}
	}
	switch {
	case c.response != nil && c.result.Response["error"] != nil:
		// a plugin has denied it, or what it has started has failed
		return final(NodeFailed, "the call was answered with an error: %s", inJSON(c.result.Response["error"]))
	case c.response != nil:
		return s.finish(unwrapped(c.result.Response), session.Actions{}, nil)
	case c.decision != nil && !c.decision.Actions.RequestedToolConfirmations[c.ID].Confirmed:
		e := s.event()
		e.Content = respond(c, map[string]any{"error": "declined: a human has said no to this call", "declined": true})
		e.ErrorCode = NodeFailed
		e.ErrorMessage = "a human has said no to the call"
		if !s.put(e) {
			return result{outcome: stopped}
		}
		res := final(NodeFailed, "%s", e.ErrorMessage)
		res.told = true
		return res
	case c.waits():
		return result{outcome: waits}
	case !fresh && c.decision == nil:
		return result{outcome: stopped} // it is running, or the runner has not answered it yet
	}

	// It runs now.
	out, err := do(ctx, c)
	switch {
	case errors.Is(err, agent.ErrEnded):
		return result{outcome: stopped}
	case err != nil:
		e := s.event()
		e.Content = respond(c, map[string]any{"error": err.Error()})
		e.ErrorCode = NodeFailed
		e.ErrorMessage = err.Error()
		if !s.put(e) {
			return result{outcome: stopped}
		}
		res := s.failed(NodeFailed, err)
		res.told = true
		return res
	case out.ask != nil:
		e := s.event()
		e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
			c.ID: {Hint: out.ask.Hint, Payload: out.ask.Payload},
		}
		s.put(e)
		return result{outcome: waits}
	case out.later:
		e := s.event()
		e.LongRunningToolIDs = []string{c.ID}
		s.put(e)
		return result{outcome: waits}
	}
	response := out.response
	if response == nil {
		value, err := plain(out.output)
		if err != nil {
			return final(NodeFailed, "the output: %w", err)
		}
		out.output = value
		response = map[string]any{"result": value}
	}
	return s.finish(out.output, out.actions, respond(c, response))
}

// respond returns a content with the response to a call.
func respond(c *call, response map[string]any) *genai.Content {
	return session.Respond(c.FunctionCall, response).Content
}

// unwrapped returns what a response says: v of {"result": v}, or the whole.
func unwrapped(response map[string]any) any {
	if v, ok := response["result"]; ok && len(response) == 1 {
		return v
	}
	return response
}

// toolNode is a node of a tool.
type toolNode struct {
	tool  *tool.Tool
	check func(ctx context.Context, args map[string]any) error
	wrong error
}

func (t *toolNode) composite() bool                             { return false }
func (t *toolNode) agents() []agent.Agent                       { return nil }
func (t *toolNode) schemas() (input, output *jsonschema.Schema) { return nil, nil }

func (t *toolNode) attempt(ctx context.Context, s *site) result {
	args, err := toolArgs(s.input)
	if err != nil {
		res := s.failed(NodeInput, err)
		res.final = true
		return res
	}
	return s.once(ctx, t.tool.Name(), args, func(ctx context.Context, c *call) (effect, error) {
		if err := t.check(ctx, c.Args); err != nil {
			return effect{}, err
		}
		args, _ := plain(c.Args) // those of the log must not be changed
		given, _ := args.(map[string]any)
		if given == nil {
			given = map[string]any{}
		}
		tc := &tool.Call{
			ID:         c.ID,
			Name:       c.Name,
			Args:       given,
			Agent:      s.graph.Name(),
			Branch:     s.host.Branch,
			Invocation: s.host.Now(),
			Artifacts:  s.graph.Artifacts,
		}
		// An approval that a plugin asked for does not count for the tool.
		if c.decision != nil && c.held.Author == s.graph.Name() {
			yes := c.decision.Actions.RequestedToolConfirmations[c.ID]
			tc.Confirmation = &yes
		}
		response, err := safely(func() (map[string]any, error) { return t.tool.Run(ctx, tc) })
		var ask *tool.Ask
		switch {
		case errors.As(err, &ask):
			return effect{ask: ask}, nil
		case err != nil:
			return effect{}, err
		case response == nil && t.tool.LongRunning:
			return effect{later: true}, nil
		case response == nil:
			response = map[string]any{}
		}
		out := effect{response: response, actions: tc.Actions}
		if len(response) > 0 {
			out.output = unwrapped(response)
		}
		return out, nil
	})
}

// toolArgs returns the arguments of a tool that an input is.
func toolArgs(input any) (map[string]any, error) {
	if content, ok := input.(*genai.Content); ok {
		input = (&session.Event{Content: content}).Text()
	}
	switch v := input.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return nil, nil
		}
		value, err := session.DecodeValue([]byte(v))
		if args, ok := value.(map[string]any); ok && err == nil {
			return args, nil
		}
	}
	return nil, fmt.Errorf("the parameter %q does not fit: the arguments of a tool are an object, and it is %s", nodeInput, inJSON(input))
}

// join is the kind of a node that Join makes. Its input is its output.
type join struct{}

func (join) composite() bool                             { return false }
func (join) agents() []agent.Agent                       { return nil }
func (join) schemas() (input, output *jsonschema.Schema) { return nil, nil }

func (join) attempt(_ context.Context, s *site) result {
	return s.finish(s.input, session.Actions{}, nil)
}

// each is the kind of a node that Each makes.
type each struct {
	node  *Node
	limit int
}

func (e *each) composite() bool                             { return true }
func (e *each) agents() []agent.Agent                       { return e.node.kind.agents() }
func (e *each) schemas() (input, output *jsonschema.Schema) { return nil, nil }

func (e *each) attempt(ctx context.Context, s *site) result {
	var items []any
	switch v := s.input.(type) {
	case nil:
	case []any:
		items = v
	default:
		items = []any{v}
	}
	path := func(i int) string { return fmt.Sprintf("%s/%s@%d", s.path, e.node.Name, i+1) }

	// Run the items that have not ended.
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var failure *Error
	waiting := false
	at := 0
	active := 0
	part := func(i int) agent.Part {
		return func(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool) {
			item := *s
			item.host = host
			item.yield = yield
			item.node = e.node
			item.path = path(i)
			item.input = items[i]
			item.by = ""
			item.predecessors = nil
			res := item.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			active--
			switch {
			case res.outcome == hasFailed && failure == nil:
				failure = res.err
				cancel()
			case res.outcome != hasEnded:
				waiting = true
			}
		}
	}
	next := func() []agent.Part {
		mu.Lock()
		defer mu.Unlock()
		var parts []agent.Part
		for ; at < len(items) && failure == nil && running.Err() == nil && (e.limit == 0 || active < e.limit); at++ {
			if s.work.end(path(at)) == nil {
				active++
				parts = append(parts, part(at))
			}
		}
		return parts
	}
	more := agent.Schedule(running, s.host, s.yield, next)
	switch {
	case failure != nil && more && ctx.Err() == nil:
		return s.failed(failure.Code, failure)
	case !more || ctx.Err() != nil:
		return result{outcome: stopped}
	case waiting:
		return result{outcome: waits}
	}

	// Their outputs, in order.
	outputs := make([]any, len(items))
	for i := range items {
		end := s.work.end(path(i))
		if end == nil { // it was voided while others ran
			return result{outcome: waits}
		}
		outputs[i] = end.Output
	}
	return s.finish(outputs, session.Actions{}, nil)
}

// agentNode is a node of an agent that is no graph.
type agentNode struct{ agent agent.Agent }

func (a *agentNode) composite() bool                             { return true }
func (a *agentNode) agents() []agent.Agent                       { return []agent.Agent{a.agent} }
func (a *agentNode) schemas() (input, output *jsonschema.Schema) { return nil, nil }

// pathKey is the key of a context under which agents in a node find the path of its run.
type pathKey struct{}

func (a *agentNode) attempt(ctx context.Context, s *site) result {
	own := s.host.At(s.node.Name + "@" + strings.ReplaceAll(s.path, ".", "%2E"))
	waiting, answered := a.calls(own, s.work.began)
	if waiting && !answered {
		return result{outcome: waits}
	}
	began := own.Now().Position

	// The input is the user's message in the agent's own conversation.
	request := a.request(own)
	switch {
	case request == nil:
		e := s.event()
		e.Branch = own.Branch
		e.Content = contentOf(s.input)
		if !s.put(e) {
			return result{outcome: stopped}
		}
		if request = a.request(own); request == nil {
			return result{outcome: stopped} // a plugin has withheld it
		}
	case !answered && a.leaf():
		// An answer that a crash has left without the run's end is the answer.
		if said := lastWord(own, request.Seq); said != nil && said.ErrorCode == "" && said.Content != nil && said.Content.Role == genai.RoleModel &&
			len(said.FunctionCalls()) == 0 && !said.Interrupted {
			return s.finish(a.output(said), session.Actions{}, nil)
		}
	}
	if !answered {
		own = withInput(own, request)
	}

	// Its events are those of the run.
	var failure error
	ended := false
	pass := func(e *session.Event, err error) bool {
		switch {
		case errors.Is(err, agent.ErrEnded):
			ended = true
			return false
		case err != nil:
			failure = err
			return false
		}
		if e.NodeInfo == nil {
			stamped := *e
			stamped.NodeInfo = &session.NodeInfo{Path: s.path}
			e = &stamped
		}
		more := s.yield(e, nil)
		ended = ended || !more
		return more
	}
	_, err := safely(func() (bool, error) {
		return agent.Run(context.WithValue(ctx, pathKey{}, s.path), a.agent, own, pass), nil
	})
	if err != nil {
		failure = err
	}
	switch {
	case failure != nil:
		return s.failed(NodeFailed, failure)
	case ended, ctx.Err() != nil:
		return result{outcome: stopped}
	}
	if waiting, _ := a.calls(own, s.work.began); waiting {
		return result{outcome: waits}
	}
	said := lastWord(own, max(request.Seq, began))
	switch {
	case said == nil:
		return s.failed(NodeFailed, fmt.Errorf("the agent %s has said nothing", a.agent.Name()))
	case said.ErrorCode != "" && len(said.FunctionResponses()) == 0:
		return s.failed(NodeFailed, fmt.Errorf("the agent %s has failed: %s: %s", a.agent.Name(), said.ErrorCode, said.ErrorMessage+said.Text()))
	}
	return s.finish(a.output(said), session.Actions{}, nil)
}

// leaf reports whether the agent runs no others, so that what it says last is its answer.
func (a *agentNode) leaf() bool {
	p, ok := a.agent.(agent.Parent)
	return !ok || len(p.Agents()) == 0
}

// calls reports whether a call waits in the agent's conversation, and whether the user has answered one
// in this invocation.
func (a *agentNode) calls(own *agent.Host, began int64) (waiting, answered bool) {
	for _, c := range session.Calls(own.Now().Live) {
		if c.Event.Branch != own.Branch && !strings.HasPrefix(c.Event.Branch, own.Branch+".") {
			continue
		}
		waiting = waiting || c.Waits()
		for _, e := range []*session.Event{c.Response, c.Decision} {
			answered = answered || e != nil && e.Author == session.User && e.Seq > began && c.Event.Seq <= began
		}
	}
	return waiting, answered
}

// request returns the event with the agent's input, nil if it is not in the log.
func (a *agentNode) request(own *agent.Host) *session.Event {
	for _, e := range own.Now().Live {
		if e.Branch == own.Branch && e.Content != nil && e.NodeInfo != nil {
			return e
		}
	}
	return nil
}

// output returns what the agent's last word says.
func (a *agentNode) output(said *session.Event) any {
	if said.Output != nil {
		return said.Output
	}
	if len(said.FunctionResponses()) > 0 {
		return unwrapped(said.FunctionResponses()[0].Response)
	}
	text := said.Text()
	if s, ok := a.agent.(interface{ OutputSchema() any }); ok && s.OutputSchema() != nil {
		if value, err := session.DecodeValue([]byte(text)); err == nil {
			return value
		}
	}
	return text
}

// contentOf returns an input as a user's message.
func contentOf(input any) *genai.Content {
	switch v := input.(type) {
	case nil:
		return genai.NewContentFromText("There is no input.", genai.RoleUser)
	case string:
		return genai.NewContentFromText(v, genai.RoleUser)
	case *genai.Content:
		return &genai.Content{Role: genai.RoleUser, Parts: v.Parts}
	}
	data, err := json.Marshal(input)
	if err != nil {
		return genai.NewContentFromText(fmt.Sprint(input), genai.RoleUser)
	}
	return genai.NewContentFromText(string(data), genai.RoleUser)
}

// lastWord returns the last event with an answer in the agent's conversation after a position, nil if
// there is none. Responses of functions count only if they are the answer.
func lastWord(own *agent.Host, after int64) *session.Event {
	live := own.Now().Live
	for i := len(live) - 1; i >= 0 && live[i].Seq > after; i-- {
		e := live[i]
		if !agent.Sees(own.Branch, e.Branch) || !strings.HasPrefix(e.Branch, own.Branch) {
			continue
		}
		answer := e.Text() != "" || e.ErrorCode != "" || agent.WorkflowOutput(e)
		if len(e.FunctionResponses()) > 0 {
			answer = e.Actions.SkipSummarization
		}
		if answer {
			return e
		}
	}
	return nil
}

// withInput returns a host whose invocation has e as its input.
func withInput(host *agent.Host, e *session.Event) *agent.Host {
	of := func(inv *session.Invocation) *session.Invocation {
		mine := *inv
		mine.Input = e
		return &mine
	}
	own := *host
	own.Now = func() *session.Invocation { return of(host.Now()) }
	own.BeforeModel = func(ctx context.Context, build func(*session.Invocation) (*model.Request, error)) (*model.Request, error) {
		return host.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) { return build(of(inv)) })
	}
	return &own
}
