package llm_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var (
	ctx = context.Background()
	key = session.Key{App: "app", User: "ada", ID: "s"}
)

// fake is a model that gives its answers in turn, and keeps what it was asked.
type fake struct {
	mu      sync.Mutex
	answers []any // *model.Response, error, func(*model.Request) any, []*model.Response (a stream)
	asked   []*model.Request
}

func answers(list ...any) *fake { return &fake{answers: list} }

func (f *fake) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		f.mu.Lock()
		f.asked = append(f.asked, req)
		var next any = errors.New("the test's model has no more answers")
		if len(f.answers) > 0 {
			next, f.answers = f.answers[0], f.answers[1:]
		}
		f.mu.Unlock()
		if from, ok := next.(func(*model.Request) any); ok {
			next = from(req)
		}
		switch next := next.(type) {
		case string:
			yield(said(next), nil)
		case *model.Response:
			yield(next, nil)
		case error:
			yield(nil, next)
		case []any:
			for _, r := range next {
				if err, ok := r.(error); ok {
					yield(nil, err)
				} else if !yield(r.(*model.Response), nil) {
					return
				}
			}
		}
	}
}

func said(text string) *model.Response {
	return &model.Response{
		Content:      genai.NewContentFromText(text, genai.RoleModel),
		FinishReason: genai.FinishReasonStop,
	}
}

func delta(text string) *model.Response {
	return &model.Response{Content: genai.NewContentFromText(text, genai.RoleModel), Partial: true}
}

// calls is an answer with function calls: name, JSON arguments, name, JSON arguments, … Their ids
// are c1, c2, …
func calls(nameArgs ...string) *model.Response {
	c := &genai.Content{Role: genai.RoleModel}
	for i := 0; i < len(nameArgs); i += 2 {
		var args map[string]any
		if err := json.Unmarshal([]byte(cmp.Or(nameArgs[i+1], "null")), &args); err != nil {
			panic(err)
		}
		c.Parts = append(c.Parts, &genai.Part{
			FunctionCall: &genai.FunctionCall{
				ID:   fmt.Sprint("c", i/2+1),
				Name: nameArgs[i],
				Args: args,
			},
		})
	}
	return &model.Response{Content: c, FinishReason: genai.FinishReasonStop}
}

// bench runs one agent on one session.
type bench struct {
	t       *testing.T
	agent   agent.Agent
	plugins []*plugin.Plugin
	svc     session.Service
	cfg     session.RunConfig
}

func newBench(t *testing.T, c llm.Config, plugins ...*plugin.Plugin) *bench {
	return &bench{t, build(t, c), plugins, memory.New(), session.RunConfig{Create: true}}
}

func build(t *testing.T, c llm.Config) agent.Agent {
	c.Name = cmp.Or(c.Name, "bot")
	a, err := llm.New(c)
	require.NoError(t, err)
	return a
}

// run runs the agent on an input and returns what was yielded, as lines.
func (b *bench) run(input any) (lines []string, err error) {
	e, _ := input.(*session.Event)
	if text, ok := input.(string); ok {
		e = session.Message(text)
	}
	r, err := runner.New(runner.Options{Agent: b.agent, Sessions: b.svc, Plugins: b.plugins})
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, r.Close(ctx)) }()
	for e, err := range r.Run(ctx, key, e, b.cfg) {
		if err != nil {
			return lines, err
		}
		lines = append(lines, line(e))
	}
	return lines, nil
}

func (b *bench) says(input any, want ...string) {
	b.t.Helper()
	got, err := b.run(input)
	require.NoError(b.t, err)
	require.Equal(b.t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// decidesNothing runs a verdict that nothing waits for.
func (b *bench) decidesNothing(verdict *session.Event) {
	b.t.Helper()
	got, err := b.run(verdict)
	require.ErrorIs(b.t, err, runner.ErrNotWaiting)
	require.Empty(b.t, got)
}

func (b *bench) live() (events []*session.Event) {
	for e, err := range b.svc.Read(ctx, key, session.Selection{Live: true}) {
		require.NoError(b.t, err)
		events = append(events, e)
	}
	return events
}

func (b *bench) state() map[string]any {
	s, err := b.svc.Get(ctx, key)
	require.NoError(b.t, err)
	return s.State
}

// line is an event as one line: its author, branch and what it says.
func line(e *session.Event) string {
	who := e.Author
	if e.Branch != "" {
		who += "|" + e.Branch
	}
	if e.Partial {
		who += "…"
	}
	words := []string{who + ":"}
	if e.Content != nil {
		words = append(words, partsLine(e.Content.Parts)...)
	}
	if e.ErrorCode != "" {
		words = append(words, "!"+e.ErrorCode)
	}
	for id, c := range e.Actions.RequestedToolConfirmations {
		words = append(words, fmt.Sprintf("confirm(%s %s %v)", id, c.Hint, c.Confirmed))
	}
	if len(e.LongRunningToolIDs) > 0 {
		words = append(words, fmt.Sprint("later", e.LongRunningToolIDs))
	}
	if e.Actions.TransferToAgent != "" {
		words = append(words, "→"+e.Actions.TransferToAgent)
	}
	if len(e.Actions.StateDelta) > 0 {
		words = append(words, js(e.Actions.StateDelta))
	}
	return strings.Join(words, " ")
}

func partsLine(parts []*genai.Part) (words []string) {
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			words = append(words,
				fmt.Sprintf("%s(%s)", p.FunctionCall.Name, js(p.FunctionCall.Args)))
		case p.FunctionResponse != nil:
			words = append(words,
				fmt.Sprintf("%s=%s", p.FunctionResponse.Name, js(p.FunctionResponse.Response)))
		case p.InlineData != nil:
			words = append(words, p.InlineData.MIMEType)
		default:
			words = append(words, p.Text)
		}
	}
	return words
}

// shown is what a model was asked, as lines: role and parts.
func shown(req *model.Request) string {
	var lines []string
	for _, c := range req.Contents {
		lines = append(lines, c.Role+": "+strings.Join(partsLine(c.Parts), " "))
	}
	return strings.Join(lines, "\n")
}

func js(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// echo is a tool that answers with its argument.
func echo(t *testing.T, name string) *tool.Tool {
	made, err := tool.New(
		name,
		"answers with what it is given",
		func(_ context.Context, _ *tool.Call, in struct {
			Text string `json:"text,omitempty"`
		}) (string, error) {
			return name + " " + in.Text, nil
		},
	)
	require.NoError(t, err)
	return made
}

func onEvent(name string, f func(*session.Event) plugin.Outcome) *plugin.Plugin {
	return &plugin.Plugin{
		Name: name,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return f(e), nil
		},
	}
}
