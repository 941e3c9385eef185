package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// One file means one thing, however often it is read.
func TestOneFileOneVerdict(t *testing.T) {
	for name, c := range map[string]struct{ rules, text, after, rule string }{
		"types that are equal": {
			`rules: [{id: r, detect: {regexp: {B: 'x+', A: 'x+', C: 'x+'}}, action: redact}]`,
			"axxb",
			"a[A]b",
			"r",
		},
		"words that are equal": {
			`rules: [{id: r, detect: {words: {B: [heron], A: [heron]}}, action: redact}]`,
			"a heron",
			"a [A]",
			"r",
		},
		"words and an expression": {
			`rules: [{id: r, detect: {words: {B: [heron]}, regexp: {A: heron}}, action: redact}]`,
			"a heron",
			"a [A]",
			"r",
		},
		"the longer": {
			`rules: [{id: r, detect: {regexp: {A: 'x+', B: 'x+y'}}, action: redact}]`,
			"xxy",
			"[B]",
			"r",
		},
		"the stricter": {
			`rules: [{id: r, detect: {regexp: {A: 'x+y', B: 'x+'}}, action: {A: mask, B: redact}}]`,
			"xxy",
			"[B]",
			"r",
		},
		"the stricter of the same": {
			`rules: [{id: r, detect: {regexp: {A: 'x+', B: 'x+'}}, action: {A: replace, B: redact}, with: (x)}]`,
			"xx",
			"[B]",
			"r",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				v := parse(t, c.rules).Judge(policy.Input, policy.Scope{}, c.text)
				require.Equal(t, c.after, v.Text)
				require.Equal(t, c.rule, v.Rule)
			}
		})
	}
}

// The order of rules says nothing: not which text is put in, nor which rule is named, nor how
// findings are ordered.
func TestOrderOfRulesSaysNothing(t *testing.T) {
	rules := []string{
		`{id: b, detect: {words: [heron]}, action: replace, with: (b)}`,
		`{id: a, detect: {regexp: {WORD: heron}}, action: replace, with: (a)}`,
		`{id: c, stages: [input], when: 'text contains "heron"', action: flag}`,
		`{id: e, stages: [output], when: 'text contains "heron"', action: block, message: e}`,
		`{id: d, stages: [output], when: 'text contains "heron"', action: block, message: d}`,
	}
	say := func(s policy.Stage, order []string) string {
		v := parse(t, "rules: ["+strings.Join(order, ", ")+"]").Judge(s, policy.Scope{}, "a heron")
		found := ""
		for _, f := range v.Findings {
			found += " " + f.Rule
		}
		return fmt.Sprint(v.Action, " ", v.Rule, " ", v.Message, ":", found, ": ", v.Text)
	}
	for range len(rules) {
		rules = append(rules[1:], rules[0])
		back := slices.Clone(rules)
		slices.Reverse(back)
		for _, order := range [][]string{rules, back} {
			require.Equal(t, "replace a : c a b: a (a)", say(policy.Input, order))
			require.Equal(t, "block d d: d e a b: a (a)", say(policy.Output, order))
		}
	}
}

// What is wrong is told in the order of the file, and once.
func TestOneFileOneError(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"each once": {
			"rules:\n  - {id: a, detect: {regexp: {B: '(', A: 'x*', c: y}}, action: redact}\n  - {action: blok}\nmode: shadows",
			"guardrail: p.yaml:2:34: error parsing regexp: missing closing ): `(`\n" +
				"p.yaml:2:42: \"x*\" matches the empty text, so it would match everywhere\n" +
				"p.yaml:2:51: a type is capital letters, digits and _, such as EMPLOYEE_ID\n" +
				"p.yaml:3:5: the rule has no id; records and messages name a rule by its id\n" +
				"p.yaml:3:14: \"blok\" is not known here; did you mean \"block\"?\n" +
				"p.yaml:4:7: \"shadows\" is not known here; did you mean \"shadow\"?",
		},
		"an expression": {
			`rules: [{id: a, detect: {regexp: {A: '('}}, action: redact}]`,
			"guardrail: p.yaml:1:38: error parsing regexp: missing closing ): `(`",
		},
		"words": {
			`rules: [{id: a, detect: {words: {A: x}}, action: {A: redact}}]`,
			"guardrail: p.yaml:1:37: this must be a list of words, or an object with a list for each type",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				_, err := policy.Parse("p.yaml", []byte(c.file))
				require.EqualError(t, err, c.want)
			}
		})
	}
}

