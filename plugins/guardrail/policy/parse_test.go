package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
)

func parse(t testing.TB, rules string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p.yaml", []byte(rules))
	require.NoError(t, err)
	return p
}

func TestParseRefuses(t *testing.T) {
	rule := func(rest string) string { return "rules:\n  - {id: a, " + rest + "}\n" }
	for name, c := range map[string]struct{ file, want string }{
		"unknown key": {
			"rule: []",
			`p.yaml:1:1: unknown key "rule"; did you mean "rules"?`,
		},
		"version": {
			"version: 2",
			"p.yaml:1:10: version 2; this program reads version 1",
		},
		"mode": {
			"mode: shadows",
			`p.yaml:1:7: "shadows" is not known here; did you mean "shadow"?`,
		},
		"stage": {
			rule("stages: [inputs], action: block"),
			`p.yaml:2:22: "inputs" is not known here; did you mean "input"?`,
		},
		"no stage": {
			rule("stages: [], action: block"),
			"p.yaml:2:21: the list of stages is empty",
		},
		"no id": {"rules:\n  - {action: block}", "p.yaml:2:5: the rule has no id"},
		"same id": {
			"rules:\n  - {id: a, when: tainted, action: block}\n  - {id: a, action: flag}",
			`p.yaml:3:10: another rule, at 2:10, has the id "a"`,
		},
		"no action": {
			rule("detect: {pii: default}"),
			"p.yaml:2:5: the rule has no action",
		},
		"action": {
			rule("action: blok"),
			`p.yaml:2:21: "blok" is not known here; did you mean "block"?`,
		},
		"type of an action": {
			rule("detect: {pii: [IBAN_CODE]}, action: {IBAN: block}"),
			`p.yaml:2:56: the rule never finds the type "IBAN"; there are IBAN_CODE`,
		},
		"stage twice": {
			rule("stages: [input, output, input], action: block"),
			`stage "input" is empty or there twice`,
		},
		"stage without a name": {
			rule("stages: [''], action: block"),
			`stage "" is empty or there twice`,
		},
		"a list of actions": {
			rule("action: [block]"),
			"this must be an action, or an object with an action for each type",
		},
		"a list for a type": {
			rule("detect: {pii: default}, action: {URL: [block]}"),
			"this must be an action, or an object with an action for each type",
		},
		"no types": {
			rule("detect: {pii: []}, action: block"),
			"an empty list finds nothing; say default for all types",
		},
		"one type": {
			rule("detect: {pii: UK_NINO}, action: block"),
			"p.yaml:2:27: one type is a list, too: write [UK_NINO]",
		},
		"files of calls": {
			rule("stages: [tool_args], when: 'len(files) > 1', action: block"),
			"p.yaml:2:40: calls have no files, so the rule would never have an effect: what a caller says, an agent says or a tool answers has some",
		},
		"an address": {
			"include: [https://a.example/b.yaml]\n" + rule("action: block"),
			"p.yaml:1:11: a policy includes files, and nothing from an address",
		},
		"two in one": {
			"command_tools: {shell: {line: command}}\n" + rule("stages: [tool_args], tools: {deny: ['reads(a), writes(b)']}"),
			"is two patterns: write each as a text of its own",
		},
		"types by number": {
			rule("detect: {pii: 3}, action: block"),
			"pii must be default or a list of types",
		},
		"a word that is none": {
			rule("detect: {words: [3]}, action: block"),
			"this must be a string; put it in quotes",
		},
		"a glob that is none": {
			rule("scope: {app: [3]}, action: block"),
			"a glob must be a string; put it in quotes",
		},
		"an empty glob": {
			rule("scope: {app: '!'}, action: block"),
			`"!" is not a glob`,
		},
		"test without a stage": {
			rule("when: tainted, action: block") + "tests: [{want: block}]",
			"a test needs name, stage and want; this one has no name, no stage",
		},
		"test without a want": {
			rule("when: tainted, action: block") + "tests: [{name: x, stage: input}]",
			"this one has no want",
		},
		"test after a block": {
			rule("when: tainted, action: block") + "tests: [{name: x, stage: input, want: block, after: y}]",
			"after: is the text after an edit, and block does not edit it",
		},
		"less than no limit": {"limits: {max_bytes: -1}", "p.yaml:1:21: max_bytes is -1"},
		"nothing to redact": {
			rule("action: redact"),
			"redact takes out what a detector has found, and the rule has no detector",
		},
		"replace without text": {
			rule("detect: {secrets: default}, action: replace"),
			"replace needs with: TEXT",
		},
		"with without replace": {
			rule("detect: {secrets: default}, action: redact, with: x"),
			"which the rule does not have",
		},
		"ask about a text": {
			rule("stages: [input], action: ask"),
			"only a tool's call can be held until a human answers",
		},
		"allow": {
			rule("action: allow"),
			"a rule that only allows never has an effect",
		},
		"type": {
			rule("detect: {pii: [EMAIL]}, action: block"),
			`p.yaml:2:28: there is no type EMAIL of personal data`,
		},
		"type of a whole": {
			rule("detect: {words: {TEXT: [a]}}, action: redact"),
			"p.yaml:2:36: the type TEXT is reserved for whole texts",
		},
		"regexp": {
			rule("detect: {regexp: 'a('}, action: block"),
			"p.yaml:2:30: error parsing regexp: missing closing )",
		},
		"regexp of nothing": {
			rule("detect: {regexp: 'a*'}, action: block"),
			`"a*" matches the empty text`,
		},
		"when, name": {
			rule("when: 'tol.name == \"x\"', action: block"),
			`p.yaml:2:20: when: unknown name tol; did you mean "tool"?`,
		},
		"when, tool": {
			rule("when: 'user == \"x\" && tool.nam == \"x\"', action: block"),
			`p.yaml:2:40: when: unknown name tool.nam; did you mean "name"?`,
		},
		"when, tool's method": {
			rule("when: 'tool.call()', action: block"),
			`when: unknown name tool.call; there are args, name`,
		},
		"when, tool's key": {
			rule("when: 'tool[\"arg\"] == 1', action: block"),
			`when: unknown name tool.arg; did you mean "args"?`,
		},
		"when, tool itself": {
			rule("when: 'tool == user', action: block"),
			"when: invalid operation: == (mismatched types tool and string)",
		},
		"when, no yes or no": {
			rule("when: 'state', action: block"),
			"when: expected bool, but got object",
		},
		"when, lists": {
			rule("when: 'taint == user', action: block"),
			"when: invalid operation: == (mismatched types list and string)",
		},
		"when, of lines": {
			"rules:\n  - id: a\n    action: block\n    when: |\n      tainted ||\n      tool.nam == user\n",
			`p.yaml:4:11: when: unknown name tool.nam; did you mean "name"?, at its line 2, column 6`,
		},
		"when, type":   {rule("when: '1 + 1', action: block"), "when: "},
		"when, syntax": {rule("when: 'tool.', action: block"), "when: "},
		"when, range": {
			rule("when: 'all(1..1000000, # > 0)', action: block"),
			"ranges (a..b) are not supported",
		},
		"glob": {
			rule("scope: {app: '[a'}, action: block"),
			`"[a" is not a glob`,
		},
		"tenant": {
			rule("scope: {tenant: a}, action: block"),
			"write tenant_key: KEY",
		},
		"tool at no tool": {
			rule("stages: [input], scope: {tool: x}, action: block"),
			"only texts at the stages tool_args, tool_result and prompt belong to a tool",
		},
		"two kinds": {
			rule("detect: {secrets: default, length: {bytes: 1}}, action: block"),
			"move it to a rule of its own",
		},
		"no length": {
			rule("detect: {length: {bytes: 0}}, action: block"),
			"a length must be more than 0",
		},
		"covered": {
			"rules:\n  - {id: all, detect: {pii: default}, action: block}\n  - {id: some, detect: {pii: [IBAN_CODE]}, action: mask}",
			`p.yaml:3:5: the rule "some" never has an effect: the rule "all", at 2:5`,
		},
		"twice": {
			"rules:\n  - {id: a, detect: {secrets: default}, action: flag}\n  - {id: b, detect: {secrets: default}, action: flag}",
			`the rule "b" never has an effect: the rule "a"`,
		},
		"no rules": {
			"limits: {max_bytes: 3}",
			"there are no rules, so the policy would let everything pass",
		},
		"limit": {"limits: {max_bytes: 0}", "p.yaml:1:21: max_bytes is 0"},
		"test": {
			rule("action: block") + "tests:\n  - {name: x, stage: inpt, text: y, want: block}",
			`p.yaml:4:22: "inpt" is not known here; did you mean "input"?`,
		},
		"test's rule": {
			rule("action: block") + "tests:\n  - {name: x, stage: input, text: y, want: block, rule: b}",
			`"b" is not known here`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse("p.yaml", []byte(c.file))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestJudge(t *testing.T) {
	const card, mail = "4111 1111 1111 1111", "ann@example.com"
	for name, c := range map[string]struct {
		policy, text string
		stage        policy.Stage
		scope        policy.Scope
		action       policy.Action
		rule, after  string
	}{
		"strictest, whatever the order": {
			policy: `rules: [{id: m, detect: {pii: [CREDIT_CARD]}, action: mask}, {id: b, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block}, {id: f, action: flag}]`,
			text:   card,
			action: "block",
			rule:   "b",
			after:  "[CREDIT_CARD]",
		},
		"mask": {
			policy: `rules: [{id: m, detect: {pii: [CREDIT_CARD]}, action: mask}]`,
			text:   "is " + card + ".",
			action: "mask",
			rule:   "m",
			after:  "is **** **** **** 1111.",
		},
		"mask of little": {
			policy: `rules: [{id: m, detect: {words: [tiger]}, action: mask}]`,
			text:   "a tiger",
			action: "mask",
			rule:   "m",
			after:  "a *****",
		},
		"mask of marks": {
			policy: `rules: [{id: m, detect: {regexp: 'id=\S+'}, action: mask}]`,
			text:   "id=p@$w!#%&*~①②③④⑤नमस्ते🔑\xff(x)",
			action: "mask",
			rule:   "m",
			after:  "****@******************े🔑*(x)",
		},
		"by type": {
			policy: `rules: [{id: m, detect: {pii: default}, action: {EMAIL_ADDRESS: replace, "*": redact}, with: (mail)}]`,
			text:   mail + " " + card,
			action: "redact",
			rule:   "m",
			after:  "(mail) [CREDIT_CARD]",
		},
		"one edit of two that overlap": {
			policy: `rules: [{id: m, detect: {regexp: 'is \d+'}, action: redact}, {id: n, detect: {regexp: {NUMBER: '\d+ \d+'}}, action: mask}]`,
			text:   "it is 12 34.",
			action: "redact",
			rule:   "m",
			after:  "it [REGEXP].",
		},
		"words": {
			policy: `rules: [{id: w, detect: {words: {CODENAME: [blue heron]}}, action: redact}]`,
			text:   "the Blue  Heron flies",
			action: "redact",
			rule:   "w",
			after:  "the [CODENAME] flies",
		},
		"words disguised": {
			policy: `rules: [{id: w, detect: {words: [heron]}, action: redact}]`,
			text:   "the h\u200bеron flies",
			action: "redact",
			rule:   "w",
			after:  "the [WORD] flies",
		},
		"length": {
			policy: `rules: [{id: l, detect: {length: {tokens: 2}}, action: block, message: Shorter.}]`,
			text:   "123456789",
			action: "block",
			rule:   "l",
			after:  "123456789",
		},
		"length that fits": {
			policy: `rules: [{id: l, detect: {length: {tokens: 2}}, action: block}]`,
			text:   "12345678",
			action: "allow",
			after:  "12345678",
		},
		"when": {
			policy: `rules: [{id: l, when: 'user == "ann" && text contains "x"', action: flag}]`,
			scope:  policy.Scope{User: "ann"},
			text:   "x",
			action: "flag",
			rule:   "l",
			after:  "x",
		},
		"when not": {
			policy: `rules: [{id: l, when: 'user == "ann"', action: flag}]`,
			scope:  policy.Scope{User: "bob"},
			text:   "x",
			action: "allow",
			after:  "x",
		},
		"scope": {
			policy: `rules: [{id: l, scope: {app: [a*, "!ab"]}, action: flag}]`,
			scope:  policy.Scope{App: "ac"},
			text:   "x",
			action: "flag",
			rule:   "l",
			after:  "x",
		},
		"scope excludes": {
			policy: `rules: [{id: l, scope: {app: [a*, "!ab"]}, action: flag}]`,
			scope:  policy.Scope{App: "ab"},
			text:   "x",
			action: "allow",
			after:  "x",
		},
		"tenant": {
			policy: `{tenant_key: "user:tenant", rules: [{id: l, scope: {tenant: acme}, action: flag}]}`,
			scope:  policy.Scope{State: map[string]any{"user:tenant": "acme"}},
			text:   "x",
			action: "flag",
			rule:   "l",
			after:  "x",
		},
		"shadow": {
			policy: `{mode: shadow, rules: [{id: l, action: block}]}`,
			text:   "x",
			action: "allow",
			rule:   "l",
			after:  "x",
		},
		"shadow of one": {
			policy: `rules: [{id: l, mode: shadow, action: block}, {id: f, action: flag}]`,
			text:   "x",
			action: "flag",
			rule:   "f",
			after:  "x",
		},
		"too long": {
			policy: `{limits: {max_bytes: 3}, rules: [{id: s, stages: [output], detect: {secrets: default}, action: redact}]}`,
			text:   "1234",
			action: "allow",
			after:  "1234",
		},
		"too long, rule": {
			policy: `{limits: {max_bytes: 3}, rules: [{id: s, detect: {secrets: default}, action: redact}]}`,
			text:   "1234",
			action: "block",
			rule:   "limits.max_bytes",
			after:  "1234",
		},
		"when fails": {
			policy: `rules: [{id: l, when: 'tool.args.n > 1', action: flag}]`,
			text:   "x",
			action: "block",
			rule:   "on_error",
			after:  "x",
		},
		"untrusted": {
			policy: `rules: [{id: u, stages: [tool_args], trust: untrusted, action: ask}]`,
			stage:  policy.ToolArgs,
			scope:  policy.Scope{Tool: "send", Taint: []string{"web"}},
			text:   "x",
			action: "ask",
			rule:   "u",
			after:  "x",
		},
		"trusted": {
			policy: `rules: [{id: u, stages: [tool_args], trust: untrusted, action: ask}]`,
			stage:  policy.ToolArgs,
			scope:  policy.Scope{Tool: "send"},
			text:   "x",
			action: "allow",
			after:  "x",
		},
		"line": {
			policy: `rules: [{id: u, detect: {regexp: '^b$'}, action: redact}]`,
			text:   "a\nb\nc",
			action: "redact",
			rule:   "u",
			after:  "a\n[REGEXP]\nc",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stage := c.stage
			if stage == "" {
				stage = policy.Input
			}
			v := parse(t, c.policy).Judge(stage, c.scope, c.text)
			require.Equal(t, c.action, v.Action)
			require.Equal(t, c.rule, v.Rule)
			require.Equal(t, c.after, v.Text)
		})
	}
}

func TestShadowSaysWhatWouldBe(t *testing.T) {
	v := parse(
		t,
		`{mode: shadow, rules: [{id: s, detect: {words: [x]}, action: block}]}`,
	).Judge(policy.Input, policy.Scope{}, "an x")
	require.Len(t, v.Findings, 1)
	require.Equal(t, policy.Allow, v.Findings[0].Action)
	require.Equal(t, policy.Block, v.Findings[0].Would)
}

func TestHashesAndVaultTokensAreKeyed(t *testing.T) {
	p := parse(t, `rules: [{id: h, detect: {pii: [EMAIL_ADDRESS]}, action: hash}]`)
	one := p.Judge(policy.Input, policy.Scope{},
		"ann@example.com bob@example.com ann@example.com").Text
	require.Regexp(
		t,
		`^(\[EMAIL_ADDRESS:[0-9a-f]{16}\]) \[EMAIL_ADDRESS:[0-9a-f]{16}\] (\[EMAIL_ADDRESS:[0-9a-f]{16}\])$`,
		one,
	)
	require.Equal(t, one[:32], one[len(one)-32:])
	require.NotEqual(t, one[:32], one[33:65])
}

func TestPolicysOwnTests(t *testing.T) {
	p := parse(t, `
rules: [{id: e, when: 'state.n > 1', stages: [summary], action: flag}, {id: c, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block, mode: shadow}, {id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: b, scope: {branch: desk.*}, action: flag}]
tests:
  - {name: right, stage: input, text: 4111 1111 1111 1111, want: block, rule: c}
  - {name: edited, stage: output, text: mail ann@example.com, want: redact, after: "mail [EMAIL_ADDRESS]"}
  - {name: wrong, stage: output, text: 4111 1111 1111 1111, want: block}
  - {name: other text, stage: output, text: ann@example.com, want: redact, after: x}
  - {name: branch, stage: output, branch: desk.mail, text: x, want: flag, rule: b}
  - {name: no branch, stage: output, text: x, want: allow}
  - {name: by another, stage: output, text: ann@example.com, want: redact, rule: c}
  - {name: cannot be computed, stage: summary, text: x, want: block}
`)
	var failures []string
	for _, r := range selftest.Run(p) {
		failures = append(failures, r.Failure)
	}
	require.Equal(
		t,
		[]string{
			"",
			"",
			"it is allow, not block",
			`the text becomes "[EMAIL_ADDRESS]", not "x"`,
			"",
			"",
			"it is redact by m, not by c",
			"rule e: when: it cannot be computed with the values that it met, at its column 9; a key that may be missing is written as state?.key ?? 0",
		},
		failures,
	)
}

// A test of a call is about its arguments, as a run is: each text, with its key before it.
// A test may want that a text cannot be judged, so that failing closed can be tested.
func TestPolicysOwnTestsOfErrors(t *testing.T) {
	const file = `
rules:
  - {id: large, stages: [tool_args], when: tool.args.eur > 100, action: ask}
tests:
  - {name: no number, stage: tool_args, tool: pay, args: {eur: many}, want: error}
  - {name: a number, stage: tool_args, tool: pay, args: {eur: 1}, want: error}
  - {name: not said, stage: tool_args, tool: pay, args: {eur: many}, want: block}
`
	for _, onError := range []string{"on_error: block", "on_error: allow"} {
		var failures []string
		for _, r := range selftest.Run(parse(t, onError+file)) {
			failures = append(failures, r.Failure)
		}
		require.Equal(t, []string{
			"",
			"it is allow, not an error: the text could be judged",
			"rule large: when: it cannot be computed with the values that it met, at its column 15; a key that may be missing is written as state?.key ?? 0",
		}, failures)
	}
}

func TestPolicyNotesJudgesThatSeeTextsAsTheyCame(t *testing.T) {
	p := parse(t, `
rules:
  - {id: a, action: block, judge: {url: 'https://j.example', timeout: 3s, on_error: block, sees: original}}
  - {id: b, action: block, judge: {model: m, question: Is it?, timeout: 3s, on_error: block}}`)
	require.Equal(
		t,
		[]string{
			"rule a: https://j.example is sent texts as they came, also what other rules take out (sees: original)",
		},
		p.Notes(),
	)
}

func TestPolicysOwnTestsOfCalls(t *testing.T) {
	p := parse(t, `
rules:
  - {id: m, detect: {pii: [EMAIL_ADDRESS], secrets: default}, action: redact}
  - {id: whole, stages: [tool_args], when: 'text contains "{\"n\":12}"', action: ask}
  - {id: n, stages: [tool_args], when: '(tool.args?.id ?? 0) == 7.0', action: block}
  - {id: j, stages: [tool_args], scope: {tool: pay}, judge: {url: "https://judge.example", timeout: 1s, on_error: block}, action: block}
tests:
  - {name: a text of it, stage: tool_args, tool: t, args: {to: [{a: ann@example.com}], n: 1}, want: redact, rule: m, after: '{"n":1,"to":[{"a":"[EMAIL_ADDRESS]"}]}'}
  - {name: a key of it, stage: tool_args, tool: t, args: {ann@example.com: 1}, want: redact, rule: m}
  - {name: by its key, stage: tool_args, tool: t, args: {password: Xk39dkSkeW92kd}, want: redact, after: '{"password":"[SECRET]"}'}
  - {name: passes, stage: tool_args, tool: t, args: {to: bob}, want: allow}
  - {name: as a whole, stage: tool_args, args: {n: 12}, want: ask, rule: whole}
  - {name: numbers are those of a run, stage: tool_args, args: {id: 7}, want: block, rule: n}
  - {name: judge, stage: tool_args, tool: pay, args: {to: bob}, judge: {j: true}, want: block, rule: j}
  - {name: with a text beside it, stage: tool_args, args: {to: ann@example.com}, text: hi, want: redact}
  - {name: wrong, stage: tool_args, args: {to: ann@example.com}, want: allow}
`)
	var failures []string
	for _, r := range selftest.Run(p) {
		failures = append(failures, r.Failure)
	}
	require.Equal(t, []string{"", "", "", "", "", "", "", "", "it is redact by m, not allow"},
		failures)
	_, err := policy.Parse("p.yaml", []byte(
		"rules: [{id: a, when: tainted, action: flag}]\ntests:\n  - {name: a, stage: tool_args, args: {n: .inf}, want: flag}\n",
	))
	require.ErrorContains(t, err, "p.yaml:3:39: this is no JSON")
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	_, err := policy.Load(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("rules: [{id: x, action: flag}]"), 0o600))
	p, err := policy.Load(file)
	require.NoError(t, err)
	require.Equal(t, file, p.Name())
	require.Len(t, p.Revision(), 16)
	require.NotEqual(t, p.Revision(), policy.Default().Revision())
}

func FuzzParse(f *testing.F) {
	f.Add(
		[]byte("rules: [{id: x, when: 'tainted', detect: {regexp: {A: b}}, action: {A: redact}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		if p, err := policy.Parse("p", data); err == nil {
			v := p.Judge(policy.Input, policy.Scope{}, "mail ann@example.com \xff key sk-")
			require.NotEmpty(t, v.Action)
		}
	})
}

