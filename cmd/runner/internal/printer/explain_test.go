package printer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/printer"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// What a plugin may hide is not explained: the texts of an event, and names and codes that a model can
// make up.
func TestExplainQuotesNothing(t *testing.T) {
	e := &session.Event{ID: "e", Author: "bot"}
	e.ErrorCode = "SECRET_CODE"
	e.ErrorMessage = "secret message"
	e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		genai.NewPartFromText("secret text"),
		{
			FunctionCall: &genai.FunctionCall{
				Name: "secret_tool",
				Args: map[string]any{"secret": "secret"},
			},
		},
		{FunctionResponse: &genai.FunctionResponse{Name: "secret_answer"}},
	}}
	var out strings.Builder
	explain := printer.Explain(&out, []*plugin.Plugin{{Name: "guardrail"}})
	explain(runner.HookCall{
		Plugin:  "guardrail",
		Hook:    plugin.OnEvent,
		Event:   e,
		Outcome: plugin.Outcome{Withhold: true, Reason: "rule names"},
	})
	require.Equal(
		t,
		"explain: event e (bot: text, call of a tool, response of a tool, error): guardrail: withheld: rule names\n",
		out.String(),
	)
}
