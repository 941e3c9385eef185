//go:build unix

package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A key in the host's environment does not reach a plugin that was not given it.
func TestThePluginsEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("GRANTED", "granted-canary")
	t.Setenv("TZ", "Europe/Berlin")
	c := command("asked")
	c.Env = append(c.Env, "GRANTED", "SET=a value", "NOT_THERE")
	p, log := started(t, c)
	env := strings.Split(asked(t, p, "env"), "\n")
	require.NotContains(t, strings.Join(env, "\n"), "sk-canary")
	for _, v := range []string{"GRANTED=granted-canary", "SET=a value", "TZ=Europe/Berlin", "PATH=" + os.Getenv("PATH")} {
		require.Contains(t, env, v)
	}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		require.True(t, strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "PLUGHOOK_") || name == "GORACE" || name == "GRANTED" || name == "SET" ||
			name == "PATH" || name == "HOME" || name == "LANG" || name == "TMPDIR" || name == "TZ", "it has %s", name)
	}
	require.Contains(t, log.String(), "variable=NOT_THERE")
	_, err := question(t, p, "crash granted-canary")
	require.ErrorContains(t, err, "$GRANTED")
	require.NotContains(t, err.Error(), "granted-canary")
	require.NoError(t, p.stop(t.Context()))
	require.NotContains(t, log.String(), "canary")
}

func copyOfMe(t *testing.T) (path, sum string) {
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(path, data, 0o700))
	digest := sha256.Sum256(data)
	return path, hex.EncodeToString(digest[:])
}

// What was hashed is what runs: the file may change right after, and does not matter to what is started again either.
func TestThePinnedExecutable(t *testing.T) {
	path, sum := copyOfMe(t)
	c := command("asked")
	c.Name, c.Command[0], c.SHA256 = "pinned", path, strings.ToUpper(sum)
	p, _ := started(t, c)
	require.Equal(t, "hello", asked(t, p, "say hello"))
	require.NoError(t, os.WriteFile(path+".new", []byte("another"), 0o700))
	require.NoError(t, os.Rename(path+".new", path))
	again, _ := started(t, c)
	require.Equal(t, "hello", asked(t, again, "say hello"))
	require.NoError(t, p.stop(t.Context()))
	require.NoError(t, again.stop(t.Context()))
	require.Empty(t, images.all)

	_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrDigest)
	another := sha256.Sum256([]byte("another"))
	require.ErrorContains(t, err, hex.EncodeToString(another[:]))
	require.ErrorContains(t, err, sum)
	require.Empty(t, images.all)
}

func TestAScriptIsNoExecutableToPin(t *testing.T) {
	script := []byte("#!/bin/sh\nexit 1\n")
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, script, 0o700))
	sum := sha256.Sum256(script)
	_, err := start(t.Context(), Config{Command: []string{path}, SHA256: hex.EncodeToString(sum[:])}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "name its interpreter")
	require.Empty(t, images.all)
}

func TestPinnedFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.js"), []byte("source"), 0o600))
	sum := sha256.Sum256([]byte("source"))
	c := command("asked")
	c.Command[0], _ = filepath.Abs(c.Command[0])
	c.Dir, c.Files = dir, map[string]string{"main.js": hex.EncodeToString(sum[:])}
	p, _ := started(t, c)
	require.Equal(t, "hello", asked(t, p, "say hello"))

	c.Files["main.js"] = strings.Repeat("0", 64)
	_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrDigest)
	for _, text := range []string{"main.js", hex.EncodeToString(sum[:]), strings.Repeat("0", 64)} {
		require.ErrorContains(t, err, text)
	}
	c.Files = map[string]string{"gone.js": c.Files["main.js"]}
	_, err = start(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func init() {
	// touches does something with a file, leaves it as it was, and goes on as a plugin.
	processes["touches"] = func() {
		path := os.Args[3]
		data, err := os.ReadFile(path)
		switch os.Args[4] {
		case "writes":
			err = errors.Join(err, os.WriteFile(path, []byte("another"), 0o600), os.WriteFile(path, data, 0o600))
		case "swaps":
			err = errors.Join(err, os.Rename(path, path+".was"), os.WriteFile(path, []byte("another"), 0o600), os.Rename(path+".was", path))
		case "removes":
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			panic(err)
		}
		Serve(ask(answer))
	}
}

// What an interpreter has read is what was hashed: files that were touched in between are not taken for it, even if
// they are as they were.
func TestPinnedFilesAreUntouched(t *testing.T) {
	for _, how := range []string{"reads", "writes", "swaps", "removes"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "main.js")
			require.NoError(t, os.WriteFile(file, []byte("source"), 0o600))
			sum := sha256.Sum256([]byte("source"))
			c := command("touches", file, how)
			c.Files = map[string]string{file: hex.EncodeToString(sum[:])}
			if how == "reads" {
				p, _ := started(t, c)
				require.Equal(t, "hello", asked(t, p, "say hello"))
				return
			}
			_, err := start(t.Context(), c, discard)
			require.ErrorIs(t, err, ErrDigest)
			require.ErrorContains(t, err, "main.js was touched")
		})
	}
}

// A socket that somebody else listens at is not taken for the plugin's.
func TestSomebodyElseListens(t *testing.T) {
	path := filepath.Join(socketBase(), "plughook-test-"+filepath.Base(t.TempDir()))
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	_, err = start(t.Context(), command("another listens", path), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrProtocol)
	require.ErrorContains(t, err, "not of the plugin")
}

// Once a plugin runs there is no directory and no socket of it that anyone could find.
func TestNothingIsLeftInTheFileSystem(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p, _ := started(t, command("asked"))
	require.Equal(t, "hello", asked(t, p, "say hello"))
	entries, err := os.ReadDir(socketBase())
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), dirPrefix+"/")
	}
	_, err = os.Stat(p.address)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSweepingLeavesWhatIsInUse(t *testing.T) {
	base := t.TempDir()
	used, err := newPrivateDir(base)
	require.NoError(t, err)
	stale := staleDir(t, base)
	require.NoError(t, os.Mkdir(filepath.Join(base, "another"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(base, "another"), filepath.Join(base, dirPrefix+"1-2")))
	info, err := os.Stat(used.path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	sweep(base)
	require.DirExists(t, used.path)
	require.NoDirExists(t, stale)
	require.DirExists(t, filepath.Join(base, "another"))
	used.remove()
	require.NoDirExists(t, used.path)
}

// staleDir returns a directory with a socket, as a host leaves it that has died.
func staleDir(t *testing.T, base string) string {
	d, err := newPrivateDir(base)
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Chdir(d.path) // the path may be too long
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}))
	require.NoError(t, unix.Close(fd))
	require.NoError(t, d.lock.Close())
	return d.path
}

// A directory that this package has not made, or in which there is anything that it has not put there, stays with all
// that is in it.
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
			require.NoError(t, os.Mkdir(filepath.Join(dir, imageFile), 0o700))
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
	d, err := newPrivateDir(t.TempDir())
	require.NoError(t, err)
	file := filepath.Join(d.path, "notes.txt")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d.remove()
	require.FileExists(t, file)
}
