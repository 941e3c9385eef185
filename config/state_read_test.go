package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/config"
)

// What instructions, questions, arguments, conditions and plugins read is known, so that callers do not write it.
func TestWhatTheConfigurationReadsOfTheState(t *testing.T) {
	dir := t.TempDir()
	policy := "rules:\n  - {id: big, stages: [output], when: 'state.limit > 3', action: block}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600))
	c, err := config.Parse(filepath.Join(dir, "runner.yaml"), []byte(`
app: desk
tools: [{name: pay, description: Pays., command: [cat]}]
agent:
  name: desk
  workflow:
    nodes:
      - {name: greet, agent: {name: greeter, model: "openai:gpt-5", instruction: "Welcome to {shop?}, {user:name}. {output}"}}
      - {name: sure, ask: {message: "Pay {amount.value}?"}}
      - {name: pay, tool: pay, args: {to: ["{account}"]}}
    edges:
      - {from: START, to: greet}
      - {from: greet, to: sure, when: 'state.paid != true'}
      - {from: greet, to: pay, otherwise: true}
plugins:
  - budget: {tenant_key: "user:tenant", limits: [{name: runs, count: runs, max: 3, per: tenant}]}
  - earlyexit: {rules: [{author: user, state: {closed: true}, answer: "We are closed."}]}
  - guardrail: {file: policy.yaml}
`))
	require.NoError(t, err)
	require.Equal(t, []string{"account", "amount", "amount.value", "output", "paid", "shop", "user:name"}, c.StateRead())
	report, err := c.Check(t.Context(), config.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"account", "amount", "closed", "limit", "output", "paid", "shop", "user:name",
		"user:tenant"}, report.NotForCallers, "amount.value is a part of amount")
}
