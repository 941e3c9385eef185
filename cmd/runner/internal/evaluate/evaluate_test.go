package evaluate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/eval"
)

// A rate that just as many runs have is enough, and one run less is not.
func TestEnough(t *testing.T) {
	for runs := 1; runs <= 300; runs++ {
		for passed := 1; passed <= runs; passed++ {
			e := evaluation{passRate: float64(passed) / float64(runs)}
			require.True(t, e.enough(eval.Rate{Passed: passed, Runs: runs}), "%d of %d", passed, runs)
			require.False(t, e.enough(eval.Rate{Passed: passed - 1, Runs: runs}), "%d of %d", passed-1, runs)
		}
	}
	e := evaluation{passRate: 0.28}
	require.True(t, e.enough(eval.Rate{Passed: 7, Runs: 25}))
}
