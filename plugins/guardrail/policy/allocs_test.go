//go:build !race

package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// A text in ASCII in which nothing is found costs no allocation. (Under the race detector pools
// forget what they have.)
func TestJudgingAllocatesNothing(t *testing.T) {
	p := policy.Default()
	require.Zero(t, testing.AllocsPerRun(200,
		func() { p.Judge(policy.Input, policy.Scope{User: "ada"}, clean) }))
}
