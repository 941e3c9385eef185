package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAgenthostIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"plugins: [{agenthost: {}}]": "f.yaml:1:23: there are no interceptors, so all would be denied",
		"plugins: [{agenthost: {interceptors: [{name: a, url: 'http://h'}]}, on_error: open}]":     "agenthost must stay closed",
		"plugins: [{agenthost: {interceptors: [{name: a, url: 'http://h'}], within: -1s}}]":        "within",
		"plugins: [{agenthost: {interceptors: [{name: a, url: b}, {name: a, url: b}]}}]":           `another interceptor, at`,
		"plugins: [{agenthost: {interceptors: [{name: a, url: 'http://u:hidden@h'}]}}]":            "interceptor a: agenthooks: the address has a user",
		"plugins: [{agenthost: {interceptors: [{name: a, url: 'http://h'}], profile: first}}]":     `there is no profile "first"`,
		"plugins: [{agenthost: {interceptors: [{name: a, url: 'http://h'}], mode: evaluate}}]":     `mode is "evaluate"`,
		"plugins: [{agenthost: {interceptors: [{name: a, url: 'http://h'}], on_approval: later}}]": `on_approval is "later"`,
	} {
		c, err := Parse("f.yaml", []byte(text))
		if err == nil {
			_, err = c.Check(t.Context(), Options{})
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hidden")
	}

	// A token that is not there is needed, and a run cannot begin without it.
	c, err := Parse("f.yaml", []byte("plugins: [{agenthost: {interceptors: [{name: a, url: 'http://h', token_env: PLUGHOOK_TEST_TOKEN}]}}]"))
	require.NoError(t, err)
	report, err := c.Check(t.Context(), Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"PLUGHOOK_TEST_TOKEN (not set)"}, report.Needs)
	_, err = c.Open(t.Context(), Options{Store: "memory:", NoAgent: true})
	require.ErrorContains(t, err, "interceptor a: the environment variable PLUGHOOK_TEST_TOKEN is not set")
}
