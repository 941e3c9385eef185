//go:build unix

package guardrail_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
)

// A file that has become a pipe holds up no run: the policy before it stays, and that is told.
func TestReloadWaitsForNoPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(file,
		[]byte(`rules: [{id: a, detect: {words: [one]}, action: redact}]`), 0o600))
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", "2", "3")
	require.Equal(t, "user: [WORD]", s.run("one")[0])

	require.NoError(t, os.Remove(file))
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	require.Equal(t, "user: [WORD]", s.run("one")[0])
	require.Contains(t, s.log.String(), "the one before it stays in force")
	require.Contains(t, s.log.String(), "is a directory, a pipe or a device")

	require.NoError(t, os.Remove(file))
	require.NoError(t, os.WriteFile(file,
		[]byte(`rules: [{id: a, detect: {words: [two]}, action: redact}]`), 0o600))
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(file, later, later))
	require.Equal(t, "user: one", s.run("one")[0])
}
