package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
)

func TestLimitRefuses(t *testing.T) {
	rule := func(rest string) string { return "rules:\n  - {id: a, " + rest + "}\n" }
	const runs = "limit: {runs: 1, per: user}"
	for name, c := range map[string]struct{ file, want string }{
		"nothing":             {rule("limit: {per: user}, action: block"), "p.yaml:2:20: a limit is about one thing"},
		"empty":               {rule("limit: {}, action: block"), "p.yaml:2:20: a limit is about one thing"},
		"two things":          {rule("limit: {runs: 1, tokens: 1, per: user}, action: block"), "make a rule of each"},
		"none":                {rule("limit: {runs: 0, per: user}, action: block"), "p.yaml:2:27: 0 is no limit"},
		"less than none":      {rule("limit: {tokens: -5, per: user}, action: block"), "p.yaml:2:29: -5 is no limit"},
		"too many":            {rule("limit: {tokens: 9007199254740993, per: user}, action: block"), "is no limit"},
		"whose":               {rule("limit: {runs: 1}, action: block"), "p.yaml:2:20: say whose runs are counted together: per: session, user or app"},
		"whose, misspelled":   {rule("limit: {runs: 1, per: users}, action: block"), `p.yaml:2:35: "users" is not known here; did you mean "user"?`},
		"misspelled":          {rule("limit: {run: 1, per: user}, action: block"), `unknown key "run"; did you mean "runs"?`},
		"short window":        {rule("limit: {runs: 1, per: user, every: 100ms}, action: block"), "p.yaml:2:48: a window of 100ms is too short: it is 1s or more"},
		"no window":           {rule("limit: {runs: 1, per: user, every: 0s}, action: block"), "a window of 0s is too short"},
		"window, misspelled":  {rule("limit: {runs: 1, per: user, every: daily}, action: block"), "p.yaml:2:48: every wants a duration such as 500ms or 2s"},
		"no action":           {rule(runs), "p.yaml:2:5: the rule has no action: block, flag"},
		"redact":              {rule(runs + ", action: redact"), "a limit takes nothing out of a text: its action is one of block, flag"},
		"allow":               {rule(runs + ", action: allow"), "its action is one of block, flag"},
		"by type":             {rule(runs + ", action: {LIMIT: block}"), "its action is one of block, flag"},
		"ask about a run":     {rule(runs + ", action: ask"), "ask holds a tool's call for a human, and runs cannot wait for one"},
		"detect":              {rule(runs + ", detect: {secrets: default}, action: block"), "a limit counts, and looks at no text: it has no detect"},
		"judge":               {rule(runs + ", judge: {url: 'https://judge.example', timeout: 1s, on_error: block}, action: block"), "it has no judge"},
		"tools":               {rule(runs + ", tools: {deny: [x]}, action: block"), "it has no tools"},
		"window":              {rule(runs + ", window: turn, action: block"), "it has no window"},
		"with":                {rule(runs + ", with: x, action: block"), "it has no with"},
		"text":                {rule(runs + ", when: 'text == \"\"', action: block"), "a limit looks at no text: when can ask about"},
		"stage of runs":       {rule("stages: [input, output], " + runs + ", action: block"), "p.yaml:2:29: a limit of runs is not decided at output, but at input; leave stages out"},
		"stage of tokens":     {rule("stages: [tool_args], limit: {tokens: 1, per: app}, action: block"), "not decided at tool_args, but at input and prompt"},
		"stage of tool calls": {rule("stages: [input], limit: {tool_calls: 1, per: app}, action: block"), "not decided at input, but at tool_args"},
		"tool of runs":        {rule("scope: {tool: x}, " + runs + ", action: block"), "only tool_calls are of a tool"},
		"agent of runs":       {rule("scope: {agent: x}, " + runs + ", action: block"), "a run begins before any agent does"},
		"trust":               {rule("trust: untrusted, " + runs + ", action: block"), "only tool_calls can be counted from when on"},
		"id":                  {"rules:\n  - {id: 'a:b', " + runs + ", action: block}", "p.yaml:2:10: the id of a limit is a part of what it is counted under"},
		"same id":             {"rules:\n  - {id: a, when: tainted, action: block}\n  - {id: a, " + runs + ", action: block}", `p.yaml:3:10: another rule, at 2:10, has the id "a"`},
		"test of another":     {rule(runs+", action: block") + "tests:\n  - {name: x, stage: input, text: y, used: {b: 1}, want: block}", `p.yaml:4:48: no rule with a limit has the id "b"`},
		"test below nothing":  {rule(runs+", action: block") + "tests:\n  - {name: x, stage: input, text: y, used: {a: -1}, want: block}", "-1 runs cannot have been used"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guardrail.Parse("p.yaml", []byte(c.file))
			require.ErrorContains(t, err, c.want)
		})
	}
}

