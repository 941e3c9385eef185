package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A finding of a flow says from which event the data came.
func TestFlowsSayWhereFrom(t *testing.T) {
	p := parse(t, `
rules:
  - {id: a, from: {tool: "read_*"}, to: {tool: send}, action: block}
  - {id: b, stages: [output], when: 'turn.flagged("SECRET")', detect: {words: [heron]}, action: redact}
`)
	seen := []policy.Seen{
		{Tool: "clock", Event: "e1", Turn: "t1"},
		{Tool: "read_mail", Event: "e2", Turn: "t1"},
		{Rule: "s", Type: "SECRET", Event: "e3", Turn: "t2"},
	}
	v := p.Judge(policy.ToolArgs, policy.Scope{Tool: "send", Seen: seen, Turn: "t3"}, "x")
	require.Equal(t, policy.Block, v.Action)
	require.Equal(t, "e2", v.Findings[0].From)
	require.Equal(t, "It comes after an answer of read_mail (event e2).", v.Origin)
	require.Equal(t, policy.Allow, p.Judge(policy.ToolArgs, policy.Scope{Tool: "look", Seen: seen}, "x").Action)
	require.Equal(t, policy.Allow, p.Judge(policy.ToolArgs, policy.Scope{Tool: "send", Seen: seen[:1]}, "x").Action)

	v = p.Judge(policy.Output, policy.Scope{Seen: seen, Turn: "t2"}, "a heron")
	require.Equal(t, "a [WORD]", v.Text)
	require.Equal(t, "It comes after what the rule s found in a text (event e3).", v.Origin)
	require.Equal(t, "a heron", p.Judge(policy.Output, policy.Scope{Seen: seen, Turn: "t3"}, "a heron").Text)
}

func TestFlowsRefuse(t *testing.T) {
	for rule, want := range map[string]string{
		"from: {tool: a}, to: {tool: b, answer: true}, action: block":       "to: is one of",
		"from: {tool: a}, to: {answer: false}, action: block":               "to: is one of",
		"from: {within: turn}, to: {tool: b}, action: block":                "from: names no source",
		"from: {tool: a, within: week}, to: {tool: b}, action: block":       `"week" is not known here`,
		"to: {tool: b}, action: block":                                      "to: says where data go that come from",
		"from: {tool: a}, to: {tool: b}, stages: [output], action: block":   "to: stands for stages",
		"from: {tool: a}, to: {tool: b}, scope: {tool: c}, action: block":   "to: stands for scope.tool",
		"from: {found: [hint]}, to: {tool: b}, action: block":               `no rule has the id "hint"`,
		`stages: [output], when: 'session.flagged("hint")', action: block`:  `no rule has the id "hint"`,
		`stages: [output], when: 'session.flagged(agent)', action: block`:   "write the name of a rule, or a type, in quotes",
		`stages: [output], when: 'session.flaged("SECRET")', action: block`: "flaged",
		`stages: [output], when: 'session != nil', action: block`:           "when: ",
		"from: {}, to: {tool: b}, action: block":                            "from has no value",
		"from: {tool: a}, to: {links: {allow: ['a b']}}, action: redact":    "no entry of an allow-list",
		"from: {tool: a}, to: {links: {allow: []}}, tools: {deny: [a]}":     "to: stands for tools",
	} {
		_, err := policy.Parse("p.yaml", []byte("rules: [{id: a, "+rule+"}]"))
		require.ErrorContains(t, err, want, rule)
		require.ErrorContains(t, err, "p.yaml:1:", rule)
	}
}
