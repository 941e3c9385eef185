package budget_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx  = context.Background()
	noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

// A clock is the time of all processes of a test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A process is a runner with a budget. Several share a store.
type process struct {
	t        testing.TB
	sessions session.Service
	runner   *runner.Runner
	models   atomic.Int64 // calls of the model
	tools    atomic.Int64 // calls of tools
}

// saying is what a model says at its n-th call in a run, from 1 on.
type saying func(n int) *model.Response

func reply(text string, tokens int32) *model.Response {
	r := &model.Response{
		Content:      genai.NewContentFromText(text, genai.RoleModel),
		FinishReason: genai.FinishReasonStop,
	}
	if tokens > 0 {
		r.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: tokens}
	}
	return r
}

// hello answers at once.
func hello(tokens int32) saying {
	return func(int) *model.Response { return reply("hello", tokens) }
}

// calls calls tools in the first so many answers of a run.
func calls(answers int, tokens int32, names ...string) saying {
	return func(n int) *model.Response {
		if n > answers {
			return reply("done", tokens)
		}
		r := reply("", tokens)
		r.Content.Parts = nil
		for i, name := range names {
			call := &genai.FunctionCall{
				ID:   fmt.Sprintf("c%d-%d", n, i),
				Name: name,
				Args: map[string]any{},
			}
			r.Content.Parts = append(r.Content.Parts, &genai.Part{FunctionCall: call})
		}
		return r
	}
}

type talker struct {
	*process
	say saying
}

// Generate counts the answers that the conversation has since the user's last message.
func (m talker) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	m.models.Add(1)
	n := 1
	for _, c := range req.Contents {
		if c.Role == genai.RoleModel {
			n++
		} else if len(c.Parts) > 0 && c.Parts[0].Text == "hi" {
			n = 1
		}
	}
	return func(yield func(*model.Response, error) bool) { yield(m.say(n), nil) }
}

// start starts a process with rewind, plugins and the budget.
func start(t testing.TB, sessions session.Service, c budget.Config, say saying) *process {
	return startWith(t, sessions, say, rewind.New(sessions), made(t, c))
}

func startWith(
	t testing.TB,
	sessions session.Service,
	say saying,
	plugins ...*plugin.Plugin,
) *process {
	p := &process{t: t, sessions: sessions}
	var tools []*tool.Tool
	for _, name := range []string{"send_mail", "search"} {
		tools = append(tools, &tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: name, Description: name},
			Run: func(context.Context, *tool.Call) (map[string]any, error) {
				p.tools.Add(1)
				return map[string]any{"ok": true}, nil
			},
		})
	}
	bot, err := llm.New(llm.Config{Name: "bot", Model: talker{p, say}, Tools: tools})
	require.NoError(t, err)
	p.runner, err = runner.New(runner.Options{Agent: bot, Sessions: sessions, Plugins: plugins})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.runner.Close(ctx)) })
	return p
}

func made(t testing.TB, c budget.Config) *plugin.Plugin {
	p, err := budget.New(c)
	require.NoError(t, err)
	return p
}

func limits(list ...budget.Limit) budget.Config {
	return budget.Config{Limits: list, Now: func() time.Time { return noon }}
}

func key(id string) session.Key { return session.Key{App: "app", User: "ann", ID: id} }

// run runs an input and returns what was said, a line for each event.
func (p *process) run(k session.Key, input *session.Event) (lines []string) {
	for e, err := range p.runner.Run(ctx, k, input, session.RunConfig{Create: true}) {
		if err != nil {
			p.t.Error(err)
			return append(lines, "failed")
		}
		if l := line(e); l != "" {
			lines = append(lines, e.Author+": "+l)
		}
	}
	return lines
}

// say says hi in a session and returns the last line.
func (p *process) say(id string) string {
	lines := p.run(key(id), session.Message("hi"))
	return lines[len(lines)-1]
}

// line says what is in an event.
func line(e *session.Event) string {
	var words []string
	if e.Text() != "" {
		words = append(words, e.Text())
	}
	for _, c := range e.FunctionCalls() {
		words = append(words, "calls "+c.Name)
	}
	for _, r := range e.FunctionResponses() {
		words = append(words, fmt.Sprintf("%s answers %v", r.Name, r.Response))
	}
	for id, c := range e.Actions.RequestedToolConfirmations {
		words = append(words, fmt.Sprintf("[%s: %s]", id, c.Hint))
	}
	if said, ok := e.CustomMetadata[budget.Key].(map[string]any); ok && said["warning"] == true {
		words = append(words, fmt.Sprintf("warning: %v of %v", said["used"], said["max"]))
	}
	if e.ErrorCode != "" {
		words = append(words, "["+e.ErrorCode+"]")
	}
	return strings.Join(words, " ")
}

// counts returns the numbers of the budget in a session's state.
func (p *process) counts(id string) map[string]any {
	s, err := p.sessions.Get(ctx, key(id))
	require.NoError(p.t, err)
	found := map[string]any{}
	for k, v := range s.State {
		if strings.Contains(k, "budget:") {
			found[k] = v
		}
	}
	return found
}

// together says hi n times at the same moment, each in a session of its own, and returns how many
// were not denied.
func together(processes []*process, n int, name string) int {
	var passed atomic.Int64
	var group sync.WaitGroup
	for i := range n {
		p := processes[i%len(processes)]
		group.Go(func() {
			if p.say(fmt.Sprintf("%s%d", name, i)) == "bot: hello" {
				passed.Add(1)
			}
		})
	}
	group.Wait()
	return int(passed.Load())
}
