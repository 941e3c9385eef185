package guardrail_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
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

// A plugin answers in a model's place with calls of one id, or without any. No call that the policy
// denies or asks about runs, in whichever order they stand.
func TestCallsOfAPluginWithOneIDOrNone(t *testing.T) {
	for name, text := range map[string]string{
		"denied":    `{rules: [{id: money, stages: [tool_args], scope: {tool: pay}, action: block}]}`,
		"asked":     `{rules: [{id: money, stages: [tool_args], scope: {tool: pay}, action: ask}]}`,
		"unpinned":  `{pin_tools: [pay]}`,
		"all asked": `{rules: [{id: money, stages: [tool_args], action: ask}]}`,
	} {
		for _, id := range []string{"c", ""} {
			for _, order := range [][]string{
				{"pay", "look"},
				{"look", "pay"},
				{"pay", "pay", "look"},
			} {
				t.Run(name+", "+id, func(t *testing.T) {
					file := pinning(t, t.TempDir(), text)
					var ran []string
					var tools []*tool.Tool
					for _, name := range []string{"pay", "look"} {
						tools = append(tools, &tool.Tool{
							Declaration: &genai.FunctionDeclaration{Name: name},
							Run: func(context.Context, *tool.Call) (map[string]any, error) {
								ran = append(ran, name)
								return map[string]any{"done": true}, nil
							},
						})
					}
					cache := &plugin.Plugin{
						Name: "cache",
						BeforeModel: func(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
							if len(inv.Live) > 1 {
								return plugin.Outcome{}, nil
							}
							made := &session.Event{Content: &genai.Content{Role: genai.RoleModel}}
							for _, name := range order {
								call := &genai.FunctionCall{ID: id, Name: name}
								made.Content.Parts = append(made.Content.Parts,
									&genai.Part{FunctionCall: call})
							}
							return plugin.Outcome{Emit: []*session.Event{made}, Withhold: true}, nil
						},
					}
					guard, err := guardrail.New(
						guardrail.Config{File: file, Log: slog.New(slog.DiscardHandler)})
					require.NoError(t, err)
					m := &answers{list: []any{"done"}}
					bot, err := llm.New(llm.Config{Name: "bot", Model: m, Tools: tools})
					require.NoError(t, err)
					sessions := memory.New()
					r, err := runner.New(runner.Options{
						Agent:    bot,
						Sessions: sessions,
						Plugins:  []*plugin.Plugin{cache, guard},
					})
					require.NoError(t, err)
					input := session.Message("go")
					for _, err := range r.Run(ctx, key, input, session.RunConfig{Create: true}) {
						require.NoError(t, err)
					}
					require.NoError(t, r.Close(ctx))
					require.NotContains(t, ran, "pay", "nobody has approved it")
					if name != "all asked" {
						require.Equal(t, []string{"look"}, ran)
					}
					live, err := session.Snapshot(ctx, sessions, key)
					require.NoError(t, err)
					for _, c := range session.Calls(live.Live) {
						held := c.Held != nil && c.Name == "pay" || name == "all asked"
						require.True(t, c.Response != nil || held, "%s %s waits for ever", c.Name,
							c.ID)
					}
				})
			}
		}
	}
}
