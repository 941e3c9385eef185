package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A tool reads one argument, and a model may put others beside it: the strictest counts.
func TestEveryArgumentThatMayBeACommandCounts(t *testing.T) {
	p := parse(t, `rules: [{id: s, stages: [tool_args], tools: {deny: ["shell(rm *)", "shell(git push*)"], allow: ["shell(ls *)", "shell(git *)", "shell(cd src*)"], other: ask}}]`)
	words := func(w ...any) []any { return w }
	type m = map[string]any
	for _, c := range []struct {
		args map[string]any
		want policy.Action
	}{
		{m{"command": "ls", "cmd": "rm x"}, policy.Block},
		{m{"command": "", "cmd": "rm x"}, policy.Block},
		{m{"command": "ls", "Command": "rm x"}, policy.Block},
		{m{"command": "ls", "command-line": "rm x"}, policy.Block},
		{m{"command": "git status", "script": "git push --force"}, policy.Block},
		{m{"command": "git", "args": words("push", "--force")}, policy.Block},
		{m{"command": "git", "args": "push --force"}, policy.Block},
		{m{"command": "ls && git", "args": words("push")}, policy.Block},
		{m{"args": words("git", "push")}, policy.Block},
		{m{"argv": words("rm", "x"), "timeout": 5.0}, policy.Block},
		{m{"commands": words("ls", "rm x")}, policy.Block},
		{m{"commands": words("rm", "x")}, policy.Block},
		{m{"commands": words(words("rm", "x"))}, policy.Block},
		{m{"command": words("ls; rm x")}, policy.Block},
		{m{"command": m{"line": "rm x"}, "why": "ls"}, policy.Block},
		{m{"code": "rm x", "input": "ls"}, policy.Block},
		{m{"command": "ls", "options": m{"cmd": "rm x"}}, policy.Block},
		{m{"command": "ls", "payload": "rm x"}, policy.Block},
		{m{"command": "ls", "payload": "ls"}, policy.Ask},
		{m{"command": "ls", "env": m{"LD_PRELOAD": "./x.so"}}, policy.Ask},
		{m{"command": "ls", "env": m{"a b": "c"}}, policy.Ask},
		{m{"command": words("ls", 5.0)}, policy.Ask},
		{m{"command": 5.0}, policy.Ask},
		{m{"a": "ls", "b": "ls"}, policy.Ask},
		{m{"command": m{"line": "ls"}}, policy.Ask},
		{m{"command": 5.0, "a": "ls"}, policy.Ask},
		{m{"command": "ls", "env": m{"LANG": 5.0}}, policy.Ask},
		{m{"command": "ls", "more": []string{"x"}}, policy.Ask},
		{m{"command": ""}, policy.Ask},
		{m{"command": words()}, policy.Ask},
		{m{"command": "ls", "args": words()}, policy.Allow},
		{m{"a": "ls", "b": "rm x"}, policy.Block},
		{m{}, policy.Ask},
		{m{"command": "ls", "env": m{"LANG": "C"}}, policy.Allow},
		{m{"command": "ls -l", "description": "rm is not run", "cwd": "src/rm", "timeout": 5.0, "background": true}, policy.Allow},
		{m{"command": "git", "args": words("log", "-3")}, policy.Allow},
		{m{"command": words("git", "commit", "-m", "rm x; git push")}, policy.Allow},
		{m{"payload": "ls"}, policy.Allow},
		{m{"command": "ls", "cwd": "."}, policy.Allow},
		{m{"command": "ls", "cwd": "/root"}, policy.Ask},
		{m{"command": "ls", "working_directory": "src; rm x"}, policy.Ask},
		{m{"command": "ls", "dir": "src/$(rm x)"}, policy.Ask},
		{m{"cwd": "rm x"}, policy.Block},
		{m{"commands": slices.Repeat(words("ls"), 2000), "args": slices.Repeat(words(words("-l")), 2000)}, policy.Ask},
		{m{"commands": append(slices.Repeat(words("ls"), 50), "rm x")}, policy.Block},
		{m{"commands": words("ls "+strings.Repeat("a", 60<<10), "ls "+strings.Repeat("b", 60<<10), "ls "+strings.Repeat("c", 60<<10))}, policy.Ask},
	} {
		assert.Equal(t, c.want, p.Judge(policy.ToolArgs, policy.Scope{Tool: "shell", Args: c.args}, "").Action, "%v", c.args)
	}
}

// Which command would run is not to be seen: a human is asked, or what other says if that is stricter.
func TestCommandsThatAreNotSeen(t *testing.T) {
	for other, want := range map[string]policy.Action{"allow": "ask", "ask": "ask", "block": "block"} {
		p := parse(t, `rules: [{id: t, stages: [tool_args], tools: {deny: ["shell(rm *)"], other: `+other+`}}]`)
		for _, args := range []map[string]any{nil, {"n": 1}, {"a": "ls", "b": "ls"}, {"command": []any{1}}} {
			require.Equal(t, want, p.Judge(policy.ToolArgs, policy.Scope{Tool: "shell", Args: args}, "").Action, "%s: %v", other, args)
		}
	}
}
