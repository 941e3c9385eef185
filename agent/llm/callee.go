package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// requestKey is the argument of a callee that has no input schema of its own.
const requestKey = "request"

// newCallee returns an agent as a function.
func newCallee(a agent.Agent) (*function, error) {
	t := &tool.Tool{Declaration: &genai.FunctionDeclaration{
		Name:        a.Name(),
		Description: a.Description(),
		ParametersJsonSchema: map[string]any{
			"type":     "object",
			"required": []any{requestKey},
			"properties": map[string]any{
				requestKey: map[string]any{"type": "string",
					"description": "what the agent is to do, with all that it needs to know"}},
		},
	}}
	if l, ok := a.(*llmAgent); ok && l.Input != nil {
		t.Declaration.ParametersJsonSchema = l.Input
	}
	check, err := t.Check()
	return &function{Tool: t, callee: a, check: check}, err
}

// waitsBelow reports whether a call waits in the conversation in which an agent answers c.
func waitsBelow(calls []session.Call, c session.Call) bool {
	return slices.ContainsFunc(calls, func(other session.Call) bool {
		return other.Waits() && c.Conversation(other.Event.Branch)
	})
}

// runCallee runs an agent to answer a call. The request to it is an event in its branch, as a
// user's message would be.
func (lp *loop) runCallee(ctx context.Context, host *agent.Host,
	yield func(*session.Event, error) bool, f *function, c session.Call) result {
	if err := f.check(ctx, c.Args); err != nil {
		return failed("%v", err)
	}
	own := host.At(f.callee.Name() + "@" + c.ID) // the @ makes it a conversation of its own; see agent.Sees
	var failure error
	pass := func(e *session.Event, err error) bool {
		// the call fails, not the run
		if err != nil && !errors.Is(err, agent.ErrEnded) && (lp.limited() != nil || ctx.Err() == nil) {
			failure = err
			return false
		}
		return yield(e, err)
	}
	from := host.Now().Position
	if c.Deferred == nil { // the agent has not got the request yet
		request := &session.Event{
			Author:  lp.agent.Name(),
			Branch:  own.Branch,
			Content: genai.NewContentFromText(requestText(c.Args), genai.RoleUser),
		}
		if !yield(request, nil) {
			return result{ended: true}
		}
		asked := agent.LastAnswer(host.Now().Live, own.Branch, from)
		if asked == nil {
			return failed("the request to %s was withheld", c.Name)
		}
		own = own.WithInput(asked)
		from = asked.Seq
	}
	more := run(ctx, f.callee, own, c, pass, &failure)
	switch {
	case lp.limited() != nil:
		return failed("%v", lp.limited())
	case failure != nil:
		return failed("%v", failure)
	case !more:
		return result{ended: true}
	}
	inv := host.Now()
	if waitsBelow(inv.CallsSince(host.Began), c) {
		return result{waits: true}
	}
	answer := agent.LastAnswer(inv.Live, own.Branch, from)
	switch {
	case answer == nil:
		return failed("%s has said nothing", c.Name)
	case len(answer.FunctionResponses()) > 0:
		return result{response: answer.FunctionResponses()[0].Response}
	case answer.ErrorCode != "":
		return failed("%s has failed: %s: %s", c.Name, answer.ErrorCode, answer.ErrorMessage+answer.Text())
	case answer.Output != nil: // of a workflow
		if object, ok := answer.Output.(map[string]any); ok {
			return result{response: object}
		}
		return result{response: map[string]any{"result": answer.Output}}
	}
	var object map[string]any
	if l, ok := f.callee.(*llmAgent); ok && l.Output != nil &&
		json.Unmarshal([]byte(answer.Text()), &object) == nil && object != nil {
		return result{response: object}
	}
	return result{response: map[string]any{"result": answer.Text()}}
}

// run runs an agent for a call. A panic of the agent becomes an error.
func run(ctx context.Context, a agent.Agent, host *agent.Host, c session.Call,
	yield func(*session.Event, error) bool, failure *error) (more bool) {
	defer func() {
		if err := panicked.Recovered(recover()); err != nil {
			panicked.Log(host.Log, "agent panicked", err, "agent", a.Name(), "event", c.Event.ID, "call", c.ID)
			*failure = fmt.Errorf("agent %s: %w", a.Name(), err)
			more = false
		}
	}()
	return agent.Run(ctx, a, host, yield)
}

func requestText(args map[string]any) string {
	if text, ok := args[requestKey].(string); ok && len(args) == 1 {
		return text
	}
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Sprint(args)
	}
	return string(data)
}
