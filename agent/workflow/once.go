package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

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
	do func(context.Context, *session.Call) (effect, error)) result {
	// Which call is it? One that was made after the last failure is this attempt's.
	made := slices.DeleteFunc(s.work.callsOf(s.path), func(c session.Call) bool { return c.Name == session.AskTool })
	_, _, last := s.work.failures(s.path)
	var c *session.Call
	for i := range made {
		if cutOff(&made[i], s.work.began) {
			if res, ok := s.resolve(&made[i]); ok {
				return res
			}
			continue // it is to be made again
		}
		if last == nil || made[i].Event.Seq > last.Seq {
			c = &made[i]
		}
	}
	if c == nil {
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
			return s.withheld("the call")
		}
	}
	switch {
	case c.Response != nil && c.Result.Response["error"] != nil:
		// a plugin has denied it, or what it has started has failed
		return s.failedForGood(NodeFailed, fmt.Errorf("the call was answered with an error: %s", inJSON(c.Result.Response["error"])))
	case c.Response != nil:
		return s.finish(ending{output: unwrapped(c.Result.Response)})
	case c.Decision != nil && !c.Approved():
		res := s.failedForGood(NodeFailed, errors.New("a human has said no to the call"))
		res.response = respond(c, map[string]any{"error": "declined: a human has said no to this call", "declined": true})
		return res
	case c.Waits():
		return result{outcome: waits}
	}

	// It runs now.
	out, err := do(ctx, c)
	if errors.Is(err, agent.ErrEnded) {
		return result{outcome: stopped}
	}
	if err == nil && (out.ask != nil || out.later) {
		e := s.event()
		if out.later {
			e.LongRunningToolIDs = []string{c.ID}
		} else {
			e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
				c.ID: {Hint: out.ask.Hint, Payload: out.ask.Payload},
			}
		}
		if s.put(e) && !s.work.callOf(c.ID).Waits() {
			return s.withheld("what says that the call waits")
		}
		return result{outcome: waits}
	}
	end := ending{output: out.output, actions: out.actions}
	if err == nil {
		_, err = s.ending(end)
	}
	if err != nil {
		res := s.failed(NodeFailed, err)
		res.response = respond(c, map[string]any{"error": err.Error()})
		return res
	}
	response := out.response
	if response == nil {
		value, _ := plain(out.output) // ending has found that it can be written
		response = map[string]any{"result": value}
	}
	end.content = respond(c, response)
	return s.finish(end)
}

// cutOff reports whether nobody knows what became of a call: the process ended before it was answered,
// which the runner says in an answer of its own unless a plugin has withheld that.
func cutOff(c *session.Call, began int64) bool {
	if c.Response != nil {
		return interrupted(c)
	}
	decided := c.Decision != nil && c.Decision.Seq > began
	return c.Event.Seq <= began && !c.Waits() && !decided
}

// resolve asks a person what became of a call that was cut off. It reports whether that ends the attempt;
// otherwise the call is to be made again.
func (s *site) resolve(c *session.Call) (result, bool) {
	var output any
	again := false
	what := c.Name
	if len(c.Args) > 0 {
		what += " " + inJSON(c.Args)
	}
	message := fmt.Sprintf("The call %s was cut off, and may or may not have had its effects: %s. "+
		`Answer "again" to make it again, or what it has returned, in JSON.`, c.ID, what)
	err := s.ask(c.ID+"#cut-off", message, map[string]any{"type": "string"}, func(value any) (err error) {
		if object, ok := value.(map[string]any); ok {
			value = answers(object)[0]
		}
		text, ok := value.(string)
		again = ok && text == "again"
		if ok && !again {
			value, err = session.DecodeValue([]byte(text))
		}
		if err != nil {
			return errors.New(`it is neither "again" nor JSON`)
		}
		output = unwrapped(value)
		return nil
	})
	switch {
	case err == nil && again:
		return result{}, false
	case err == nil:
		return s.finish(ending{output: output}), true
	case errors.Is(err, ErrWaits):
		return result{outcome: waits}, true
	case errors.Is(err, errWithheld):
		return s.withheld("the question what became of the call " + c.ID), true
	}
	return result{outcome: stopped}, true
}

// respond returns a content with the response to a call.
func respond(c *session.Call, response map[string]any) *genai.Content {
	return session.Respond(c.FunctionCall, response).Content
}

// unwrapped returns what a response says: v of {"result": v}, or the whole.
func unwrapped(response any) any {
	object, _ := response.(map[string]any)
	if v, ok := object["result"]; ok && len(object) == 1 {
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

// toolNode returns the kind of a node that calls a tool, once or for each item; nil if it is another.
func (n *Node) toolNode() *toolNode {
	switch k := n.kind.(type) {
	case *toolNode:
		return k
	case *each:
		return k.node.toolNode()
	}
	return nil
}

func (t *toolNode) agents() []agent.Agent                       { return nil }
func (t *toolNode) schemas() (input, output *jsonschema.Schema) { return nil, nil }

func (t *toolNode) attempt(ctx context.Context, s *site) result {
	args, err := toolArgs(s.input)
	if err != nil {
		return s.failedForGood(NodeInput, err)
	}
	return s.once(ctx, t.tool.Name(), args, func(ctx context.Context, c *session.Call) (effect, error) {
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
		if c.Decision != nil && c.Held.Author == s.graph.Name() {
			yes := c.Decision.Actions.RequestedToolConfirmations[c.ID]
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
	return nil, fmt.Errorf("the parameter %q does not fit: the arguments of a tool are an object, and it is %s; "+
		"make them of it with args: in a configuration, with Node.Input in Go", nodeInput, inJSON(input))
}
