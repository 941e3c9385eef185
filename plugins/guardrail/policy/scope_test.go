package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A rule is about a scope if all that it names there is so.
func TestScopes(t *testing.T) {
	whole := policy.Scope{
		App:    "a1",
		User:   "a2",
		Agent:  "a3",
		Branch: "a4",
		Tool:   "a5",
		State:  map[string]any{"user:tenant": "a6"},
	}
	for name, change := range map[string]func(*policy.Scope){
		"app": func(s *policy.Scope) { s.App = "b" }, "user": func(s *policy.Scope) { s.User = "b" }, "agent": func(s *policy.Scope) { s.Agent = "b" },
		"branch": func(s *policy.Scope) { s.Branch = "b" }, "tool": func(s *policy.Scope) { s.Tool = "b" }, "tenant": func(s *policy.Scope) { s.State = map[string]any{"user:tenant": "b"} },
	} {
		other := whole
		change(&other)
		for _, rule := range []string{
			"{" + name + ": 'a?'}",
			"{" + name + ": ['*', '!b']}",
			"{app: a*, user: a*, agent: a*, branch: a*, tool: a*, tenant: a*}",
		} {
			p := parse(
				t,
				"{tenant_key: 'user:tenant', rules: [{id: r, stages: [tool_args], scope: "+rule+", action: flag}]}",
			)
			require.Equal(t, policy.Flag, p.Judge(policy.ToolArgs, whole, "x").Action, "%s: %s",
				name, rule)
			require.Equal(t, policy.Allow, p.Judge(policy.ToolArgs, other, "x").Action, "%s: %s",
				name, rule)
			require.Empty(t, p.Rules()[0].Silent(policy.ToolArgs, whole))
			require.Regexp(t, "^it is about another "+name+`: (a\?|\*, !b|a\*)$`,
				p.Rules()[0].Silent(policy.ToolArgs, other))
		}
	}
}

// Of a length in bytes and one in tokens, four bytes each, the shorter counts.
func TestLengths(t *testing.T) {
	for length, want := range map[string]int{
		"{bytes: 10}":              10,
		"{tokens: 10}":             40,
		"{bytes: 100, tokens: 10}": 40,
		"{bytes: 10, tokens: 100}": 10,
		"{bytes: 40, tokens: 10}":  40,
	} {
		p := parse(t, "rules: [{id: r, detect: {length: "+length+"}, action: flag}]")
		require.Equal(t, policy.Allow,
			p.Judge(policy.Input, policy.Scope{}, strings.Repeat("a", want)).Action, length)
		require.Equal(t, policy.Flag,
			p.Judge(policy.Input, policy.Scope{}, strings.Repeat("a", want+1)).Action, length)
	}
}

// A mask shows the end of what was found, and of nothing else: not of findings that overlap, nor of
// one in another view.
func TestMasks(t *testing.T) {
	for rules, c := range map[string][2]string{
		"{A: 'abcdefgh'}":                  {"x abcdefgh y", "x ****efgh y"},
		"{A: 'abcdefg'}":                   {"x abcdefg y", "x ******* y"},
		"{A: 'abcdefgh', B: 'efghijklmn'}": {"x abcdefghijklmn y", "x [A] y"},
		"{A: 'cdefghijkl', B: 'abcdefgh'}": {"x abcdefghijkl y", "x [B] y"},
		"{A: 'a.b'}":                       {"x a\xffb y", "x *** y"},
		"{A: 'heronheron'}":                {"x aGVyb25oZXJvbg== y", "x [A] y"},
	} {
		require.Equal(
			t,
			c[1],
			parse(
				t,
				"rules: [{id: r, detect: {regexp: "+rules+"}, action: mask}]",
			).Judge(policy.Input, policy.Scope{}, c[0]).
				Text,
			rules,
		)
	}
}
