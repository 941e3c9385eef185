package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/tool"
)

// A move is what an agent's model does when it is asked.
type move struct {
	kind  string // "text", "calls", "fail", "too long"
	n     int    // words
	calls []string
	id    string // of the first call, "" for a fresh one
}

// An actor is the model of all agents of a history. What is asked of it is checked, request by request.
type actor struct {
	mu     sync.Mutex
	moves  map[string][]move // by agent
	signed map[string]string // the parts that were signed, by their signature
	asked  int
	check  func(*model.Request)
	wrong  []string
}

func (a *actor) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) { yield(a.answer(req)) }
}

func (a *actor) answer(req *model.Request) (*model.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	a.check(req)
	next := move{kind: "text", n: 3}
	if moves := a.moves[req.Agent]; len(moves) > 0 {
		next, a.moves[req.Agent] = moves[0], moves[1:]
	}
	switch next.kind {
	case "fail":
		return nil, &model.Error{
			Code:   "UNAVAILABLE",
			Status: 503,
			Err:    errors.New("come back later"),
		}
	case "too long":
		return nil, &model.Error{
			Code:   "INVALID_ARGUMENT",
			Status: 400,
			Err: errors.New(
				"The input token count (9) exceeds the maximum number of tokens allowed (8)."),
		}
	case "calls":
		c := &genai.Content{Role: genai.RoleModel}
		for i, name := range next.calls {
			call := &genai.FunctionCall{Name: name, Args: map[string]any{"request": filler(next.n)}}
			if i == 0 {
				call.ID = next.id
			}
			c.Parts = append(c.Parts, a.sign(&genai.Part{FunctionCall: call}))
		}
		return &model.Response{Content: c, FinishReason: genai.FinishReasonStop}, nil
	}
	text := fmt.Sprintf("%s said%d %s", place(req.Branch), a.asked, filler(next.n))
	if strings.Contains(req.Branch, "@") { // its last words are the answer of who is called
		text = fmt.Sprintf("said%d %s", a.asked, filler(next.n))
	}
	return &model.Response{
		Content: &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{a.sign(&genai.Part{Text: text})},
		},
		FinishReason: genai.FinishReasonStop,
	}, nil
}

// sign signs a part, every other time.
func (a *actor) sign(p *genai.Part) *genai.Part {
	if a.asked%2 == 0 {
		p.ThoughtSignature = fmt.Appendf(nil, "signature %d %d", a.asked, len(a.signed))
		a.signed[string(p.ThoughtSignature)] = signedText(p)
	}
	return p
}

// signedText is what a part says; the agent sets the ids of its calls.
func signedText(p *genai.Part) string {
	c := *p
	if p.FunctionCall != nil {
		call := *p.FunctionCall
		call.ID, c.FunctionCall = "", &call
	}
	data, err := json.Marshal(&c)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// filler is n words, some of them secret.
func filler(n int) string {
	return strings.TrimSpace(strings.Repeat("word ", max(0, n-1)) + "SECRET")
}

// place marks what belongs to a branch.
func place(branch string) string { return "in:" + branch }

// cast returns the agents of a history and the names of those that ask the model.
func cast(shape string, m model.Model) (agent.Agent, []string) {
	tools := toolbox()
	one := func(name string, callees ...agent.Agent) agent.Agent {
		a, err := llm.New(
			llm.Config{Name: name, Model: m, Tools: tools, AgentTools: callees, MaxModelCalls: 12})
		if err != nil {
			panic(err)
		}
		return a
	}
	switch shape {
	case "parallel":
		return workflow.Sequential("all", "", workflow.Parallel("both", "", one("ann"), one("bob")),
			one("closer")), []string{"ann", "bob", "closer"}
	case "callee":
		return one("boss", one("helper")), []string{"boss", "helper"}
	}
	return one("solo"), []string{"solo"}
}

func toolbox() []*tool.Tool {
	parameters := map[string]any{"type": "object"}
	answer := func(c *tool.Call) (map[string]any, error) {
		return map[string]any{"result": place(c.Branch) + " " + fmt.Sprint(c.Args["request"])}, nil
	}
	return []*tool.Tool{
		{
			Declaration: &genai.FunctionDeclaration{Name: "read", ParametersJsonSchema: parameters},
			Run:         func(_ context.Context, c *tool.Call) (map[string]any, error) { return answer(c) },
		},
		{
			Declaration: &genai.FunctionDeclaration{Name: "pin", ParametersJsonSchema: parameters},
			Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
				return map[string]any{"result": "ok"}, nil
			},
		},
		{
			Declaration: &genai.FunctionDeclaration{
				Name:                 "later",
				ParametersJsonSchema: parameters,
			},
			LongRunning: true,
			Run:         func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
		},
		{
			Declaration: &genai.FunctionDeclaration{Name: "ask", ParametersJsonSchema: parameters},
			Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
				if c.Confirmation == nil {
					return nil, &tool.Ask{Hint: "may it?"}
				}
				return answer(c)
			},
		},
		{
			Declaration: &genai.FunctionDeclaration{
				Name:                 "broken",
				ParametersJsonSchema: parameters,
			},
			Run: func(context.Context, *tool.Call) (map[string]any, error) { return nil, errors.New("broken") },
		},
	}
}
