package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
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
	require.Equal(t, []policy.Stage{policy.Input, policy.ToolResult}, rules[0].Stages)
	require.False(t, rules[0].Shadow)
	require.True(t, rules[2].Shadow)
	require.Len(t, p.Tests(), 1)

	for name, c := range map[string]struct {
		rule  int
		stage policy.Stage
		scope policy.Scope
		want  string
	}{
		"its stage": {0, policy.Input, policy.Scope{}, ""},
		"another stage": {
			0,
			policy.Output,
			policy.Scope{},
			"it is about input, tool_result, and this is output",
		},
		"its tool": {1, policy.ToolArgs, policy.Scope{Tool: "send_mail"}, ""},
		"another tool": {
			1,
			policy.ToolArgs,
			policy.Scope{Tool: "read_mail"},
			"it is about another tool: send_*",
		},
		"nothing read":   {2, policy.Output, policy.Scope{}, "it is about what is not trusted"},
		"something read": {2, policy.Output, policy.Scope{Taint: []string{"fetch"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, rules[c.rule].Silent(c.stage, c.scope))
			asked := p.Only(rules[c.rule].ID).Judge(c.stage, c.scope, "hush").Findings
			require.Equal(t, c.want == "", len(asked) > 0,
				"what is silent finds nothing, what is not does")
		})
	}
}

func TestInShadow(t *testing.T) {
	p := parse(t, ruled)
	v := p.InShadow().Judge(policy.Input, policy.Scope{}, "hush now")
	require.Equal(t, policy.Allow, v.Action)
	require.Equal(t, "hush now", v.Text)
	require.Equal(t, policy.Redact, v.Findings[0].Would)
	require.Equal(t, "[WORD] now", p.Judge(policy.Input, policy.Scope{}, "hush now").Text,
		"the policy itself is as it was")
}

func TestOnly(t *testing.T) {
	p := parse(t, ruled)
	require.Equal(t, p.Revision(), p.Only("mails").Revision())
	require.Empty(t, p.Only("mails").Judge(policy.Input, policy.Scope{}, "hush").Findings)
	require.Empty(t, p.Only("no such rule").Rules())
	require.Len(t, p.Rules(), 3)
}

// A rule finds what fits the types that it lists, whatever types it or other rules are about beside
// them.
func TestRulesFindTheTypesThatTheyList(t *testing.T) {
	p := parse(t, `
rules:
  - {id: uk, detect: {pii: [UK_PASSPORT]}, action: redact}
  - {id: it, detect: {pii: [IT_PASSPORT, EMAIL_ADDRESS]}, action: hash}
  - {id: dates, detect: {pii: default}, action: {DATE_TIME: flag, PHONE_NUMBER: flag}}`)
	rules := func(text string) (ids []string) {
		v := p.Judge(policy.Input, policy.Scope{}, text)
		for _, f := range v.Findings {
			ids = append(ids, f.Rule+" "+f.Type)
		}
		return ids
	}
	require.ElementsMatch(t, []string{"uk UK_PASSPORT", "it IT_PASSPORT"},
		rules("passport AB1234567"))
	require.ElementsMatch(t, []string{"dates DATE_TIME"}, rules("born 1985-05-08"))
}
