package guardrail_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/tool"
)

// talker is a model that says what it is made to say for its n-th call.
type talker struct {
	say   func(n int) []*model.Response
	calls atomic.Int64
	mu    sync.Mutex
	asked []*model.Request
}

func (m *talker) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		n := int(m.calls.Add(1))
		m.mu.Lock()
		m.asked = append(m.asked, req.Clone())
		m.mu.Unlock()
		for _, r := range m.say(n) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func reply(text string, tokens int32) *model.Response {
	r := &model.Response{Content: genai.NewContentFromText(text, genai.RoleModel), FinishReason: genai.FinishReasonStop}
	if tokens > 0 {
		r.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: tokens}
	}
	return r
}

func piece(text string) *model.Response {
	return &model.Response{Content: genai.NewContentFromText(text, genai.RoleModel), Partial: true}
}

// loops calls a tool in each answer but every last of n.
func loops(n int, tokens int32, names ...string) func(int) []*model.Response {
	return func(i int) []*model.Response {
		if i%n == 0 {
			return []*model.Response{piece("done"), reply("done", tokens)}
		}
		r := reply("", tokens)
		r.Content.Parts = nil
		for k, name := range names {
			r.Content.Parts = append(r.Content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: fmt.Sprintf("c%d-%d", i, k), Name: name, Args: map[string]any{"n": i}}})
		}
		return []*model.Response{r}
	}
}

func hello(tokens int32) func(int) []*model.Response {
	return func(int) []*model.Response { return []*model.Response{piece("hel"), reply("hello", tokens)} }
}

// house is a runner with limits, on sessions that it may share.
type house struct {
	t        testing.TB
	model    *talker
	sessions session.Service
	runner   *runner.Runner
	now      time.Time
	ran      atomic.Int64
	bot      agent.Agent
	plugins  []*plugin.Plugin
	log      *records
}

type records struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

// open makes a house. Its plugins are those before the guardrail, and rewind.
func open(t testing.TB, sessions session.Service, rules string, say func(int) []*model.Response, before ...*plugin.Plugin) *house {
	h := &house{t: t, model: &talker{say: say}, sessions: sessions, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), log: &records{}}
	p, err := guardrail.New(guardrail.Config{Policy: parse(t, rules), Sessions: sessions, Now: func() time.Time { return h.now }, Log: slog.New(slog.NewJSONHandler(h.log, nil))})
	require.NoError(t, err)
	made := func(name string) *tool.Tool {
		return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name, Description: name}, Run: func(context.Context, *tool.Call) (map[string]any, error) {
			h.ran.Add(1)
			return map[string]any{"ok": true}, nil
		}}
	}
	bot, err := llm.New(llm.Config{Name: "bot", Model: h.model, Instruction: "Be kind.", Tools: []*tool.Tool{made("mail"), made("search")}})
	require.NoError(t, err)
	h.bot = bot
	h.plugins = append(append([]*plugin.Plugin{rewind.New(sessions)}, before...), p)
	h.start(bot, h.plugins...)
	return h
}

func (h *house) start(a agent.Agent, plugins ...*plugin.Plugin) {
	r, err := runner.New(runner.Options{Agent: a, Sessions: h.sessions, Plugins: plugins})
	require.NoError(h.t, err)
	h.runner = r
	h.t.Cleanup(func() { require.NoError(h.t, r.Close(ctx)) })
}

func (h *house) run(k session.Key, input *session.Event) (lines []string) {
	h.t.Helper()
	for e, err := range h.runner.Run(ctx, k, input, session.RunConfig{Create: true, Streaming: session.SSE}) {
		require.NoError(h.t, err)
		if l := line(e); !e.Partial && l != e.Author+":" {
			lines = append(lines, l)
		}
	}
	return lines
}

// say runs a message in a session and returns the last line.
func (h *house) say(id string) string {
	h.t.Helper()
	lines := h.run(session.Key{App: "app", User: "ann", ID: id}, session.Message("hi"))
	return lines[len(lines)-1]
}

// counts returns the numbers of limits in the state, by key without what differs from run to run.
func (h *house) counts(id string) map[string]any {
	h.t.Helper()
	s, err := h.sessions.Get(ctx, session.Key{App: "app", User: "ann", ID: id})
	require.NoError(h.t, err)
	found := map[string]any{}
	for key, value := range s.State {
		if strings.Contains(key, "guardrail") {
			found[key] = value
		}
	}
	return found
}

func total(counts map[string]any) (n float64) {
	for _, v := range counts {
		n += v.(float64)
	}
	return n
}

