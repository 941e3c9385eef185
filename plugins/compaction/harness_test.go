package compaction_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx = context.Background()
	key = session.Key{App: "app", User: "ada", ID: "s"}
)

// speaker is a model that answers by a function, and keeps what it was asked.
type speaker struct {
	mu     sync.Mutex
	asked  []*model.Request
	answer func(n int, req *model.Request) (*model.Response, error) // n counts from 1
}

func (s *speaker) Generate(
	_ context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		s.mu.Lock()
		s.asked = append(s.asked, req)
		n := len(s.asked)
		s.mu.Unlock()
		yield(s.answer(n, req))
	}
}

func (s *speaker) last() *model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

func said(format string, args ...any) *model.Response {
	return &model.Response{
		Content:      genai.NewContentFromText(fmt.Sprintf(format, args...), genai.RoleModel),
		FinishReason: genai.FinishReasonStop,
	}
}

func called(id, name string, args map[string]any) *model.Response {
	return &model.Response{
		Content: &genai.Content{
			Role: genai.RoleModel,
			Parts: []*genai.Part{
				{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}},
			},
		},
	}
}

// viewTokens returns the tokens of a live view, as the plugin counts them.
func viewTokens(t require.TestingT, c compaction.Config, live []*session.Event) int {
	plan, err := c.Preview(ctx, &session.Invocation{Key: key, Live: live}, "")
	require.NoError(t, err)
	return plan.Before
}

// words counts the words of a content, calls and responses as one of ten: an exact count for tests.
func words(c *genai.Content) (n int) {
	for _, p := range c.Parts {
		n += len(strings.Fields(p.Text))
		if p.FunctionCall != nil || p.FunctionResponse != nil {
			n += 10
		}
		if p.FunctionResponse != nil {
			n += len(strings.Fields(fmt.Sprint(p.FunctionResponse.Response["result"])))
		}
	}
	return n
}

func total(req *model.Request) (n int) {
	for _, c := range req.Contents {
		n += words(c)
	}
	if req.Config.SystemInstruction != nil {
		n += words(req.Config.SystemInstruction)
	}
	return n
}

// logText is a log that may be read while background work writes to it.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// scene is a session that is run with a compaction plugin.
type scene struct {
	t        *testing.T
	sessions session.Service
	runner   *runner.Runner
	log      *logText
	records  slog.Handler // into log: one for all, since it guards the buffer
}

// stage starts a session with an agent that answers with a model.
func stage(t *testing.T, c compaction.Config, m model.Model, tools ...*tool.Tool) *scene {
	a, err := llm.New(llm.Config{Name: "agent", Model: m, Tools: tools})
	require.NoError(t, err)
	return stageAgent(t, c, a)
}

func stageAgent(t *testing.T, c compaction.Config, a agent.Agent, after ...*plugin.Plugin) *scene {
	s := newScene(t)
	c.Log = slog.New(s.records)
	p, err := compaction.New(c)
	require.NoError(t, err)
	return s.start(a, append([]*plugin.Plugin{p}, after...)...)
}

// stagePlugins starts a session with these plugins.
func stagePlugins(t *testing.T, a agent.Agent, plugins ...*plugin.Plugin) *scene {
	return newScene(t).start(a, plugins...)
}

func newScene(t *testing.T) *scene {
	log := &logText{}
	return &scene{t: t, sessions: memory.New(), log: log, records: slog.NewTextHandler(log, nil)}
}

func (s *scene) start(a agent.Agent, plugins ...*plugin.Plugin) *scene {
	var err error
	s.runner, err = runner.New(
		runner.Options{Agent: a, Sessions: s.sessions, Plugins: plugins, Log: slog.New(s.records)})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, s.runner.Close(context.Background())) })
	return s
}

// run runs an input and returns what was yielded.
func (s *scene) run(input *session.Event) (yielded []*session.Event, err error) {
	for e, e2 := range s.runner.Run(ctx, key, input, session.RunConfig{Create: true}) {
		if e2 != nil {
			err = e2
			continue
		}
		yielded = append(yielded, e)
	}
	return yielded, err
}

// say runs a message that is to be answered.
func (s *scene) say(format string, args ...any) {
	s.t.Helper()
	_, err := s.run(session.Message(fmt.Sprintf(format, args...)))
	require.NoError(s.t, err)
}

func (s *scene) events(sel session.Selection) []*session.Event {
	var list []*session.Event
	for e, err := range s.sessions.Read(ctx, key, sel) {
		require.NoError(s.t, err)
		list = append(list, e)
	}
	return list
}

func (s *scene) live() []*session.Event { return s.events(session.Selection{Live: true}) }

// compactions are those in the log.
func (s *scene) compactions() []*session.Event {
	return slices.DeleteFunc(s.events(session.Selection{}),
		func(e *session.Event) bool { return e.Actions.Compaction == nil })
}

// echo is a model that answers each question with some words.
func echo(n int) *speaker {
	return &speaker{answer: func(i int, _ *model.Request) (*model.Response, error) {
		return said("answer %d %s", i, strings.Repeat("word ", n-2)), nil
	}}
}

// small is a configuration that counts words.
func small() compaction.Config {
	return compaction.Config{
		Window:     1000,
		Budget:     500,
		Trigger:    400,
		Summary:    100,
		Tail:       60,
		MinGain:    50,
		Foreground: true,
		Count:      words,
	}
}
