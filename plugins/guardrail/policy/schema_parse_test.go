package policy_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// written are values for the keys of a policy, right and wrong; those with a dot are of a rule.
var written = map[string][]string{
	"version": {
		"1",
		"2",
		`"1"`,
		"null",
	}, "mode": {
		"enforce",
		"shadow",
		`""`,
		"null",
		"on",
	}, "on_error": {"block", "allow", "flag", `""`},
	"limits": {
		"{}",
		"null",
		"{max_bytes: 5}",
		"{max_bytes: 0}",
		"{max_bytes: 1.5}",
		"{max_bytes: null}",
		"{over_limit: block}",
		"[]",
		`{max_bytes: "5"}`,
		"{max_bytes: 0x10}",
		`{over_limit: ""}`,
	},
	"judges": {
		"{}",
		"null",
		"{tokens: 5, per: 1h}",
		"{usd: .5, per: 1h}",
		"{tokens: 5}",
		"{per: 1h}",
		"{tokens: 0, per: 1h}",
		"{tokens: 1.5, per: 1h}",
		"{usd: 0, per: 1h}",
		"{usd: -1, per: 1h}",
		"{usd: 1, tokens: 1, per: 0s}",
		"{tokens: 5, per: 1}",
		"{usd: x, per: 1h}",
	},
	"tenant_key": {
		"a",
		`""`,
		"null",
		"5",
	}, "trusted_tools": {"[]", "null", "[a]", "[5]", "a", `["[a"]`, `[""]`},
	"tests": {
		"[]",
		"null",
		"[null]",
		"[{name: a, stage: input, text: b, want: block}]",
		"[{name: a, stage: input, want: block}]",
		`[{name: "", stage: input, want: block}]`,
		"[{name: 5, stage: input, want: block}]",
		"[{name: a, stage: input, text: null, want: block}]",
		"[{name: a, stage: tool_args, args: null, want: block}]",
		"[{name: a, stage: tool_args, args: {a: null}, want: block}]",
		"[{name: a, stage: tool_args, args: [1], want: block}]",
		"[{name: a, stage: input, taint: a, want: block}]",
		"[{name: a, stage: input, judge: {r: true}, want: block}]",
		"[{name: a, stage: input, judge: {r: x}, want: block}]",
		"[{name: a, stage: input, judge: {r: 5}, want: block}]",
		"[{name: a, stage: input, judge: {r: null}, want: block}]",
		"[{name: a, stage: input, after: x, want: redact}]",
		"[{name: a, stage: input, rule: r, want: redact}]",
		"[{name: a, stage: input, app: 5, want: redact}]",
		`[{name: a, stage: input, text: "", want: redact}]`,
	},
	".id": {
		"r",
		`""`,
		"5",
		"null",
	}, ".stages": {
		"[input]",
		"[tool_args]",
		"[]",
		"null",
		"[input, input]",
		"input",
		"[prompt]",
		`[""]`,
		"[null]",
	},
	".scope": {
		"{}",
		"null",
		"{app: a}",
		"{app: [a]}",
		"{app: []}",
		"{app: null}",
		`{app: ""}`,
		`{app: [""]}`,
		"{app: 5}",
		"{tenant: a}",
		`{tool: "[a"}`,
		"{app: [a, 5]}",
		"{x: 1}",
	},
	".detect": slices.Concat(finders, misfits),
	".tools": {
		"{}",
		"null",
		"{deny: [a]}",
		"{deny: []}",
		"{deny: null}",
		"{deny: a}",
		"{other: ask}",
		"{other: flag}",
		`{other: ""}`,
		"{allow: [a]}",
		"{allow: ['shell(']}",
		"{deny: ['']}",
		"{deny: [5]}",
		"{ask: [a], other: block}",
	},
	".judge": {
		"{}",
		"null",
		"{url: 'https://a.b', timeout: 1s, on_error: block}",
		"{url: 'https://a.b', timeout: 1s}",
		"{url: 'https://a.b', timeout: 0s, on_error: block}",
		"{url: 'https://a.b', timeout: -1s, on_error: block}",
		"{url: 'https://a.b', timeout: 1, on_error: block}",
		"{url: 'https://a.b', timeout: .5s, on_error: block}",
		"{url: 'https://a.b', timeout: +1m1.s, on_error: block}",
		"{url: 'https://a.b', timeout: 1d, on_error: block}",
		"{url: 'https://a.b', timeout: 1s, on_error: flag}",
		"{url: a.b, timeout: 1s, on_error: block}",
		"{model: x, question: q, timeout: 1s, on_error: allow}",
		"{model: x, timeout: 1s, on_error: allow}",
		"{url: 'https://a.b', model: x, question: q, timeout: 1s, on_error: allow}",
		"{model: x, question: '', timeout: 1s, on_error: allow}",
		"{url: '', model: x, question: q, timeout: 1s, on_error: allow}",
		"{model: x, grounding: true, timeout: 1s, on_error: allow}",
		"{model: x, grounding: false, timeout: 1s, on_error: allow}",
		"{url: 'https://a.b', grounding: true, timeout: 1s, on_error: allow}",
		"{model: x, question: q, grounding: 1, timeout: 1s, on_error: allow}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: [{text: a, flagged: true}]}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: [{text: a}]}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: [{text: '', flagged: true}]}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: []}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: [{text: a, flagged: x}]}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: null}",
		"{model: x, question: q, timeout: 1s, on_error: allow, examples: [{flagged: false}]}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, threshold: .5}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, threshold: 0}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, threshold: 1}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, threshold: 2}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, threshold: -1}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, parallel: true}",
		"{url: 'https://a.b', timeout: 1s, on_error: block, header_env: ''}",
	},
	".allow": {
		"{}",
		"null",
		"{values: [a]}",
		"{values: a}",
		"{domains: [corp.example], patterns: ['a+']}",
		"{domains: ['a b']}",
		"{patterns: ['(']}",
	},
	".from":      {"{}", "null", "{tool: a}", "{found: [SECRET]}", "{tool: [a], within: turn}", "{tool: a, within: week}", "{tool: 5}"},
	".to":        {"{}", "null", "{tool: b}", "{links: {allow: [a.b]}}", "{answer: true}", "{answer: false}", "{tool: b, answer: true}"},
	".min_score": {"0.5", "0", "1", "1.5", "x", "null"},
	".action": {
		"block",
		"redact",
		"allow",
		"flag",
		"ask",
		"replace",
		"remove",
		`""`,
		"null",
		"{}",
		`{"*": redact}`,
		"{SECRET: redact}",
		"{SECRET: mask, '*': flag}",
		"[block]",
		"5",
		"{FOO: block}",
		"{SECRET: null}",
		"{a: block}",
	},
	".with": {
		"x",
		`""`,
		"null",
		"5",
	}, ".message": {
		"x",
		`""`,
		"null",
		"5",
	}, ".when": {"tainted", `""`, "null", "true", "5", "'x +'", "text"},
	".mode": {
		"shadow",
		"null",
		`""`,
		"off",
	}, ".window": {
		"part",
		"turn",
		"null",
		`""`,
		"run",
	}, ".trust": {"any", "untrusted", "null", `""`, "x"}, ".x": {"1"},
}