func TestToolPermissions(t *testing.T) {
	p := parse(t, `
command_tools: {shell: {line: command}}
rules: [{id: t, stages: [tool_args], tools: {deny: ["shell(rm *)", "drop_*"], ask: ["shell(git push*)", pay], allow: ["shell(ls *)", "shell(git *)", "get_*"], other: ask}}]`)
	for _, c := range []struct {
		tool string
		args map[string]any
		want policy.Action
	}{
		{
			"drop_table",
			nil,
			"block",
		}, {"pay", nil, "ask"}, {"get_time", nil, "allow"}, {"unknown", nil, "ask"},
		{"shell", map[string]any{"command": "rm -rf /"}, "block"},
		{"shell", map[string]any{"command": `ls; (\r\m x)`}, "block"},
		{"shell", map[string]any{"command": []any{"rm x", "ls"}}, "block"},
		{"shell", map[string]any{"command": "git push origin"}, "ask"},
		{"shell", map[string]any{"command": "ls -l | git log"}, "allow"},
		{"shell", map[string]any{"command": "$X y"}, "ask"},
		{"shell", map[string]any{"command": "make"}, "ask"},
		{"shell", map[string]any{"command": "ls", "line": "rm x"}, "allow"},
		{"shell", map[string]any{"a": "ls", "b": "ls"}, "ask"},
		{"shell", nil, "ask"},
	} {
		v := p.Judge(policy.ToolArgs, policy.Scope{Tool: c.tool, Args: c.args}, "")
		require.Equal(t, c.want, v.Action, "%v: %s", c, v.Message)
	}
	for rules, want := range map[string][3]policy.Action{ // of ls, rm x and another tool
		`deny: ["shell(rm *)"], ask: ["shell(*)"], allow: [search]`:   {"ask", "block", "allow"},
		`deny: ["shell(rm *)"], allow: ["shell(*)"], other: ask`:      {"allow", "block", "ask"},
		`deny: ["shell(rm *)"], ask: [sh*], allow: ["shell(ls *)"]`:   {"ask", "block", "allow"},
		`deny: ["shell(rm *)"], allow: [sh*], other: block`:           {"allow", "block", "block"},
		`deny: [shell, "shell(rm *)"], allow: ["shell(ls *)"]`:        {"block", "block", "allow"},
		`deny: ["shell(rm *)", "sh*"], allow: ["shell(ls *)"]`:        {"block", "block", "allow"},
		`ask: ["shell(*)"], allow: ["shell(ls *)"], other: block`:     {"ask", "ask", "block"},
		`ask: ["shell(rm *)"], allow: [shell, search], other: block`:  {"allow", "ask", "allow"},
		`allow: ["shell(ls *)"], other: block`:                        {"allow", "block", "block"},
		`deny: ["shell(rm *)", "shell(node -e 'f(1), g(2)')"]`:        {"allow", "block", "allow"},
		`deny: ["shell(rm *)"], ask: ["shell(ls *)"], other: "allow"`: {"ask", "block", "allow"},
	} {
		p := parse(t,
			"{command_tools: {shell: {line: command}}, rules: [{id: t, tools: {"+rules+"}}]}")
		for i, scope := range []policy.Scope{
			{Tool: "shell", Args: map[string]any{"command": "ls"}},
			{Tool: "shell", Args: map[string]any{"command": "rm x"}},
			{Tool: "search", Args: map[string]any{"q": "rm x"}},
		} {
			v := p.Judge(policy.ToolArgs, scope, "")
			require.Equal(t, want[i], v.Action, "%s: %v", rules, scope.Args)
			require.Equal(t, want[i] == policy.Allow, len(v.Findings) == 0)
		}
	}
	for rest, want := range map[string]string{
		`tools: {allow: [x], other: allow}`:              "the rule denies nothing and asks about nothing",
		`tools: {deny: [x]}, action: block`:              "must not have action: or detect:",
		`tools: {allow: [x]}, stages: [tool_args]`:       "the rule denies nothing and asks about nothing",
		`tools: {deny: ["x(a"]}, stages: [tool_args]`:    "is not a tool",
		`tools: {denny: ["x(a"]}, stages: [tool_args]`:   `unknown key "denny"; did you mean "deny"?`,
		`tools: {deny: ["[x"]}, stages: [tool_args]`:     "is no pattern of a tool's name",
		`tools: {deny: ["x()"]}, stages: [tool_args]`:    "p.yaml",
		`detect: {urls: {allow: ["a b"]}}, action: flag`: "p.yaml",
	} {
		_, err := policy.Parse("p.yaml", []byte("rules: [{id: t, "+rest+"}]"))
		require.ErrorContains(t, err, want)
	}
}

