package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A file that this process may not write to is refused when it is opened.
func TestReadOnly(t *testing.T) {
	path, _ := made(t)
	require.NoError(t, os.Chmod(path, 0o444))
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o555))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	defer os.Chmod(filepath.Dir(path), 0o755)
	errs := make(chan error)
	go func() {
		if os.Getuid() == 0 { // whom permissions do not stop: this thread goes on as nobody, and ends with the goroutine
			runtime.LockOSThread()
			_, _ = unix.SetfsuidRetUid(65534)
		}
		_, err := Open(t.Context(), path)
		errs <- err
	}()
	require.ErrorContains(t, <-errs, "read only for this process: change its permissions")
}
