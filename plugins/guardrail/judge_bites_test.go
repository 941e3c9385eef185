package guardrail_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
)

// What a rule of this process blocks is blocked at once: the judges of the other texts are not waited for.
func TestLocalBlocksEndTheHearing(t *testing.T) {
	court := answered(t, hang)
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: word, stages: [output], detect: {words: [heron]}, action: block, message: No birds.}
  - {id: topic, stages: [tool_args], judge: {url: %s, timeout: 1s, on_error: block}, action: block}`, court.URL))})
	out, err := p.OnEvent(ctx, invocation(), says("bot", &genai.Part{Text: "a heron"}, &genai.Part{FunctionCall: call("fetch", map[string]any{"a": "x"})}))
	require.NoError(t, err)
	require.Equal(t, "No birds.", out.Emit[0].Text())
	n, ok := guardrail.NoteOf(out.Emit[0])
	require.True(t, ok)
	require.False(t, slices.ContainsFunc(n.Records, func(r guardrail.Record) bool { return r.Rule == "topic" }), "%v", n.Records)
}

// A text that is too long for the policy goes to no judge.
func TestJudgesSeeNoLongTexts(t *testing.T) {
	court := answered(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		_, _ = fmt.Fprint(w, `{"flagged": false}`)
	})
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
limits: {max_bytes: 5, over_limit: flag}
rules:
  - {id: topic, stages: [input], judge: {url: %s, timeout: 1m, on_error: block}, action: block}`, court.URL))})
	for _, text := range []string{"12345", "123456"} {
		out, err := p.OnEvent(ctx, invocation(), input(text))
		require.NoError(t, err)
		require.False(t, out.Stop)
	}
	require.Equal(t, []string{"input: 12345"}, court.texts())
}