const limits = `
tenant_key: "user:tenant"
rules:
  - {id: budget, limit: {tokens: 200000, per: session}, action: block, message: That was all.}
  - {id: rate, limit: {runs: 30, per: user, every: 1h}, action: block}
  - {id: mails, stages: [tool_args], scope: {tool: send_mail}, limit: {tool_calls: 5, per: user, every: 24h}, action: ask}
  - {id: free, scope: {tenant: free}, limit: {model_calls: 10, per: app}, action: block}
  - {id: seen, mode: shadow, limit: {runs: 3, per: user}, action: flag}
tests:
  - {name: fresh, stage: input, text: hello, want: allow}
  - {name: all but one, stage: input, text: hello, used: {rate: 29}, want: allow}
  - {name: all, stage: input, text: hello, used: {rate: 30}, want: block, rule: rate}
  - {name: tokens, stage: prompt, text: hello, used: {budget: 200000}, want: block, rule: budget}
  - {name: a mail, stage: tool_args, tool: send_mail, text: x, used: {mails: 4}, want: allow}
  - {name: another mail, stage: tool_args, tool: send_mail, text: x, used: {mails: 7}, want: ask, rule: mails}
  - {name: another tool, stage: tool_args, tool: search, text: x, used: {mails: 7}, want: allow}
  - {name: who pays, stage: prompt, text: x, used: {free: 10}, want: allow}
  - {name: who does not, stage: prompt, text: x, state: {"user:tenant": free}, used: {free: 10}, want: block, rule: free}
  - {name: at another stage, stage: output, text: x, used: {rate: 30, budget: 200000, seen: 3}, want: allow}
  - {name: out of shadow, stage: input, text: x, used: {seen: 3}, want: flag, rule: seen}
`

func TestLimitsInTests(t *testing.T) {
	p := parse(t, limits)
	var ids []string
	for _, r := range p.Rules() {
		ids = append(ids, r.ID)
	}
	require.Equal(t, []string{"budget", "rate", "mails", "free", "seen"}, ids)
	require.Len(t, p.Only("rate").Rules(), 1)
	results := p.Test()
	require.Len(t, results, 11)
	for _, r := range results {
		require.Empty(t, r.Failure, r.Test.Name)
	}

	// A state as a session has it decides as well.
	v := p.Judge(guardrail.Input, guardrail.Scope{Session: "s", State: map[string]any{"user:guardrail:limit:rate:runs:user:1h0m0s:99999999999999": 30.0}}, "hello")
	require.Equal(t, guardrail.Block, v.Action)
	require.Equal(t, "LIMIT", v.Findings[0].Type)
	require.Contains(t, v.Message, "The policy's rule rate allows 30 runs per user in 1h, and nothing is left; try again in ")
	require.Equal(t, "hello", v.Text)

	for _, state := range []map[string]any{
		{"user:guardrail:limit:rate:runs:user:1h0m0s:1": 30.0},               // expired
		{"user:guardrail:limit:rate:runs:user:2h0m0s:99999999999999": 30.0},  // of another window
		{"user:guardrail:limit:rate:runs:user:1h0m0s:99999999999999": "30"},  // no number
		{"user:guardrail:limit:rate2:runs:user:1h0m0s:99999999999999": 30.0}, // of another rule
		{"user:guardrail:limit:rate:runs:user:1h0m0s:never": 30.0},           // of no time
		{"app:guardrail:limit:rate:runs:user:1h0m0s:99999999999999": 30.0},
	} {
		require.Equal(t, guardrail.Allow, p.Judge(guardrail.Input, guardrail.Scope{State: state}, "hello").Action, state)
	}
}