const used = "and nothing is left"

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		rules string
		say   func(int) []*model.Response
		want  []string // the last lines of runs, each in a session of the name before the colon
		asked int64
		ran   int64
	}{
		"runs of a user": {rules: `rules: [{id: r, limit: {runs: 2, per: user}, action: block}]`, say: hello(0), asked: 2,
			want: []string{"a: bot: hello", "b: bot: hello", "a: plugin/guardrail: The policy's rule r allows 2 runs per user, " + used + ". [DENIED]", "c: plugin/guardrail: "}},
		"runs of a session": {rules: `rules: [{id: r, limit: {runs: 1, per: session}, action: block}]`, say: hello(0), asked: 2,
			want: []string{"a: bot: hello", "a: plugin/guardrail: The policy's rule r allows 1 run per session, " + used + "; begin another session. [DENIED]", "b: bot: hello"}},
		"model calls": {rules: `rules: [{id: r, limit: {model_calls: 3, per: user}, action: block, message: Enough.}]`, say: loops(5, 0, "search"), asked: 3, ran: 3,
			want: []string{"a: plugin/guardrail: Enough. [DENIED]", "b: plugin/guardrail: Enough. [DENIED]"}},
		"tokens": {rules: `rules: [{id: r, limit: {tokens: 300, per: app}, action: block, message: Enough.}]`, say: loops(5, 120, "search"), asked: 3, ran: 3,
			want: []string{"a: plugin/guardrail: Enough. [DENIED]", "b: plugin/guardrail: Enough. [DENIED]"}},
		"tokens that nobody reports": {rules: `rules: [{id: r, limit: {tokens: 10, per: user}, action: block, message: Enough.}]`, say: hello(0), asked: 3,
			want: []string{"a: bot: hello", "b: bot: hello", "a: bot: hello", "a: plugin/guardrail: Enough. [DENIED]"}}, // 8+2+5 characters, and 15 more
		"tool calls": {rules: `rules: [{id: r, scope: {tool: mail}, limit: {tool_calls: 3, per: user}, action: block}]`, say: loops(3, 0, "mail", "search"), asked: 6, ran: 7,
			want: []string{"a: bot: done", "b: bot: done"}},
		"flag": {rules: `rules: [{id: r, limit: {runs: 1, per: user}, action: flag}]`, say: hello(0), asked: 2, want: []string{"a: bot: hello", "a: bot: hello"}},
		"shadow": {rules: `{mode: shadow, rules: [{id: r, limit: {runs: 1, per: user}, action: block}, {id: m, limit: {model_calls: 1, per: user}, action: block}]}`,
			say: hello(0), asked: 2, want: []string{"a: bot: hello", "a: bot: hello"}},
		"condition": {rules: `rules: [{id: r, when: 'state?.plan == "free"', limit: {runs: 1, per: user}, action: block}]`, say: hello(0), asked: 2,
			want: []string{"a: bot: hello", "a: bot: hello"}},
		"condition that fails": {rules: `rules: [{id: r, when: 'state.n > 1', limit: {runs: 1, per: user}, action: block}]`, say: hello(0),
			want: []string{"a: plugin/guardrail: This could not be checked against the policy. [DENIED]"}},
		"of an agent": {rules: `rules: [{id: r, scope: {agent: other}, limit: {model_calls: 1, per: user}, action: block}, {id: s, scope: {agent: bo*}, limit: {model_calls: 2, per: user}, action: block, message: Enough.}]`,
			say: hello(0), asked: 2, want: []string{"a: bot: hello", "a: bot: hello", "a: plugin/guardrail: Enough. [DENIED]"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, memory.New(), c.rules, c.say)
			for i, want := range c.want {
				id, text, _ := strings.Cut(want, ": ")
				require.Contains(t, h.say(id), text, i)
			}
			require.Equal(t, c.asked, h.model.calls.Load())
			require.Equal(t, c.ran, h.ran.Load())
			for _, req := range h.model.asked {
				require.NotContains(t, inJSON(req.Contents)+inJSON(req.Config.SystemInstruction), "guardrail:")
			}
		})
	}
}

// What a limit of calls says goes to the model, or to the human who is asked; a call that it holds does not count.
func TestLimitOfToolCalls(t *testing.T) {
	h := open(t, memory.New(), `rules: [{id: r, scope: {tool: mail}, limit: {tool_calls: 1, per: user, every: 24h}, action: block}]`, loops(2, 0, "mail", "mail", "search"))
	require.Equal(t, []string{"user: hi", `bot: mail{"n":1} mail{"n":1} search{"n":1}`,
		`plugin/guardrail: mail={"error":"not executed: the policy's rule r allows 1 tool call per user in 24h, and nothing is left; try again in 26h; go on without it"} [DENIED]`,
		`bot: mail={"ok":true} search={"ok":true}`, "bot: done"}, h.run(key, session.Message("hi")))
	require.Equal(t, map[string]any{"user:guardrail:limit:r:tool_calls:user:24h0m0s:1777730400000": 1.0}, h.counts(key.ID))

	h = open(t, memory.New(), `rules: [{id: r, limit: {tool_calls: 1, per: user}, action: ask}, {id: all, limit: {tool_calls: 9, per: user}, action: block}]`, loops(2, 0, "mail", "search"))
	require.Equal(t, []string{"user: hi", `bot: mail{"n":1} search{"n":1}`,
		"plugin/guardrail: [c1-1: The policy's rule r allows 1 tool call per user, and nothing is left. Is this call of search to be made?]",
		`bot: mail={"ok":true}`}, h.run(key, session.Message("hi")))
	require.Equal(t, []string{"user: [c1-1: ]", `bot: search={"ok":true}`, "bot: done"}, h.run(key, session.Decision(true, "c1-1")))
	require.Equal(t, map[string]any{"user:guardrail:limit:r:tool_calls:user:ever:0": 1.0, "user:guardrail:limit:all:tool_calls:user:ever:0": 2.0}, h.counts(key.ID))

	// A call that another rule denies counts for nobody; one that a limit denies does not count for another.
	h = open(t, memory.New(), `rules: [{id: no, stages: [tool_args], scope: {tool: search}, action: block}, {id: few, scope: {tool: mail}, limit: {tool_calls: 1, per: user}, action: block}, {id: all, limit: {tool_calls: 9, per: user}, action: block}]`,
		loops(2, 0, "mail", "search", "mail"))
	h.run(key, session.Message("hi"))
	require.Equal(t, map[string]any{"user:guardrail:limit:few:tool_calls:user:ever:0": 1.0, "user:guardrail:limit:all:tool_calls:user:ever:0": 1.0}, h.counts(key.ID))
}

