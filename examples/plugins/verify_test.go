//go:build unix

package plugins_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each plugin keeps the rules of the protocol, and those of every plugin, with the settings in its
// verify.json.
func TestVerify(t *testing.T) {
	t.Parallel()
	runner := theRunner(t)
	for _, plugin := range []string{"audit", "guardrail", "toolpolicy"} {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			if plugin == "toolpolicy" {
				needNode(t)
			}
			args := []string{"plugin", "verify", plugin}
			if plugin == "guardrail" { // with a key that stays, the same conversation has the same answers
				args = append(
					args,
					"--env",
					"GUARD_KEY=a key of sixteen bytes, and more",
					"--settings",
					`{"key_env":"GUARD_KEY"}`,
				)
			}
			out, err := exec.Command(runner, args...).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Regexp(t, `\n\d+ ok, 0 failed, \d+ skipped\n`, string(out))
		})
	}
}
