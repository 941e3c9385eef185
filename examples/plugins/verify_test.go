//go:build unix

package plugins_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each plugin keeps the rules of the protocol, and those of every plugin, with the settings in its verify.json.
func TestVerify(t *testing.T) {
	runner := build(t, t.TempDir(), "../../cmd/runner")
	for _, plugin := range []string{"audit", "toolpolicy"} {
		t.Run(plugin, func(t *testing.T) {
			if plugin == "toolpolicy" {
				needNode(t)
			}
			out, err := exec.Command(runner, "plugin", "verify", plugin).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Regexp(t, `\n\d+ ok, 0 failed, \d+ skipped\n`, string(out))
		})
	}
}
