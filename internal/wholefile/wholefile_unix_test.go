//go:build unix

package wholefile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/wholefile"
)

// A pipe gets the data and stays a pipe; so does a device. A file is replaced.
func TestWhatIsNoFileIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	got := make(chan string)
	go func() {
		data, err := os.ReadFile(pipe)
		if err != nil {
			data = []byte(err.Error())
		}
		got <- string(data)
	}()
	require.NoError(t, wholefile.Write(pipe, []byte("all of it")))
	require.Equal(t, "all of it", <-got)
	info, err := os.Stat(pipe)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)

	file := filepath.Join(dir, "file")
	for _, text := range []string{"first", "second"} {
		require.NoError(t, wholefile.Write(file, []byte(text)))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
	require.Error(t, wholefile.Write(dir, nil))
}
