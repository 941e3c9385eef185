//go:build unix

package privatedir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSweepingLeavesWhatIsInUse(t *testing.T) {
	base := t.TempDir()
	used, err := Make(base)
	require.NoError(t, err)
	stale := staleDir(t, base)
	require.NoError(t, os.Mkdir(filepath.Join(base, "another"), 0o700))
	require.NoError(t,
		os.Symlink(filepath.Join(base, "another"), filepath.Join(base, Prefix+"1-2")))
	info, err := os.Stat(used.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	sweep(base)
	require.DirExists(t, used.Path)
	require.NoDirExists(t, stale)
	require.DirExists(t, filepath.Join(base, "another"))
	used.Remove()
	require.NoDirExists(t, used.Path)
}

// staleDir returns a directory with a socket, as a host leaves it that has died.
func staleDir(t *testing.T, base string) string {
	d, err := Make(base)
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Chdir(d.Path) // the path may be too long
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}))
	require.NoError(t, unix.Close(fd))
	require.NoError(t, d.lock.Close())
	return d.Path
}

// A directory that this package has not made, or in which there is anything that it has not put
// there, stays with all that is in it.
func TestSweepingLeavesWhatIsNotOurs(t *testing.T) {
	keep := func(name string) func(t *testing.T, base, dir string) string {
		return func(t *testing.T, _, dir string) string {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("work"), 0o600))
			return filepath.Join(dir, name)
		}
	}
	for name, change := range map[string]func(t *testing.T, base, dir string) string{
		"a clone": func(t *testing.T, base, _ string) string {
			dir := filepath.Join(base, "plughook-x", ".git")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			return dir
		},
		"an old one": func(t *testing.T, base, _ string) string {
			dir := filepath.Join(base, "plughook-1-2")
			require.NoError(t, os.Mkdir(dir, 0o700))
			return dir
		},
		"another name": func(t *testing.T, base, dir string) string {
			require.NoError(t, os.Rename(dir, filepath.Join(base, "plughook-socket-mine")))
			return filepath.Join(base, "plughook-socket-mine")
		},
		"a file": keep("notes.txt"),
		"an image": func(t *testing.T, _, dir string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, ExecutableFile), 0o700))
			return dir
		},
		"other words": keep(markFile),
		"no mark": func(t *testing.T, _, dir string) string {
			require.NoError(t, os.Remove(filepath.Join(dir, markFile)))
			return dir
		},
		"open to others": func(t *testing.T, _, dir string) string { require.NoError(t, os.Chmod(dir, 0o755)); return dir },
		"a link for a mark": func(t *testing.T, base, dir string) string {
			require.NoError(t, os.Rename(filepath.Join(dir, markFile), filepath.Join(base, markFile)))
			require.NoError(t, os.Symlink(filepath.Join(base, markFile), filepath.Join(dir, markFile)))
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			stays := change(t, base, staleDir(t, base))
			sweep(base)
			_, err := os.Lstat(stays)
			require.NoError(t, err)
		})
	}
}

// What a plugin has put beside its socket is not this package's to remove.
func TestRemovingLeavesWhatIsNotOurs(t *testing.T) {
	d, err := Make(t.TempDir())
	require.NoError(t, err)
	file := filepath.Join(d.Path, "notes.txt")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d.Remove()
	require.FileExists(t, file)
}
