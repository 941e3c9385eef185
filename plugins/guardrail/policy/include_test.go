package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
)

// inFiles writes files into a directory, and returns the path of the first.
func inFiles(t *testing.T, files ...string) string {
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(files[i+1]), 0o600))
	}
	return filepath.Join(dir, files[0])
}

const (
	baseFile = `
lists:
  partners: [corp.example, "*.corp.example"]
  birds: [heron, egret]
trusted_tools: [clock]
command_tools: {bash: {line: command}}
rules:
  - {id: birds, detect: {words: ["@birds", "@@home"]}, action: redact}
tests:
  - {name: a bird, stage: output, text: a heron, want: redact, after: "a [WORD]"}
`
	ownFile = `
release: "2026-11-22.1"
include: [shared/base.yaml]
trusted_tools: [db]
rules:
  - {id: links, stages: [output], detect: {urls: {allow: ["@partners"]}}, action: redact}
  - {id: deletes, tools: {deny: ["bash(rm *)"]}}
`
)

// A policy has the rules, tests, lists and tools of the files that it includes.
func TestInclude(t *testing.T) {
	file := inFiles(t, "p.yaml", ownFile, "shared/base.yaml", baseFile)
	p, err := policy.Load(file)
	require.NoError(t, err)
	require.Equal(t, "2026-11-22.1", p.Release())
	require.Equal(t, []string{file, filepath.Join(filepath.Dir(file), "shared/base.yaml")},
		p.Files())
	require.Len(t, p.Rules(), 3)
	require.Len(t, p.Tests(), 1)
	require.Empty(t, selftest.Run(p)[0].Failure)
	require.True(t, p.Trusts("clock") && p.Trusts("db"))
	text := func(text string) string { return p.Judge(policy.Output, policy.Scope{}, text).Text }
	require.Equal(t, "a [WORD] at [WORD]", text("a egret at @home"))
	require.Equal(t, "https://a.corp.example and [URL]",
		text("https://a.corp.example and https://b.example"))
	v := p.Judge(policy.ToolArgs,
		policy.Scope{Tool: "bash", Args: map[string]any{"command": "rm x"}}, "")
	require.Equal(t, policy.Block, v.Action)

	// The revision is of all its files.
	before := p.Revision()
	require.NoError(t, os.WriteFile(p.Files()[1], []byte(baseFile+"\n"), 0o600))
	p, err = policy.Load(file)
	require.NoError(t, err)
	require.NotEqual(t, before, p.Revision())
}

func TestIncludeRefuses(t *testing.T) {
	const rule = "rules: [{id: a, action: flag}]\n"
	for name, c := range map[string]struct {
		own, base, want string
	}{
		"a file that is not there": {"include: [other.yaml]\n" + rule, rule, "p.yaml:1:11: open "},
		"itself": {
			"include: [p.yaml]\n" + rule,
			rule,
			"is already a part of this policy",
		},
		"a file twice": {
			"include: [b.yaml, ./b.yaml]\n" + rule,
			"lists: {a: [b]}",
			"p.yaml:1:19: ",
		},
		"an absolute path": {
			"include: [/b.yaml]\n" + rule,
			rule,
			"must be the path of a file, from the directory of this one",
		},
		"a file that includes": {
			"include: [b.yaml]\n" + rule,
			"include: [c.yaml]",
			"b.yaml:1:10: an included file has no include",
		},
		"a mode": {
			"include: [b.yaml]\n" + rule,
			"mode: shadow",
			"b.yaml:1:7: an included file has no mode: it is about the whole policy, so it stands in ",
		},
		"an unknown key": {
			"include: [b.yaml]\n" + rule,
			"ruls: []",
			`b.yaml:1:1: unknown key "ruls"`,
		},
		"an id twice": {
			"include: [b.yaml]\n" + rule,
			"\n" + rule,
			"b.yaml:2:14: another rule, at ",
		},
		"a list twice": {
			"include: [b.yaml]\nlists: {a: [b]}\n" + rule,
			"lists: {a: [c]}",
			`b.yaml:1:12: there is another list "a"`,
		},
		"an empty list": {
			"lists: {a: []}\n" + rule,
			"",
			"p.yaml:1:12: the list is empty",
		},
		"a list of lists": {
			"lists: {a: [\"@b\"]}\n" + rule,
			"",
			"refers to no other list",
		},
		"an unknown list": {
			"lists: {birds: [heron]}\nrules: [{id: a, detect: {words: [\"@bird\"]}, action: redact}]",
			"",
			`no list has the name "bird"; did you mean "birds"?`,
		},
		"no rules at all": {"include: [b.yaml]", "lists: {a: [b]}", "there are no rules"},
		"a rule behind another": {
			"include: [b.yaml]\nrules: [{id: a, detect: {pii: default}, action: redact}]",
			"rules: [{id: b, detect: {pii: [URL]}, action: redact}]",
			"b.yaml:1:9: the rule \"b\" never has an effect: the rule \"a\", at ",
		},
		"a wrong test": {
			"include: [b.yaml]\n" + rule,
			"\ntests: [{name: a, stage: input, text: x, want: bloc}]",
			"b.yaml:2:48: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Load(inFiles(t, "p.yaml", c.own, "b.yaml", c.base))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := policy.Parse("p.yaml", []byte(
		"lists: {a: [b]}\nrules: [{id: a, detect: {urls: {allow: [\"@c\"]}}, action: redact}]"))
	require.ErrorContains(t, err, `no list has the name "c"`)
	require.NotContains(t, err.Error(), "allow-list", "one mistake is said once")
	_, err = policy.Parse("https://a.example/p.yaml", []byte("include: [b.yaml]\n"+rule))
	require.ErrorContains(t, err, "a policy that is loaded from an address includes no files")
}
