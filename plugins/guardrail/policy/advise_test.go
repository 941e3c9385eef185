package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Names of tools that are those of none are told, wherever they stand.
func TestAdvise(t *testing.T) {
	p := parse(t, `version: 1
trusted_tools: [clock, "db_*"]
command_tools: {shell: {line: command}, bsh: {line: command}}
rules:
  - {id: a, stages: [tool_args], scope: {tool: send_mial}, action: block}
  - {id: b, stages: [tool_args], scope: {tool: ["*", "!refnd"]}, action: flag}
  - id: c
    tools:
      deny: [drop, "shell(rm *)"]
      ask: ["h?tp_get"]
  - {id: d, stages: [tool_result], scope: {tool: [grounding, code_execution, GOOGLE_MAPS]}, detect: {injection: default}, action: flag}
  - {id: e, stages: [tool_args], when: 'user == "bob"', scope: {tool: pay}, action: block}
`)
	require.Equal(t, []string{
		`p.yaml:2:16: no tool has the name "clock"`,
		`p.yaml:3:46: no tool has the name "bsh"`,
		`p.yaml:5:48: no tool has the name "send_mial"; did you mean "send_mail"?`,
		`p.yaml:6:48: no tool has the name "refnd"; did you mean "refund"?`,
		`p.yaml:9:14: no tool has the name "drop"`,
		`p.yaml:12:71: no tool has the name "pay"`,
	}, p.Advise([]string{"send_mail", "refund", "db_query", "shell", "http_get"}))
	require.Empty(t, p.Advise([]string{
		"clock",
		"db_x",
		"send_mial",
		"refnd",
		"drop",
		"shell",
		"bsh",
		"hxtp_get",
		"pay",
	}))
}
