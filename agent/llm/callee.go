package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// requestKey is the argument of a callee that has no input schema of its own.
const requestKey = "request"

// newCallee returns an agent as a function.
func newCallee(a agent.Agent) (*function, error) {
	t := &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: a.Name(), Description: a.Description(),
		ParametersJsonSchema: map[string]any{"type": "object", "required": []any{requestKey}, "properties": map[string]any{
			requestKey: map[string]any{"type": "string", "description": "what the agent is to do, with all that it needs to know"}}}}}
	if l, ok := a.(*llmAgent); ok && l.Input != nil {
		t.Declaration.ParametersJsonSchema = l.Input
	}
	check, err := t.Check()
	return &function{Tool: t, callee: a, check: check}, err
}

// calleeElement is the element of the branch in which a callee answers one call: the @ makes it a
// conversation of its own (agent.Sees).
func calleeElement(f *function, c session.Call) string { return f.callee.Name() + "@" + c.ID }

func (t *turn) calleeBranch(f *function, c session.Call) string {
	return t.host.At(calleeElement(f, c)).Branch
}

func below(branch string, c session.Call) bool {
	return c.Event.Branch == branch || strings.HasPrefix(c.Event.Branch, branch+".")
}

// waitsBelow reports whether a call in a branch, or below it, waits.
func waitsBelow(calls []session.Call, branch string) bool {
	for _, c := range calls {
		if c.Waits() && below(branch, c) {
			return true
		}
	}
	return false
}

// goesOnBelow reports whether the invocation's input answers a call in a branch, or below it.
func goesOnBelow(inv *session.Invocation, branch string) bool {
	for _, c := range agent.Answered(inv) {
		if below(branch, c) {
			return true
		}
	}
	return false
}

// runCallee has an agent answer a call. What it is asked goes into its branch as its user's message.
func (t *turn) runCallee(ctx context.Context, host *agent.Host, yield func(*session.Event, error) bool, f *function, c session.Call) result {
	if err := f.check(c.Args); err != nil {
		return failed("%v", err)
	}
	own := host.At(calleeElement(f, c))
	from := host.Now().Position
	if !c.LongRunning { // it has not been asked yet
		request := &session.Event{Author: t.agent.Name(), Branch: own.Branch, Content: genai.NewContentFromText(requestText(c.Args), genai.RoleUser)}
		if !yield(request, nil) {
			return result{ended: true}
		}
		asked := last(host.Now(), own.Branch, from)
		if asked == nil {
			return failed("the request to %s was withheld", c.Name)
		}
		now := own.Now
		own.Now = func() *session.Invocation {
			inv := *now()
			inv.Input = asked
			return &inv
		}
		from = asked.Seq
	}
	if !agent.Run(ctx, f.callee, own, yield) {
		return result{ended: true}
	}
	inv := host.Now()
	if waitsBelow(session.Calls(inv.Live), own.Branch) {
		return result{waits: true}
	}
	said := last(inv, own.Branch, from)
	switch {
	case said == nil:
		return failed("%s has said nothing", c.Name)
	case said.ErrorCode != "":
		return failed("%s has failed: %s: %s", c.Name, said.ErrorCode, said.ErrorMessage+said.Text())
	}
	var object map[string]any
	if l, ok := f.callee.(*llmAgent); ok && l.Output != nil && json.Unmarshal([]byte(said.Text()), &object) == nil && object != nil {
		return result{response: object}
	}
	return result{response: map[string]any{"result": said.Text()}}
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

// last returns the last event in a branch after a position that says something, nil if there is none.
func last(inv *session.Invocation, branch string, from int64) *session.Event {
	for i := len(inv.Live) - 1; i >= 0 && inv.Live[i].Seq > from; i-- {
		e := inv.Live[i]
		if agent.Sees(branch, e.Branch) && strings.HasPrefix(e.Branch, branch) && (e.Text() != "" || e.ErrorCode != "") {
			return e
		}
	}
	return nil
}
