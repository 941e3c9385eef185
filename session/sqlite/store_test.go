package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// openTest opens a store in a new file.
func openTest(t testing.TB) *Store { return openPath(t, filepath.Join(t.TempDir(), "sessions.db")) }

func openPath(t testing.TB, path string) *Store {
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