// Permissions are about calls; stages need not say so.
func TestToolsAreCalls(t *testing.T) {
	p := parse(t, `rules: [{id: t, tools: {deny: [pay]}}]`)
	require.Equal(t, []policy.Stage{policy.ToolArgs}, p.Rules()[0].Stages)
	require.Equal(t, policy.Block, p.Judge(policy.ToolArgs, policy.Scope{Tool: "pay"}, "").Action)
	require.Equal(t, policy.Allow, p.Judge(policy.ToolResult, policy.Scope{Tool: "pay"}, "").Action)
	_, err := policy.Parse("p.yaml",
		[]byte(`rules: [{id: t, stages: [input], tools: {deny: [pay]}}]`))
	require.ErrorContains(t, err, "its stages must be [tool_args]")
}

// What is wrong with rules and with tests is told at once.
func TestParseTellsOfRulesAndTests(t *testing.T) {
	_, err := policy.Parse("p.yaml", []byte(
		"rules:\n  - {id: a, action: blok}\ntests:\n  - {name: x, stage: inpt, want: block, rule: a}\n",
	))
	require.ErrorContains(t, err, `p.yaml:2:21: "blok" is not known here`)
	require.ErrorContains(t, err, `p.yaml:4:22: "inpt" is not known here`)
}

func TestURLs(t *testing.T) {
	p := parse(
		t,
		`rules: [{id: u, detect: {urls: {allow: ["*.corp.example"], schemes: [https]}}, action: redact}]`,
	)
	require.Equal(
		t,
		"see https://a.corp.example/x, not ![i]([URL]) or [URL]",
		p.Judge(
			policy.Output,
			policy.Scope{},
			"see https://a.corp.example/x, not ![i](https://evil.example/?q=1) or https://a.corp.example@evil.example",
		).Text,
	)
}
