//go:build unix

package policy_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// What is a directory, a pipe or a device is refused, and nobody is waited for who might write it.
func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{pipe, os.DevNull, t.TempDir()} {
		_, err := policy.Load(name)
		require.ErrorContains(t, err,
			"guardrail: policy: "+name+" is a directory, a pipe or a device")
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	require.NoError(t, os.WriteFile(large, make([]byte, 4<<20+1), 0o600))
	_, err := policy.Load(large)
	require.ErrorContains(t, err, "4194305 bytes or more; a policy has at most 4194304")
}
