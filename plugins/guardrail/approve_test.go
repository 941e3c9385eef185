package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A call that the policy approves is marked, and its note says by which rule. It is not if any other rule has a word in it,
// if the rule is in shadow, or if another call of the same event is not approved.
func TestApprovedCalls(t *testing.T) {
	const approves = `{id: looks, tools: {approve: ["effects(reads)"]}}`
	send := func(text string) *genai.Part {
		return genai.NewPartFromFunctionCall("send", map[string]any{"to": "a@b", "text": text})
	}
	for name, c := range map[string]struct {
		rules string
		calls []*genai.Part
		want  bool
	}{
		"it reads":               {rules: approves, calls: []*genai.Part{send("git log | head")}, want: true},
		"it writes":              {rules: approves, calls: []*genai.Part{send("git log > log")}},
		"one of two":             {rules: approves, calls: []*genai.Part{send("ls -l /tmp"), send("touch /tmp/x")}},
		"both":                   {rules: approves, calls: []*genai.Part{send("ls -l /tmp"), send("cat /tmp/x")}, want: true},
		"in shadow":              {rules: `{id: looks, mode: shadow, tools: {approve: ["effects(reads)"]}}`, calls: []*genai.Part{send("ls -l /tmp")}},
		"another rule asks":      {rules: approves + `, {id: asks, tools: {ask: ["send(ls*)"]}}`, calls: []*genai.Part{send("ls -l /tmp")}},
		"another rule flags":     {rules: approves + `, {id: flags, stages: [tool_args], detect: {words: [tmp]}, action: flag}`, calls: []*genai.Part{send("ls -l /tmp")}},
		"another rule in shadow": {rules: approves + `, {id: s, mode: shadow, tools: {deny: [send]}}`, calls: []*genai.Part{send("ls -l /tmp")}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Parse("p.yaml", []byte("version: 1\ncommand_tools: {send: {line: text}}\nrules: ["+c.rules+"]"))
			require.NoError(t, err)
			s := stage(t, guardrail.Config{Policy: p}, c.calls, "Done.")
			var asked bool
			for _, e := range s.events("Look.") {
				if len(e.FunctionCalls()) == 0 {
					continue
				}
				asked = true
				_, approved := plugin.Approved(e)
				assert.Equal(t, c.want, approved)
				if n, ok := guardrail.NoteOf(e); c.want {
					require.True(t, ok)
					assert.Equal(t, policy.Approve, n.Records[0].Action)
				}
			}
			require.True(t, asked)
		})
	}
}
