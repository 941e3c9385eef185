package guardrail_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/plughook/plughook/plugins/guardrail"
)

// A tool reads one argument, and a model may put others beside it: the strictest counts.
func TestEveryArgumentThatMayBeACommandCounts(t *testing.T) {
	p := parse(t, `rules: [{id: s, stages: [tool_args], tools: {deny: ["shell(rm *)", "shell(git push*)"], allow: ["shell(ls *)", "shell(git *)", "shell(cd src*)"], other: ask}}]`)
	words := func(w ...any) []any { return w }
	type m = map[string]any
	for _, c := range []struct {
		args map[string]any
		want guardrail.Action
	}{
		{m{"command": "ls", "cmd": "rm x"}, guardrail.Block},
		{m{"command": "", "cmd": "rm x"}, guardrail.Block},
		{m{"command": "ls", "Command": "rm x"}, guardrail.Block},
		{m{"command": "ls", "command-line": "rm x"}, guardrail.Block},
		{m{"command": "git status", "script": "git push --force"}, guardrail.Block},
		{m{"command": "git", "args": words("push", "--force")}, guardrail.Block},
		{m{"command": "git", "args": "push --force"}, guardrail.Block},
		{m{"command": "ls && git", "args": words("push")}, guardrail.Block},
		{m{"args": words("git", "push")}, guardrail.Block},
		{m{"argv": words("rm", "x"), "timeout": 5.0}, guardrail.Block},
		{m{"commands": words("ls", "rm x")}, guardrail.Block},
		{m{"commands": words("rm", "x")}, guardrail.Block},
		{m{"commands": words(words("rm", "x"))}, guardrail.Block},
		{m{"command": words("ls; rm x")}, guardrail.Block},
		{m{"command": m{"line": "rm x"}, "why": "ls"}, guardrail.Block},
		{m{"code": "rm x", "input": "ls"}, guardrail.Block},
		{m{"command": "ls", "options": m{"cmd": "rm x"}}, guardrail.Block},
		{m{"command": "ls", "payload": "rm x"}, guardrail.Block},
		{m{"command": "ls", "payload": "ls"}, guardrail.Ask},
		{m{"command": "ls", "env": m{"LD_PRELOAD": "./x.so"}}, guardrail.Ask},
		{m{"command": "ls", "env": m{"a b": "c"}}, guardrail.Ask},
		{m{"command": words("ls", 5.0)}, guardrail.Ask},
		{m{"command": 5.0}, guardrail.Ask},
		{m{"a": "ls", "b": "ls"}, guardrail.Ask},
		{m{"command": m{"line": "ls"}}, guardrail.Ask},
		{m{"command": 5.0, "a": "ls"}, guardrail.Ask},
		{m{"command": "ls", "env": m{"LANG": 5.0}}, guardrail.Ask},
		{m{"command": "ls", "more": []string{"x"}}, guardrail.Ask},
		{m{"command": ""}, guardrail.Ask},
		{m{"command": words()}, guardrail.Ask},
		{m{"command": "ls", "args": words()}, guardrail.Allow},
		{m{"a": "ls", "b": "rm x"}, guardrail.Block},
		{m{}, guardrail.Ask},
		{m{"command": "ls", "env": m{"LANG": "C"}}, guardrail.Allow},
		{m{"command": "ls -l", "description": "rm is not run", "cwd": "src/rm", "timeout": 5.0, "background": true}, guardrail.Allow},
		{m{"command": "git", "args": words("log", "-3")}, guardrail.Allow},
		{m{"command": words("git", "commit", "-m", "rm x; git push")}, guardrail.Allow},
		{m{"payload": "ls"}, guardrail.Allow},
		{m{"command": "ls", "cwd": "."}, guardrail.Allow},
		{m{"command": "ls", "cwd": "/root"}, guardrail.Ask},
		{m{"command": "ls", "working_directory": "src; rm x"}, guardrail.Ask},
		{m{"command": "ls", "dir": "src/$(rm x)"}, guardrail.Ask},
		{m{"cwd": "rm x"}, guardrail.Block},
		{m{"commands": slices.Repeat(words("ls"), 2000), "args": slices.Repeat(words(words("-l")), 2000)}, guardrail.Ask},
		{m{"commands": append(slices.Repeat(words("ls"), 50), "rm x")}, guardrail.Block},
		{m{"commands": words("ls "+strings.Repeat("a", 60<<10), "ls "+strings.Repeat("b", 60<<10), "ls "+strings.Repeat("c", 60<<10))}, guardrail.Ask},
	} {
		assert.Equal(t, c.want, p.Judge(guardrail.ToolArgs, guardrail.Scope{Tool: "shell", Args: c.args}, "").Action, "%v", c.args)
	}
}
