package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// agentNode is a node of an agent that is no graph.
type agentNode struct {
	untyped
	agent agent.Agent
}

func (a *agentNode) agents() []agent.Agent { return []agent.Agent{a.agent} }

// pathKey is the key of a context under which agents in a node find the path of its run.
type pathKey struct{}

func (a *agentNode) attempt(ctx context.Context, t *task) result {
	name, _ := element(t.path)
	own := t.host.At(name + "@" + strings.ReplaceAll(t.path, ".", "%2E"))
	waiting, answered := a.calls(own, t.invocation.began)
	if waiting && !answered {
		return result{outcome: waits}
	}
	began := own.Now().Position

	// The input is the user's message in the agent's own conversation.
	request := a.request(own)
	switch {
	case request == nil:
		e := t.event()
		e.Branch = own.Branch
		e.Content = contentOf(t.input)
		if !t.put(e) {
			return result{outcome: stopped}
		}
		if request = a.request(own); request == nil {
			return t.withheld("the agent's input")
		}
	case !answered && a.leaf():
		// An answer that a crash has left without the run's end is the answer.
		answer := agent.LastAnswer(own.Now().Live, own.Branch, request.Seq)
		if isWhole(answer) {
			return t.finish(ending{output: a.output(answer)})
		}
	}
	if !answered {
		own = own.WithInput(request)
	}

	ended, failure := a.run(ctx, t, own)
	var refused *Error
	switch {
	case errors.As(failure, &refused):
		return t.failedForGood(refused.Code, refused.Err)
	case failure != nil:
		return t.failed(NodeFailed, failure)
	case ended, ctx.Err() != nil:
		return result{outcome: stopped}
	}
	if waiting, _ := a.calls(own, t.invocation.began); waiting {
		return result{outcome: waits}
	}
	answer := agent.LastAnswer(own.Now().Live, own.Branch, max(request.Seq, began))
	switch {
	case answer == nil:
		return t.failed(NodeFailed, fmt.Errorf("the agent %s has said nothing", a.agent.Name()))
	case answer.ErrorCode != "" && len(answer.FunctionResponses()) == 0:
		return t.failed(NodeFailed, fmt.Errorf("the agent %s has failed: %s: %s", a.agent.Name(), answer.ErrorCode, answer.ErrorMessage+answer.Text()))
	}
	return t.finish(ending{output: a.output(answer)})
}

// run runs the agent. Its events are those of the task's run. ended says that the invocation has ended.
func (a *agentNode) run(ctx context.Context, t *task, own *agent.Host) (ended bool, failure error) {
	pass := func(e *session.Event, err error) bool {
		switch {
		case errors.Is(err, agent.ErrEnded):
			ended = true
			return false
		case err != nil:
			failure = err
			return false
		}
		if e.NodeInfo != nil { // of a workflow below
			more := t.yield(e, nil)
			ended = ended || !more
			return more
		}
		stamped := *e
		stamped.NodeInfo = &session.NodeInfo{Path: t.path}
		more, err := t.write(&stamped)
		if err != nil {
			failure = &Error{Path: t.path, Code: NodeState, Err: err}
			return false
		}
		ended = ended || !more
		return more
	}
	_, err := safely(func() (bool, error) {
		return agent.Run(context.WithValue(ctx, pathKey{}, t.path), a.agent, own, pass), nil
	})
	if err != nil {
		failure = err
	}
	return ended, failure
}

// isWhole reports whether an event is the whole answer of a model, and not a part of one or a call.
func isWhole(answer *session.Event) bool {
	return answer != nil && answer.ErrorCode == "" && answer.Content != nil && answer.Content.Role == genai.RoleModel &&
		len(answer.FunctionCalls()) == 0 && !answer.Interrupted
}

// leaf reports whether the agent runs no others, so that what it says last is its answer.
func (a *agentNode) leaf() bool {
	p, ok := a.agent.(agent.Parent)
	return !ok || len(p.Agents()) == 0
}

// calls reports whether a call waits in the agent's conversation, and whether the user has answered one
// in this invocation.
func (a *agentNode) calls(own *agent.Host, began int64) (waiting, answered bool) {
	for _, c := range own.Now().CallsSince(began) {
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

// output returns what the agent's answer says.
func (a *agentNode) output(answer *session.Event) any {
	if answer.Output != nil {
		return answer.Output
	}
	if len(answer.FunctionResponses()) > 0 {
		return unwrapped(answer.FunctionResponses()[0].Response)
	}
	text := answer.Text()
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
