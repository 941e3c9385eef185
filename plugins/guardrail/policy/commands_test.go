package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// The policy says in which arguments a tool is given what it runs, and nothing else in them counts.
func TestCommandsStandWhereThePolicySays(t *testing.T) {
	p := parse(t, `
command_tools:
  shell: {line: command, words: args, dir: cwd, env: env}
  run*: {words: argv}
  inner: {line: input.script}
rules: [{id: s, stages: [tool_args], tools: {deny: ["shell(rm *)", "shell(git push*)", "run*(rm *)", "inner(rm *)"], allow: ["shell(ls *)", "shell(git *)", "shell(cd src*)", "run*(ls *)", "inner(ls *)"], other: ask}}]`)
	words := func(w ...any) []any { return w }
	type m = map[string]any
	for _, c := range []struct {
		tool string
		args map[string]any
		want policy.Action
	}{
		{"shell", m{"command": "rm x"}, policy.Block},
		{"shell", m{"command": "ls", "cmd": "rm x"}, policy.Allow},
		{"shell", m{"command": "git", "args": words("push", "--force")}, policy.Block},
		{"shell", m{"command": "git", "args": "push --force"}, policy.Block},
		{"shell", m{"command": "ls && git", "args": words("push")}, policy.Block},
		{"shell", m{"command": words("ls", "rm x")}, policy.Block},
		{"shell", m{"command": words("ls", "ls -l")}, policy.Allow},
		{"shell", m{"command": "git", "args": words("log", "-3")}, policy.Allow},
		{
			"shell",
			m{"command": "git", "args": words("commit", "-m", "rm x; git push")},
			policy.Allow,
		},
		{"shell", m{"command": "ls", "args": words()}, policy.Allow},
		{
			"shell",
			m{"command": "ls -l", "description": "rm is not run", "timeout": 5.0},
			policy.Allow,
		},
		{"shell", m{"command": "ls", "env": m{"LANG": "C"}}, policy.Allow},
		{"shell", m{"command": "ls", "env": m{"LD_PRELOAD": "./x.so"}}, policy.Ask},
		{"shell", m{"command": "ls", "env": m{"a b": "c"}}, policy.Ask},
		{"shell", m{"command": "ls", "env": m{"LANG": 5.0}}, policy.Ask},
		{"shell", m{"command": "ls", "env": "LANG=C"}, policy.Ask},
		{"shell", m{"command": "ls", "cwd": "src"}, policy.Allow},
		{"shell", m{"command": "ls", "cwd": "."}, policy.Allow},
		{"shell", m{"command": "ls", "cwd": "/root"}, policy.Ask},
		{
			"shell",
			m{"command": "ls", "cwd": "src; rm x"},
			policy.Allow,
		}, // a directory, whatever its name
		{"shell", m{"command": "ls", "cwd": "x; rm x"}, policy.Ask},
		{"shell", m{"command": "ls", "cwd": 5.0}, policy.Ask},
		{"shell", m{"command": words("ls", 5.0)}, policy.Ask},
		{"shell", m{"command": 5.0}, policy.Ask},
		{"shell", m{"command": ""}, policy.Ask},
		{"shell", m{"command": words()}, policy.Ask},
		{"shell", m{"command": m{"line": "ls"}}, policy.Ask},
		{"shell", m{"command": "ls", "args": words(5.0)}, policy.Ask},
		{"shell", m{"cmd": "ls"}, policy.Ask},
		{"shell", m{}, policy.Ask},
		{"run_it", m{"argv": words("rm", "x"), "timeout": 5.0}, policy.Block},
		{"run_it", m{"argv": words("ls", "; rm x")}, policy.Allow},
		{"run_it", m{"argv": "ls; rm x"}, policy.Block},
		{"run_it", m{"argv": words()}, policy.Ask},
		{"inner", m{"input": m{"script": "ls\nrm x"}}, policy.Block},
		{"inner", m{"input": m{"script": "ls"}, "script": "rm x"}, policy.Allow},
		{"inner", m{"input": "ls"}, policy.Ask},
		{"other", m{"command": "rm x"}, policy.Ask},
		{"shell", m{"command": slices.Repeat(words("ls"), 2000)}, policy.Ask},
		{"shell", m{"command": append(slices.Repeat(words("ls"), 50), "rm x")}, policy.Block},
		{
			"shell",
			m{"command": slices.Repeat(words("ls "+strings.Repeat("a", 60<<10)), 5)},
			policy.Ask,
		},
	} {
		assert.Equal(t, c.want,
			p.Judge(policy.ToolArgs, policy.Scope{Tool: c.tool, Args: c.args}, "").Action, "%s %v",
			c.tool, c.args)
	}
}

