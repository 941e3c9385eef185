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
				"rewind the session to position %d, which is before it, to have it made again", made[i].ID, made[i].event.Seq-1)
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
	return nil, fmt.Errorf("the parameter %q does not fit: the arguments of a tool are an object, and it is %s; "+
		"make them of it with args: in a configuration, with Node.Input in Go", nodeInput, inJSON(input))
}
