package audit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The system says once that lines may be lost. Everybody who waits for one of them is told.
func TestLostLines(t *testing.T) {
	open := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		require.NoError(t, err)
		return f
	}
	good, bad := open(), open()
	defer good.Close()
	require.NoError(t, bad.Close())
	var d disk
	d.wrote(3)
	require.ErrorContains(t, d.sync(bad, 2), "audit: lines up to 3 may not be on the disk: ")
	require.ErrorIs(t, d.sync(good, 3), os.ErrClosed, "though the next call of the system succeeds")
	d.wrote(5)
	require.NoError(t, d.sync(good, 4))
	require.ErrorIs(t, d.sync(good, 2), os.ErrClosed, "also later")
	require.NoError(t, d.syncAll(good), "and a file of which lines were lost can be rotated")
	require.NoError(t, d.sync(bad, 5), "it went with the one before")
}
