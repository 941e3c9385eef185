package policy

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// turns is a model that answers in turn.
type turns struct{ list []*genai.Part }

func (m *turns) Generate(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		next := m.list[0]
		m.list = m.list[1:]
		yield(
			&model.Response{
				Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{next}},
			},
			nil,
		)
	}
}

// recorded is a session that was held to a policy: the agent reads a page and is asked about the
// mail that it sends then. It returns the session's file, and how often a rule found something at a
// stage, as the plugin noted it.
func recorded(t *testing.T, pol *policy.Policy) (file string, noted map[string]int) {
	ctx := t.Context()
	var said bytes.Buffer
	guard, err := guardrail.New(
		guardrail.Config{Policy: pol, Log: slog.New(slog.NewJSONHandler(&said, nil))})
	require.NoError(t, err)
	call := func(name string, args map[string]any) *genai.Part {
		return &genai.Part{
			FunctionCall: &genai.FunctionCall{ID: "c-" + name, Name: name, Args: args},
		}
	}
	does := func(name string, result map[string]any) *tool.Tool {
		return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name, Description: name},
			Run: func(context.Context, *tool.Call) (map[string]any, error) { return result, nil }}
	}
	bot, err := llm.New(llm.Config{Name: "bot", Model: &turns{[]*genai.Part{
		call("send", map[string]any{"to": "bob"}), call("fetch", nil), call("send", map[string]any{
			"to": "eve",
		}), {Text: "all done"}, {Text: "bye"},
	}}, Tools: []*tool.Tool{
		does("fetch", map[string]any{"page": "please hush"}),
		does("send", map[string]any{"ok": true}),
	}})
	require.NoError(t, err)
	svc := memory.New()
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: svc, Plugins: []*plugin.Plugin{guard}})
	require.NoError(t, err)
	key := session.Key{App: "shop", User: "ann", ID: "s"}
	noted = map[string]int{}
	asked := ""
	for _, input := range []func() *session.Event{
		func() *session.Event { return session.Message("hush: read it and mail it") },
		func() *session.Event {
			return &session.Event{
				Actions: session.Actions{
					RequestedToolConfirmations: map[string]session.Confirmation{
						asked: {Confirmed: true},
					},
				},
			}
		},
		func() *session.Event { return session.Message("thanks, done?") },
	} {
		for e, err := range r.Run(ctx, key, input(), session.RunConfig{Create: true}) {
			require.NoError(t, err)
			for id := range e.Actions.RequestedToolConfirmations {
				asked = id
			}
			if note, ok := guardrail.NoteOf(e); ok && e.Author != session.PluginPrefix+guard.Name {
				for _, rec := range note.Records {
					noted[rec.Rule+" "+string(rec.Stage)+" "+string(rec.Action)] += rec.Count
				}
			}
		}
	}
	require.NoError(t, r.Close(ctx))
	for line := range strings.Lines(said.String()) { // what was found in prompts is in the log alone
		var rec struct {
			Rule   string `json:"rule"`
			Stage  string `json:"stage"`
			Action string `json:"action"`
			Count  int    `json:"count"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &rec))
		if rec.Stage == string(policy.Prompt) {
			noted[rec.Rule+" "+rec.Stage+" "+rec.Action] += rec.Count
		}
	}
	var log bytes.Buffer
	require.NoError(t, session.Export(ctx, svc, key, &log))
	file = filepath.Join(t.TempDir(), "s.JSONL")
	require.NoError(t, os.WriteFile(file, log.Bytes(), 0o600))
	return file, noted
}

// A session that ran under a policy is replayed under it: the same rules find the same, with calls
// that were held, and answers that made the session one that is not trusted, as they were.
func TestPolicyReplayIsTheRun(t *testing.T) {
	const text = `
rules:
  - {id: words, detect: {words: [hush, done]}, action: flag}
  - {id: send, stages: [tool_args], scope: {tool: send}, trust: untrusted, action: ask}
  - {id: asked, stages: [prompt], detect: {words: [hush, eve]}, action: flag}
  - {id: late, stages: [prompt, output], trust: untrusted, detect: {words: [please]}, action: flag}
`
	pol, err := policy.Parse("p.yaml", []byte(text))
	require.NoError(t, err)
	file, noted := recorded(t, pol)
	require.Equal(
		t,
		[]string{
			"asked prompt flag",
			"late prompt flag",
			"send tool_args ask",
			"words input flag",
			"words output flag",
			"words tool_result flag",
		},
		slices.Sorted(maps.Keys(noted)),
	)

	written := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(written, []byte(text), 0o600))
	var stdout, stderr bytes.Buffer
	p := &cli.Program{Stdin: &bytes.Buffer{}, Stdout: &stdout, Stderr: &stderr}
	require.Zero(
		t,
		p.Run(t.Context(), root(p),
			[]string{"policy", "replay", file, "--policy", written, "--json"}),
		stderr.String(),
	)
	var report replayReport
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report))
	replayed := map[string]int{}
	for _, l := range report.Rules {
		replayed[l.Rule+" "+string(l.Stage)+" "+string(l.Action)] += l.Findings
	}
	require.Equal(t, noted, replayed)
}
