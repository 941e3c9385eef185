package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page in docs is what the command writes.
func TestPageIsFresh(t *testing.T) {
	text, err := page()
	require.NoError(t, err)
	written, err := os.ReadFile("../../../../docs/guardrail-reference.md")
	require.NoError(t, err)
	require.Equal(t, text, string(written),
		"docs/guardrail-reference.md is stale: run go generate ./plugins/guardrail/policy")
}
