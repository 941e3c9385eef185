package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a model that answers with what it is given, in turn: a text, a list of texts (a
// stream), a *genai.FunctionCall, an error, or a function that makes one of these of the request.
type answers struct {
	mu   sync.Mutex
	list []any
}

// says is a model with these answers.
func says(list ...any) *answers { return &answers{list: list} }

func (a *answers) Generate(
	_ context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.list) == 0 {
			yield(nil, errors.New("the example's model has no more answers"))
			return
		}
		next := a.list[0]
		a.list = a.list[1:]
		if f, ok := next.(func(*model.Request) string); ok {
			next = f(req)
		}
		switch next := next.(type) {
		case error:
			yield(nil, next)
		case *genai.FunctionCall:
			yield(whole(&genai.Part{FunctionCall: next}), nil)
		case []string:
			for _, chunk := range next {
				if !yield(&model.Response{Content: genai.NewContentFromText(chunk, genai.RoleModel), Partial: true}, nil) {
					return
				}
			}
			yield(whole(&genai.Part{Text: strings.Join(next, "")}), nil)
		default:
			yield(whole(&genai.Part{Text: next.(string)}), nil)
		}
	}
}

// whole is a whole answer. It costs ten tokens.
func whole(p *genai.Part) *model.Response {
	return &model.Response{
		Content:       &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{p}},
		FinishReason:  genai.FinishReasonStop,
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: 10},
	}
}

// call is a model's call of a function. Its id is "c-" and the function's name.
func call(name string, args map[string]any) *genai.FunctionCall {
	return &genai.FunctionCall{ID: "c-" + name, Name: name, Args: args}
}

// function is a tool that is a Go function of its arguments.
func function(name string, f func(args map[string]any) (map[string]any, error)) *tool.Tool {
	return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) { return f(c.Args) }}
}

// bot is an agent with a model that gives these answers.
func bot(list ...any) agent.Agent { return newAgent(llm.Config{Name: "bot", Model: says(list...)}) }

// newAgent is llm.New for configurations that are right.
func newAgent(c llm.Config) agent.Agent {
	a, err := llm.New(c)
	if err != nil {
		panic(err)
	}
	return a
}

// run puts inputs, texts or events, into one session, one after the other, and prints what is
// yielded.
func run(a agent.Agent, plugins []*plugin.Plugin, inputs ...any) {
	runWith(session.RunConfig{Create: true}, a, plugins, inputs...)
}

// runWith is run with a configuration.
func runWith(cfg session.RunConfig, a agent.Agent, plugins []*plugin.Plugin, inputs ...any) {
	r, err := runner.New(runner.Options{Agent: a, Sessions: memory.New(), Plugins: plugins})
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			panic(err)
		}
	}()
	for _, input := range inputs {
		e, ok := input.(*session.Event)
		if !ok {
			e = session.Message(input.(string))
		}
		for e, err := range r.Run(context.Background(), session.Key{App: "shop", User: "ada", ID: "1"}, e, cfg) {
			if err != nil {
				fmt.Println("error:", err)
				continue
			}
			fmt.Println(line(e))
		}
	}
}

// line is an event as one line: who says what.
func line(e *session.Event) string {
	words := []string{e.Author}
	if e.Branch != "" {
		words[0] += " in " + e.Branch
	}
	if words[0] += ":"; e.Partial {
		words[0] += "…"
	}
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p.FunctionCall != nil:
				words = append(words, p.FunctionCall.Name+"("+inJSON(p.FunctionCall.Args)+")")
			case p.FunctionResponse != nil:
				words = append(words,
					p.FunctionResponse.Name+" = "+inJSON(p.FunctionResponse.Response))
			default:
				words = append(words, p.Text)
			}
		}
	}
	if e.ErrorCode != "" {
		words = append(words, "["+e.ErrorCode+"]")
	}
	for id, c := range e.Actions.RequestedToolConfirmations {
		words = append(words, fmt.Sprintf("[%s: %s%t]", id, c.Hint, c.Confirmed))
	}
	for key, value := range e.Actions.StateDelta {
		words = append(words, fmt.Sprintf("[%s is %v]", key, value))
	}
	for key, by := range e.Actions.StateIncrement {
		words = append(words, fmt.Sprintf("[%s + %v]", key, by))
	}
	for key, value := range e.CustomMetadata {
		if key != session.NotesKey {
			words = append(words, fmt.Sprintf("[%s: %v]", key, value))
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// inJSON is a value as JSON.
func inJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// withTools is an agent with tools.
func withTools(list []any, tools ...*tool.Tool) agent.Agent {
	return newAgent(llm.Config{Name: "bot", Model: says(list...), Tools: tools})
}

// handOver is a model's call that hands over to another agent.
func handOver(to string) *genai.FunctionCall {
	return call(llm.Transfer, map[string]any{"agent_name": to})
}
