package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// herons is a policy that redacts a word.
const herons = `rules: [{id: r, detect: {words: [heron]}, action: redact}]`

// A text as long as max_bytes is judged; a longer one is not.
func TestLongestText(t *testing.T) {
	p := parse(t, "limits: {max_bytes: 5}\n"+herons)
	require.Equal(t, "[WORD]", p.Judge(policy.Input, policy.Scope{}, "heron").Text)
	require.Equal(t, "limits.max_bytes", p.Judge(policy.Input, policy.Scope{}, "heron.").Rule)
	v := parse(
		t,
		"limits: {max_bytes: 5, over_limit: flag}\n"+herons,
	).Judge(policy.Input, policy.Scope{}, "heron.")
	require.Equal(t, policy.Flag, v.Action)
	require.Len(t, v.Findings, 1, "it is not looked into")
}

// A policy may have a rule of the same thing in each window.
func TestWindowsAreRulesOfTheirOwn(t *testing.T) {
	parse(
		t,
		`rules: [{id: a, detect: {secrets: default}, action: block}, {id: b, window: turn, detect: {secrets: default}, action: block}, {id: c, window: session, detect: {secrets: default}, action: flag}]`,
	)
}

// What a rule allows of what it finds is no finding.
func TestTypesThatAreAllowed(t *testing.T) {
	v := parse(
		t,
		`rules: [{id: r, detect: {pii: [EMAIL_ADDRESS, CREDIT_CARD]}, action: {EMAIL_ADDRESS: allow, "*": redact}}]`,
	).Judge(policy.Input, policy.Scope{}, "ann@example.com 4111 1111 1111 1111")
	require.Equal(t, "ann@example.com [CREDIT_CARD]", v.Text)
	require.Len(t, v.Findings, 1)
}

// An answer of a tool is untrusted unless the tool is, whatever the session has read; anything else
// by what it has.
func TestWhatIsUntrusted(t *testing.T) {
	p := parse(
		t,
		`{trusted_tools: [mine], rules: [{id: r, trust: untrusted, detect: {words: [heron]}, action: redact}]}`,
	)
	for _, c := range []struct {
		stage policy.Stage
		tool  string
		taint []string
		found bool
	}{
		{
			policy.ToolResult,
			"web",
			nil,
			true,
		}, {
			policy.ToolResult,
			"mine",
			nil,
			false,
		}, {policy.ToolResult, "mine", []string{"web"}, false},
		{
			policy.Output,
			"",
			nil,
			false,
		}, {
			policy.Output,
			"",
			[]string{"web"},
			true,
		}, {
			policy.ToolArgs,
			"mine",
			[]string{"web"},
			true,
		}, {policy.Summary, "", []string{"web"}, true},
		{policy.Input, "", []string{"web"}, false},
	} {
		v := p.Judge(c.stage, policy.Scope{Tool: c.tool, Taint: c.taint}, "a heron")
		require.Equal(t, c.found, v.Action == policy.Redact, "%+v", c)
	}
}

// What a rule about a text as a whole says of it: that it is too long, or that it is there.
func TestTypesOfWholeTexts(t *testing.T) {
	for rule, want := range map[string]string{
		"detect: {length: {bytes: 3}}": "LENGTH",
		`when: 'text contains "h"'`:    "TEXT",
	} {
		v := parse(
			t,
			`rules: [{id: r, `+rule+`, action: flag}]`,
		).Judge(policy.Input, policy.Scope{}, "a heron")
		require.Len(t, v.Findings, 1)
		require.Equal(t, want, v.Findings[0].Type)
	}
}