// The note and the record say what was used up and when there is some again, and nothing else.
func TestLimitIsNoted(t *testing.T) {
	for _, c := range []struct {
		mode string
		want guardrail.Record
	}{
		{"enforce", guardrail.Record{Rule: "r", Stage: guardrail.Input, Type: "LIMIT", Action: guardrail.Block, Count: 1, RetryAfter: 3900}},
		{"shadow", guardrail.Record{Rule: "r", Stage: guardrail.Input, Type: "LIMIT", Action: guardrail.Allow, Would: guardrail.Block, Count: 1, RetryAfter: 3900}},
	} {
		h := open(t, memory.New(), `rules: [{id: r, mode: `+c.mode+`, limit: {runs: 1, per: user, every: 1h}, action: block}]`, hello(0))
		h.say("a")
		h.say("a")
		var last guardrail.Note
		for e, err := range h.sessions.Read(ctx, session.Key{App: "app", User: "ann", ID: "a"}, session.Selection{}) {
			require.NoError(t, err)
			if n, ok := guardrail.NoteOf(e); ok {
				last = n
			}
		}
		require.Equal(t, []guardrail.Record{c.want}, last.Records)
		require.Contains(t, h.log.text.String(), `"type":"LIMIT"`)
		require.NotContains(t, h.log.text.String(), "hi\"")
	}
}

func TestWindowPasses(t *testing.T) {
	h := open(t, memory.New(), `rules: [{id: r, limit: {runs: 2, per: user, every: 1h}, action: block}]`, hello(0))
	require.Equal(t, "bot: hello", h.say("a"))
	h.now = h.now.Add(10 * time.Minute)
	require.Equal(t, "bot: hello", h.say("b"))
	require.Contains(t, h.say("a"), used+"; try again in 55m. [DENIED]")
	h.now = h.now.Add(54 * time.Minute)
	require.Contains(t, h.say("a"), "; try again in 1m. [DENIED]")
	h.now = h.now.Add(time.Minute)
	require.Equal(t, "bot: hello", h.say("a"))
	require.Len(t, h.counts("a"), 2, "what has expired is deleted")
	require.Contains(t, h.say("a"), "DENIED")
	h.now = h.now.Add(1000 * time.Hour)
	require.Equal(t, "bot: hello", h.say("c"))
	require.Len(t, h.counts("a"), 1)
}

// A rewind refunds nothing, a fork is another session, and a restart changes nothing.
func TestCountsLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	const rules = `rules: [{id: s, limit: {runs: 2, per: session}, action: block, message: Of the session.}, {id: u, limit: {tokens: 100, per: user}, action: block, message: Of the user.}]`
	store := func() session.Service {
		s, err := sqlite.Open(ctx, file)
		require.NoError(t, err)
		return s
	}
	first := store()
	h := open(t, first, rules, hello(30))
	a := session.Key{App: "app", User: "ann", ID: "a"}
	require.Equal(t, "bot: hello", h.say("a"))
	require.NotContains(t, strings.Join(h.run(a, rewind.To(0).Event()), "\n"), "DENIED")
	require.Equal(t, "bot: hello", h.say("a"))
	h.run(a, rewind.To(0).Event())
	require.Contains(t, h.say("a"), "Of the session.")
	require.NoError(t, h.runner.Close(ctx))
	require.NoError(t, first.Close())

	second := store()
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	h = open(t, second, rules, hello(30))
	require.Contains(t, h.say("a"), "Of the session.")
	_, err := session.Fork(ctx, second, a, 3, "fork")
	require.NoError(t, err)
	require.Equal(t, "bot: hello", h.say("fork"))
	require.Equal(t, "bot: hello", h.say("fork"))
	require.Contains(t, h.say("b"), "Of the user.")
}
