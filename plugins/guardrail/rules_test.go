package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
)

const ruled = `
trusted_tools: [clock]
rules:
  - {id: words, stages: [input, tool_result], detect: {words: [hush]}, action: redact}
  - {id: mails, stages: [tool_args], scope: {tool: send_*}, action: block}
  - {id: web, stages: [output], trust: untrusted, mode: shadow, action: block}
tests:
  - {name: hush, stage: input, text: hush, want: redact}
`

func TestRules(t *testing.T) {
	p := parse(t, ruled)
	rules := p.Rules()
	require.Len(t, rules, 3)
	require.Equal(t, "words", rules[0].ID)
	require.Equal(t, []guardrail.Stage{guardrail.Input, guardrail.ToolResult}, rules[0].Stages)
	require.False(t, rules[0].Shadow)
	require.True(t, rules[2].Shadow)
	require.Len(t, p.Tests(), 1)

	for name, c := range map[string]struct {
		rule  int
		stage guardrail.Stage
		scope guardrail.Scope
		want  string
	}{
		"its stage":      {0, guardrail.Input, guardrail.Scope{}, ""},
		"another stage":  {0, guardrail.Output, guardrail.Scope{}, "it is not about this stage"},
		"its tool":       {1, guardrail.ToolArgs, guardrail.Scope{Tool: "send_mail"}, ""},
		"another tool":   {1, guardrail.ToolArgs, guardrail.Scope{Tool: "read_mail"}, "it is about another tool: send_*"},
		"nothing read":   {2, guardrail.Output, guardrail.Scope{}, "it is about what is not trusted"},
		"something read": {2, guardrail.Output, guardrail.Scope{Taint: []string{"fetch"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, rules[c.rule].Silent(c.stage, c.scope))
			asked := p.Only(rules[c.rule].ID).Judge(c.stage, c.scope, "hush").Findings
			require.Equal(t, c.want == "", len(asked) > 0, "what is silent finds nothing, what is not does")
		})
	}
}

func TestInShadow(t *testing.T) {
	p := parse(t, ruled)
	v := p.InShadow().Judge(guardrail.Input, guardrail.Scope{}, "hush now")
	require.Equal(t, guardrail.Allow, v.Action)
	require.Equal(t, "hush now", v.Text)
	require.Equal(t, guardrail.Redact, v.Findings[0].Would)
	require.Equal(t, "[WORD] now", p.Judge(guardrail.Input, guardrail.Scope{}, "hush now").Text, "the policy itself is as it was")
}

func TestOnly(t *testing.T) {
	p := parse(t, ruled)
	require.Equal(t, p.Revision(), p.Only("mails").Revision())
	require.Empty(t, p.Only("mails").Judge(guardrail.Input, guardrail.Scope{}, "hush").Findings)
	require.Empty(t, p.Only("no such rule").Rules())
	require.Len(t, p.Rules(), 3)
}

func TestActions(t *testing.T) {
	list := guardrail.Actions()
	require.Equal(t, guardrail.Allow, list[0])
	require.Equal(t, guardrail.Block, list[len(list)-1])
}
