package policies_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
)

func TestPolicies(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			p, err := policy.Load(file)
			require.NoError(t, err)
			wants := map[bool]int{}
			for _, r := range selftest.Run(p) {
				assert.Empty(t, r.Failure, r.Test.Name)
				wants[r.Test.Want == string(policy.Allow)]++
			}
			require.Greater(t, wants[true], 4, "texts that are to pass")
			require.Greater(t, wants[false], 9, "texts that are not")
		})
	}
}