// A rule that can never apply, or says what nobody hears, is refused; one that can is not.
func TestRulesThatNeverApply(t *testing.T) {
	for rest, want := range map[string]string{
		`stages: [input], trust: untrusted, action: block`:                                "p.yaml:2:37: the rule can never apply: the input is always trusted",
		`stages: [input], scope: {agent: bot}, action: block`:                             "p.yaml:2:45: the rule can never apply: the input belongs to no agent",
		`stages: [output], scope: {tool: x}, action: block`:                               "only texts at the stages tool_args, tool_result and prompt belong to a tool",
		`when: '1 == 2', action: block`:                                                   "p.yaml:2:19: when: it has the same result for every text",
		`when: 'user == "ann" && false', action: block`:                                   "when: it has the same result for every text",
		`when: 'true', action: block`:                                                     "when: it has the same result for every text",
		`detect: {pii: default}, action: redact, message: No.`:                            "p.yaml:2:62: the message is never shown: only block and ask show one",
		`stages: [input, output], trust: untrusted, action: block`:                        "",
		`stages: [input, output], scope: {agent: bot}, action: block`:                     "",
		`stages: [input], scope: {agent: "!bot"}, action: block`:                          "",
		`stages: [input, tool_args], scope: {tool: x}, action: block`:                     "",
		`stages: [tool_args], tools: {deny: [x]}, message: No.`:                           "",
		`stages: [tool_args], action: ask, message: Yes?`:                                 "",
		`mode: shadow, action: block, message: No.`:                                       "",
		`detect: {pii: default}, action: {CREDIT_CARD: block, "*": redact}, message: No.`: "",
		`when: 'now().Hour() < 8', action: block`:                                         "",
		`when: '["a", "b"] | any(# == user)', action: block`:                              "",
	} {
		_, err := policy.Parse("p.yaml", []byte("rules:\n  - {id: a, "+rest+"}\n"))
		if want == "" {
			require.NoError(t, err, rest)
		} else {
			require.ErrorContains(t, err, want, rest)
		}
	}
}

// A condition is true or false: what can be nothing else is refused, and of others it is said when
// they are.
func TestConditionsAreTrueOrFalse(t *testing.T) {
	for condition, want := range map[string]string{
		`text + "1"`:                       "",
		`state.x + "1"`:                    "a number or a text",
		`state.x - 1`:                      "a number",
		`-state.x`:                         "a number",
		`state?.x ?? ""`:                   "a text",
		`tainted ? state.x : "no"`:         "a text",
		`let x = state.x; x + 1`:           "a number or a text",
		`[text]`:                           "",
		`{"a": text}`:                      "",
		`len(text)`:                        "",
		`tool.args`:                        "",
		`let x = tool.args.n; [x]`:         "",
		`text`:                             "",
		`map(files, .size)`:                "",
		`state.x > 1 ? 1 : 2`:              "",
		`tool.args.x in ["a"] ? [1] : nil`: "",
	} {
		_, err := policy.Parse("p.yaml",
			[]byte("rules:\n  - {id: a, when: '"+condition+"', action: block}\n"))
		require.ErrorContains(t, err, "p.yaml:2:", condition)
		require.ErrorContains(t, err, "when: ", condition)
		if want != "" { // otherwise the compiler says it in its own words
			require.ErrorContains(t, err, "its result is "+want+", and must be true or false",
				condition)
		}
	}
	for condition, want := range map[string]string{
		`state.x`:                 "rule a: when: its result is a text, and must be true or false",
		`state.n`:                 "rule a: when: its result is a number, and must be true or false",
		`state.l`:                 "rule a: when: its result is a list, and must be true or false",
		`state`:                   "",
		`state["o"]`:              "rule a: when: its result is an object, and must be true or false",
		`state.missing`:           "rule a: when: its result is missing, and must be true or false; a key that may be missing is written as state?.key ?? false",
		`state?.missing ?? false`: "allow",
		`state.yes`:               "block",
		`not state.yes`:           "allow",
		`state.x == "canary"`:     "block",
	} {
		p, err := policy.Parse("p.yaml",
			[]byte("rules:\n  - {id: a, when: '"+condition+"', action: block}\n"))
		if want == "" {
			require.Error(t, err, condition)
			continue
		}
		require.NoError(t, err, condition)
		v := p.Judge(
			policy.Input,
			policy.Scope{
				State: map[string]any{
					"x":   "canary",
					"n":   1.0,
					"l":   []any{},
					"o":   map[string]any{},
					"yes": true,
				},
			},
			"hi",
		)
		if v.Err == nil {
			require.Equal(t, want, string(v.Action), condition)
			continue
		}
		require.EqualError(t, v.Err, want, condition)
		require.Equal(t, policy.Block, v.Action, "on_error decides")
	}
}