// A pattern of commands that no tool can meet would let everything pass, so it is refused.
func TestCommandsThatNoToolRuns(t *testing.T) {
	for file, want := range map[string]string{
		`rules: [{id: a, tools: {deny: ["shell(rm *)"]}}]`:                                                     "p.yaml:1:32: no tool in command_tools has the name shell",
		`{command_tools: {bash: {line: command}}, rules: [{id: a, tools: {deny: ["shell(rm *)"]}}]}`:           "no tool in command_tools has the name shell",
		`rules: [{id: a, tools: {deny: ["reads(secrets/**)"]}}]`:                                               "the policy names no such tool",
		`{command_tools: {bash: {dir: cwd}}, rules: [{id: a, action: block}]}`:                                 "say which argument of the tool has the command line",
		`{command_tools: {bash: {line: command}}, rules: [{id: a, tools: {allow: ["reads(x)"], other: ask}}]}`: "are for deny and ask",
		`{command_tools: {bash: {line: command}}, rules: [{id: a, tools: {deny: ["reads(**)"]}}]}`:             "the path has no name in it",
	} {
		_, err := policy.Parse("p.yaml", []byte(file))
		require.ErrorContains(t, err, want, file)
	}
}

// Paths are of all tools that run commands.
func TestPathsOfCommands(t *testing.T) {
	p := parse(t, `
command_tools: {bash: {line: command, dir: cwd}, exec: {words: argv}}
rules:
  - {id: keys, tools: {deny: ["reads(secrets/**)"], ask: ["writes(*.lock)"]}}`)
	type m = map[string]any
	for _, c := range []struct {
		tool string
		args map[string]any
		want policy.Action
	}{
		{"bash", m{"command": "cat secrets/key"}, policy.Block},
		{"bash", m{"command": "cat key", "cwd": "secrets"}, policy.Block},
		{"exec", m{"argv": []any{"cat", "secrets/key"}}, policy.Block},
		{"exec", m{"argv": []any{"rm", "go.lock"}}, policy.Ask},
		{"bash", m{"command": "cat README.md"}, policy.Allow},
		{"read_file", m{"command": "cat secrets/key"}, policy.Allow},
	} {
		v := p.Judge(policy.ToolArgs, policy.Scope{Tool: c.tool, Args: c.args}, "")
		assert.Equal(t, c.want, v.Action, "%s %v: %s", c.tool, c.args, v.Message)
	}
}

// Which command would run is not to be seen: a human is asked, or what other says if that is
// stricter.
func TestCommandsThatAreNotSeen(t *testing.T) {
	for other, want := range map[string]policy.Action{
		"allow": "ask",
		"ask":   "ask",
		"block": "block",
	} {
		p := parse(
			t,
			`{command_tools: {shell: {line: command}}, rules: [{id: t, stages: [tool_args], tools: {deny: ["shell(rm *)"], other: `+other+`}}]}`,
		)
		for _, args := range []map[string]any{
			nil,
			{"n": 1},
			{"a": "ls", "b": "ls"},
			{"command": []any{1}},
		} {
			require.Equal(t, want,
				p.Judge(policy.ToolArgs, policy.Scope{Tool: "shell", Args: args}, "").Action,
				"%s: %v", other, args)
		}
	}
}
