package policy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// What rules make of a text, or a call, is the same in whatever order they stand, and a rule more
// makes it no more lenient.
func TestOrderOfRulesDoesNotMatter(t *testing.T) {
	about := rapid.SampledFrom([]string{
		"detect: {pii: default}",
		"detect: {pii: [CREDIT_CARD]}",
		"detect: {secrets: default}",
		"detect: {words: [heron, blue]}",
		"detect: {regexp: '[a-z]+\\d'}",
		"detect: {urls: {allow: [a.example]}}",
		"when: 'text contains \"e\"'",
		"when: 'tool.name == \"shell\"'",
		"detect: {length: {bytes: 40}}",
	})
	does := rapid.SampledFrom([]string{
		"flag",
		"mask",
		"hash",
		"replace, with: <gone>",
		"redact",
		"ask",
		"block",
		"block, message: No.",
		"redact, mode: shadow",
		"redact, trust: untrusted",
	})
	tools := rapid.SampledFrom([]string{
		`deny: ["shell(rm *)"]`,
		`ask: ["shell(*)"], allow: [send]`,
		`allow: ["shell(ls *)"], other: ask`,
		`deny: [send], allow: ["shell(rm *)"]`,
	})
	texts := rapid.SampledFrom([]string{
		"a heron",
		"4111 1111 1111 1111",
		"ann@example.com at https://b.example/x1",
		"password: hunter2hunter2Z!, blue heron a1",
		"é",
		"the blue https://a.example/y 4111-1111-1111-1111 ann@example.com",
	})
	scopes := rapid.SampledFrom([]policy.Scope{
		{},
		{Tool: "shell", Args: map[string]any{"command": "ls; rm x"}},
		{Tool: "shell", Args: map[string]any{"command": "ls"}},
		{Tool: "send", Taint: []string{"web"}},
	})
	rapid.Check(t, func(t *rapid.T) {
		var rules []string
		for i := range rapid.IntRange(2, 6).Draw(t, "rules") {
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				rules = append(rules, fmt.Sprintf("{id: r%d, stages: [tool_args], tools: {%s}}", i,
					tools.Draw(t, "tools")))
				continue
			}
			action := does.Draw(t, "does")
			stages := "output, tool_args"
			if strings.HasPrefix(action, "ask") { // only calls are asked about
				stages = "tool_args"
			}
			rules = append(rules, fmt.Sprintf("{id: r%d, stages: [%s], %s, action: %s}", i, stages,
				about.Draw(t, "about"), action))
		}
		stage := rapid.SampledFrom([]policy.Stage{policy.Output, policy.ToolArgs}).Draw(t, "stage")
		scope, text := scopes.Draw(t, "scope"), texts.Draw(t, "text")
		verdict := func(rules []string) policy.Verdict {
			p, err := policy.Parse("p.yaml", []byte(
				"{command_tools: {shell: {line: command}}, rules: ["+strings.Join(rules, ", ")+"]}",
			))
			if err != nil { // one covers another, say
				t.Skip(err)
			}
			v := p.Judge(stage, scope, text)
			v.Revision, v.Took, v.Text = "", 0, keyless(v.Text)
			return v
		}
		all := verdict(rules)
		require.Equal(t, all, verdict(rapid.Permutation(rules).Draw(t, "order")))
		fewer := verdict(rules[:len(rules)-1])
		require.GreaterOrEqual(t, strictness(all.Action), strictness(fewer.Action))
	})
}

func strictness(a policy.Action) int {
	return slices.Index(strings.Fields("allow flag mask vault hash replace redact ask block"),
		string(a))
}

// keyless returns a text without what depends on a key.
func keyless(text string) string {
	return regexp.MustCompile(`\[([A-Z_]+)[:#][\w-]+\]`).ReplaceAllString(text, "[$1]")
}
