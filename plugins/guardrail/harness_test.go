package guardrail_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx = context.Background()
	key = session.Key{App: "app", User: "ann", ID: "s"}
)

// answers is a model that answers in turn: a text, a list of texts (a stream), function calls.
type answers struct {
	mu    sync.Mutex
	list  []any
	asked []*model.Request
}

func (a *answers) Generate(
	_ context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, req.Clone())
		if len(a.list) == 0 {
			yield(nil, errors.New("no more answers"))
			return
		}
		next := a.list[0]
		a.list = a.list[1:]
		var parts []*genai.Part
		switch next := next.(type) {
		case string:
			parts = append(parts, &genai.Part{Text: next})
		case *genai.FunctionCall:
			parts = append(parts, &genai.Part{FunctionCall: next})
		case []*genai.Part:
			parts = next
		case []string:
			for _, chunk := range next {
				if !yield(&model.Response{
					Content: genai.NewContentFromText(chunk, genai.RoleModel),
					Partial: true,
				}, nil) {
					return
				}
			}
			parts = append(parts, &genai.Part{Text: strings.Join(next, "")})
		case error:
			yield(nil, next)
			return
		}
		yield(
			&model.Response{
				Content:      &genai.Content{Role: genai.RoleModel, Parts: parts},
				FinishReason: genai.FinishReasonStop,
			},
			nil,
		)
	}
}

// scene is a session with an agent under a guardrail.
type scene struct {
	t        testing.TB
	model    *answers
	sessions session.Service
	runner   *runner.Runner
	log      *lockedBuffer
	running  sync.Mutex       // for tools: the calls of an answer run side by side
	tools    []map[string]any // the arguments that tools were run with
}

// stage is a scene with a policy and a model's answers. The tool fetch answers what it is asked
// for, send takes a text of at least ten bytes to an address.
func stage(t testing.TB, c guardrail.Config, list ...any) *scene {
	return stageIn(t, nil, c, list...)
}

// stageIn is stage with the plugin wrapped.
func stageIn(
	t testing.TB,
	wrap func(*plugin.Plugin) *plugin.Plugin,
	c guardrail.Config,
	list ...any,
) *scene {
	s := &scene{t: t, model: &answers{list: list}, sessions: memory.New(), log: &lockedBuffer{}}
	c.Log = slog.New(slog.NewJSONHandler(s.log, nil))
	p, err := guardrail.New(c)
	require.NoError(t, err)
	if wrap != nil {
		p = wrap(p)
	}
	ran := func(name string, schema string) *tool.Tool {
		d := &genai.FunctionDeclaration{Name: name, Description: name}
		if schema != "" {
			d.ParametersJsonSchema = json.RawMessage(schema)
		}
		return &tool.Tool{
			Declaration: d,
			Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
				s.running.Lock()
				s.tools = append(s.tools, c.Args)
				s.running.Unlock()
				if name == "fetch" {
					return map[string]any{"result": c.Args["answer"]}, nil
				}
				return map[string]any{"ok": true}, nil
			},
		}
	}
	bot, err := llm.New(
		llm.Config{Name: "bot", Model: s.model, Tools: []*tool.Tool{ran("fetch", ""),
			ran(
				"send",
				`{"type":"object","properties":{"to":{"type":"string","pattern":"@"},"text":{"type":"string"}},"required":["to"]}`,
			)}},
	)
	require.NoError(t, err)
	s.runner, err = runner.New(
		runner.Options{Agent: bot, Sessions: s.sessions, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.runner.Close(ctx)) })
	return s
}

// run runs an input, a text or an event, and returns what was yielded as lines.
func (s *scene) run(input any) (lines []string) {
	s.t.Helper()
	for _, e := range s.events(input) {
		lines = append(lines, line(e))
	}
	return lines
}

func (s *scene) events(input any) (list []*session.Event) {
	s.t.Helper()
	e, ok := input.(*session.Event)
	if !ok {
		e = session.Message(input.(string))
	}
	for e, err := range s.runner.Run(ctx, key, e, session.RunConfig{
		Create:    true,
		Streaming: session.SSE,
	}) {
		require.NoError(s.t, err)
		list = append(list, e)
	}
	return list
}

// stored is the log as it is in the store, in JSON.
func (s *scene) stored() string {
	var b strings.Builder
	require.NoError(s.t, session.Export(ctx, s.sessions, key, &b))
	return b.String()
}

func call(name string, args map[string]any) *genai.FunctionCall {
	return &genai.FunctionCall{ID: "c-" + name, Name: name, Args: args}
}

func line(e *session.Event) string {
	words := []string{e.Author + ":"}
	if e.Partial {
		words[0] += "…"
	}
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p.FunctionCall != nil:
				words = append(words, p.FunctionCall.Name+inJSON(p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				words = append(words,
					p.FunctionResponse.Name+"="+inJSON(p.FunctionResponse.Response))
			default:
				words = append(words, p.Text)
			}
		}
	}
	for id, c := range e.Actions.RequestedToolConfirmations {
		words = append(words, fmt.Sprintf("[%s: %s]", id, c.Hint))
	}
	if e.ErrorCode != "" {
		words = append(words, "["+e.ErrorCode+"]")
	}
	return strings.Join(words, " ")
}

func inJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// lockedBuffer collects what is written to it by several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *lockedBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

// offered returns what becomes of an event, and what is emitted on it.
func offered(
	t require.TestingT,
	p *plugin.Plugin,
	e *session.Event,
) (*session.Event, plugin.Outcome) {
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key}, e)
	require.NoError(t, err)
	if out.Replace != nil {
		e = out.Replace
	}
	return e, out
}

func says(author string, parts ...*genai.Part) *session.Event {
	return &session.Event{
		ID:      "e",
		Author:  author,
		Content: &genai.Content{Role: genai.RoleModel, Parts: parts},
	}
}

// herons is a policy that redacts a word.
const herons = `rules: [{id: r, detect: {words: [heron]}, action: redact}]`
