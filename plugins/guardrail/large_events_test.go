package guardrail_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// large is events that take minutes where the work is in proportion to the square of what they
// have.
func large(t testing.TB) map[string]struct {
	p *plugin.Plugin
	e *session.Event
} {
	mails := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("u%d@a.co", i))
		}
		return list
	}
	asJSON := func(v any) string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return string(data)
	}
	args := func(args map[string]any) *session.Event {
		return says("bot", &genai.Part{FunctionCall: call("fetch", args)})
	}
	keys, values := map[string]any{}, []any{}
	for _, mail := range mails(8000) {
		keys[mail] = "b"
	}
	for _, mail := range mails(2000) {
		values = append(values, mail)
	}
	var parts []*genai.Part
	for _, mail := range mails(8000) {
		parts = append(parts, &genai.Part{Text: mail}, &genai.Part{})
	}
	all := quiet(t, guardrail.Config{})
	window := quiet(t, with(t,
		"rules: [{id: a, detect: {pii: [EMAIL_ADDRESS]}, action: redact, window: session}]"))
	return map[string]struct {
		p *plugin.Plugin
		e *session.Event
	}{
		"8000 keys": {all, args(map[string]any{"a": keys})},
		"400 KB of JSON": {
			all,
			args(map[string]any{"a": asJSON(mails(28000))}),
		},
		"400 KB in a string of JSON": {
			all,
			args(map[string]any{"a": asJSON([]string{strings.Join(mails(28000), " ")})}),
		},
		"512 KB with an invisible character": {
			all,
			says("bot", &genai.Part{Text: strings.Repeat("ann@example.com ", 32<<10) + "\u200b"}),
		},
		"512 KB, every other in disguise": {
			all,
			says(
				"bot",
				&genai.Part{Text: strings.Repeat("ann@example.com bo\u200bb@example.com ", 15<<10)},
			),
		},
		"2000 short values in a window":    {window, args(map[string]any{"a": values})},
		"a text in 8000 parts":             {all, says("bot", parts...)},
		"a text in 8000 parts in a window": {window, says("bot", parts...)},
	}
}

func TestLargeEvents(t *testing.T) {
	for name, c := range large(t) {
		t.Run(name, func(t *testing.T) {
			got, _ := offered(t, c.p, c.e)
			require.NotContains(t, inJSON(got), "@")
		})
	}
}

func BenchmarkLargeEvents(b *testing.B) {
	for name, c := range large(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				offered(b, c.p, c.e)
			}
		})
	}
}
