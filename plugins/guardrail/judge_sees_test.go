package guardrail_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
)

// A judge is sent what the other rules of the policy leave of a text, and the text as it came only
// if its rule says so.
func TestJudgeSeesWhatOtherRulesLeave(t *testing.T) {
	const policies = `
rules:
  - {id: words, detect: {words: {BIRD: [heron, egret]}}, action: redact}
  - {id: trial, mode: shadow, detect: {words: [kite]}, action: redact}
  - {id: topic, judge: {url: %s, timeout: 1m, on_error: block%s}, action: %s}`
	for name, c := range map[string]struct {
		sees, action string
		part         *genai.Part
		want         string
	}{
		"a text": {
			"",
			"flag",
			genai.NewPartFromText("a heron, a kite"),
			"output: a [BIRD], a kite",
		},
		"a text, in parts": {"", "redact", genai.NewPartFromText("a heron, a kite"),
			"output: a [BIRD], a kite"},
		"a text, as it came": {
			", sees: original",
			"flag",
			genai.NewPartFromText("a heron"),
			"output: a heron",
		},
		"a call": {"", "flag", &genai.Part{FunctionCall: call("fetch", map[string]any{
			"egret": []any{"a heron", 1.0}, "b": `{"x": "heron"}`})},
			`tool_args: {"[BIRD]":["a [BIRD]",1],"b":"{\"x\": \"[BIRD]\"}"}`},
		"a call, as it came": {", sees: original", "flag",
			&genai.Part{
				FunctionCall: call("fetch", map[string]any{"b": "heron"}),
			}, `tool_args: {"b":"heron"}`},
	} {
		t.Run(name, func(t *testing.T) {
			court := answered(t, `{"flagged": false}`)
			p := plug(t, guardrail.Config{
				Policy: parse(t, fmt.Sprintf(policies, court.URL, c.sees, c.action)),
			})
			offered(t, p, says("bot", c.part))
			require.Contains(t, court.texts(), c.want)
		})
	}
}

// What a judge flags in the text that it was sent is taken out of the text as it came.
func TestJudgeFlagsBehindWhatIsTakenOut(t *testing.T) {
	for text, want := range map[string]string{ // the judge flags bytes 7 and 8 of what it is sent
		"heron: xx.":   "[BIRD]:[A]x.", // it was sent [BIRD]: xx.
		"x, heron, y.": "x, [A], y.",   // x, [BIRD], y.
		"seven: éa":    "seven: [A]a",  // no other rule finds anything
		"heron egret":  "[BIRD] [A]",   // [BIRD] [BIRD]
	} {
		court := answered(t, `{"flagged": true, "type": "A", "findings": [{"start": 7, "end": 9}]}`)
		p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: words, stages: [input], detect: {words: {BIRD: [heron, egret]}}, action: redact}
  - {id: topic, stages: [input], judge: {url: %s, timeout: 1m, on_error: block}, action: redact}`, court.URL))})
		got, _ := offered(t, p, input(text))
		t.Log(court.texts())
		require.Equal(t, want, got.Text())
	}
}
