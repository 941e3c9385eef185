package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patient is how long the stores of tests try while other processes are in the way: on a busy machine some try in
// vain for longer than the 30 seconds of Open.
const patient = 5 * time.Minute

// openTest opens a store in a new file.
func openTest(t testing.TB) *Store { return openPath(t, filepath.Join(t.TempDir(), "sessions.db")) }

// openPatient is Open with patience.
func openPatient(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, 3*time.Second, patient)
}

func openPath(t testing.TB, path string) *Store {
	s, err := openPatient(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
