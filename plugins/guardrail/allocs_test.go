//go:build !race

package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
)

// A text in ASCII in which nothing is found costs no allocation. (Under the race detector pools forget what they have.)
func TestJudgingAllocatesNothing(t *testing.T) {
	p := guardrail.Default()
	require.Zero(t, testing.AllocsPerRun(200, func() { p.Judge(guardrail.Input, guardrail.Scope{User: "ada"}, clean) }))
}