var finders = []string{
	"{secrets: default}",
	"{injection: default}",
	"{pii: default}",
	"{pii: [URL, URL]}",
	"{words: [a]}",
	"{words: {A: [a]}}",
	"{regexp: a}",
	"{regexp: {A: a}}",
	"{urls: {}}",
	"{urls: {allow: []}}",
	"{urls: {schemes: [https]}}",
	"{secrets: default, urls: {allow: [a.b]}}",
}

var misfits = []string{
	"{}",
	"null",
	"{secrets: all}",
	`{secrets: ""}`,
	"{secrets: true}",
	`{injection: ""}`,
	"{injection: all}",
	"{pii: null}",
	"{pii: []}",
	"{pii: all}",
	`{pii: ""}`,
	"{pii: EMAIL_ADDRESS}",
	"{pii: [5]}",
	"{words: []}",
	"{words: null}",
	"{words: {}}",
	"{words: {A: a}}",
	"{words: {A: []}}",
	"{words: {a: [a]}}",
	`{words: [""]}`,
	"{words: [5]}",
	"{words: a}",
	"{words: {TEXT: [a]}}",
	"{regexp: null}",
	`{regexp: ""}`,
	"{regexp: 'a*'}",
	"{regexp: {}}",
	"{regexp: {A: [a]}}",
	"{regexp: 5}",
	"{regexp: '('}",
	"{regexp: {LENGTH: a}}",
	"{length: {}}",
	"{length: null}",
	"{length: {bytes: 1}}",
	"{length: {bytes: -1}}",
	"{length: {tokens: 0, bytes: 5}}",
	"{urls: null}",
	"{urls: {allow: null}}",
	"{urls: {allow: a.b}}",
	"{urls: {allow: ['']}}",
	"{urls: {allow: [5]}}",
	"{x: 1}",
	"{length: {bytes: 5}, secrets: default}",
}

// kindsOfRules are rules of each kind.
var kindsOfRules = []map[string]string{
	{".id": "r", ".detect": "{secrets: default}", ".action": "redact"},
	{".id": "r", ".stages": "[tool_args]", ".tools": "{deny: [a]}"},
	{
		".id":     "r",
		".judge":  "{url: 'https://a.b', timeout: 1s, on_error: block}",
		".action": "block",
	},
	{
		".id":     "r",
		".stages": "[output]",
		".judge":  "{model: x, question: q, timeout: 1s, on_error: block}",
		".action": "block",
		"judges":  "{tokens: 5, per: 1h}",
	},
	{".id": "r", ".detect": "{length: {bytes: 5}}", ".action": "block"},
	{".id": "r", ".stages": "[tool_args]", ".trust": "untrusted", ".action": "ask"},
}

// beyondForm is why Parse may refuse what fits the schema.
var beyondForm = regexp.MustCompile(
	`is about what detectors find|is no domain|to: |from: names no source|can never apply|never has an effect|takes out what a detector has found|a tool's call can be held|is not a glob|when: |what a tenant is|which the rule does not have|` +
		`replace needs with|denies nothing|parsing regexp|matches the empty text|no entry of an allow-list|not the address of a service|never finds the type|the message is never shown|has the id|is not known here; there are limits|` +
		`about the whole text|sees one text at a time|the whole conversation again|only tool_args|belong to a tool|is not a tool|question: is for|header_env: is for|examples: is for|grounding: is |no rule asks a model|` +
		`after: is the text|there are no rules|a model answers only yes or no`,
)

// The schema refuses nothing that Parse takes, and takes nothing that Parse refuses for its form.
func TestSchemaIsParse(t *testing.T) {
	fit := fits(t)
	keys := slices.Sorted(maps.Keys(written))
	rapid.Check(t, func(t *rapid.T) {
		made := maps.Clone(rapid.SampledFrom(kindsOfRules).Draw(t, "base"))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			made[key] = rapid.SampledFrom(append([]string{"-"}, written[key]...)).Draw(t, "value")
		}
		var top, rule []string
		for _, key := range slices.Sorted(maps.Keys(made)) {
			switch name, ofRule := strings.CutPrefix(key, "."); {
			case made[key] == "-": // left out
			case ofRule:
				rule = append(rule, name+": "+made[key])
			default:
				top = append(top, key+": "+made[key])
			}
		}
		text := fmt.Sprintf("%s\nrules: [{%s}]\n", strings.Join(top, "\n"),
			strings.Join(rule, ", "))
		_, err := policy.Parse("p.yaml", []byte(text))
		switch misfit := fit([]byte(text)); {
		case err == nil:
			require.NoError(t, misfit, text)
		case misfit == nil:
			require.Regexp(t, beyondForm, err.Error(), text)
		}
	})
}
