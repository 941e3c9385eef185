//go:build unix

package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"github.com/plughook/plughook/plugin/internal/pinned"
	"github.com/plughook/plughook/plugin/internal/privatedir"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/serve"
)

func copyOfMe(t *testing.T) (path, sum string) {
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(path, data, 0o700))
	digest := sha256.Sum256(data)
	return path, hex.EncodeToString(digest[:])
}

// What was hashed is what runs: the file may change right after, and does not matter to what is
// started again either.
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
	require.NoError(t, p.process.Stop(t.Context()))
	require.NoError(t, again.process.Stop(t.Context()))
	require.Zero(t, pinned.Copies())

	_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrDigest)
	another := sha256.Sum256([]byte("another"))
	require.ErrorContains(t, err, hex.EncodeToString(another[:]))
	require.ErrorContains(t, err, sum)
	require.Zero(t, pinned.Copies())
}

func TestAScriptIsNoExecutableToPin(t *testing.T) {
	script := []byte("#!/bin/sh\nexit 1\n")
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, script, 0o700))
	sum := sha256.Sum256(script)
	_, err := start(t.Context(),
		Config{Command: []string{path}, SHA256: hex.EncodeToString(sum[:])},
		slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "name its interpreter")
	require.Zero(t, pinned.Copies())
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
	testplugin.Programs["touches"] = func() {
		path := os.Args[3]
		data, err := os.ReadFile(path)
		switch os.Args[4] {
		case "writes":
			err = errors.Join(err, os.WriteFile(path, []byte("another"), 0o600),
				os.WriteFile(path, data, 0o600))
		case "swaps":
			err = errors.Join(err, os.Rename(path, path+".was"),
				os.WriteFile(path, []byte("another"), 0o600), os.Rename(path+".was", path))
		case "exchanges", "exchanges above", "exchanges links":
			// What an interpreter opens is another file, while the pinned one is not touched.
			dir := filepath.Dir(path)
			if os.Args[4] == "exchanges above" {
				dir = filepath.Dir(dir)
			}
			err = errors.Join(err, os.Rename(dir, dir+".was"), os.Rename(dir+".evil", dir))
			if read, _ := os.ReadFile(path); string(read) != "another" {
				panic("it was not exchanged: " + string(read))
			}
			err = errors.Join(err, os.Rename(dir, dir+".evil"), os.Rename(dir+".was", dir))
		case "writes beside":
			err = errors.Join(err, os.WriteFile(path+".cache", data, 0o600),
				os.Mkdir(filepath.Dir(path)+"/__pycache__", 0o700))
		case "removes":
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			panic(err)
		}
		serve.Plugin(testplugin.Ask(answerText))
	}
}

// What an interpreter has read is what was hashed: files that were touched in between are not
// taken for it, even if they are as they were.
func TestPinnedFilesAreUntouched(t *testing.T) {
	harmless := []string{"reads", "writes beside"}
	harmful := []string{
		"writes",
		"swaps",
		"removes",
		"exchanges",
		"exchanges above",
		"exchanges links",
	}
	for _, how := range append(harmless, harmful...) {
		t.Run(how, func(t *testing.T) {
			if strings.HasPrefix(how, "exchanges") && runtime.GOOS != "linux" {
				t.Skip("it is not noticed there")
			}
			base := t.TempDir()
			file := filepath.Join(base, "app", "src", "main.js")
			for dir, source := range map[string]string{"app/src": "source", "app/src.evil": "another", "app.evil/src": "another"} {
				dir = filepath.Join(base, dir)
				require.NoError(t, os.MkdirAll(dir, 0o700))
				require.NoError(t,
					os.WriteFile(filepath.Join(dir, "main.js"), []byte(source), 0o600))
			}
			if how == "exchanges links" {
				require.NoError(t, os.Symlink("app/src", filepath.Join(base, "link")))
				require.NoError(t, os.Symlink("app/src.evil", filepath.Join(base, "link.evil")))
				file = filepath.Join(base, "link", "main.js")
			}
			sum := sha256.Sum256([]byte("source"))
			c := command("touches", file, how)
			c.Files = map[string]string{file: hex.EncodeToString(sum[:])}
			if slices.Contains(harmless, how) {
				p, _ := started(t, c)
				require.Equal(t, "hello", asked(t, p, "say hello"))
				return
			}
			_, err := start(t.Context(), c, testplugin.Discard)
			require.ErrorIs(t, err, ErrDigest)
			require.Regexp(t, "(main.js|link).* was touched|a directory of its files was moved",
				err.Error())
		})
	}
}

// A pinned file that has become a named pipe, which nobody writes to, holds up no start.
func TestAPinnedFileThatIsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.js")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	c := command("asked")
	c.Files = map[string]string{path: strings.Repeat("0", 64)}
	_, err := start(t.Context(), c, testplugin.Discard)
	require.ErrorContains(t, err, "is not a file")
	c = Config{Command: []string{path}, SHA256: strings.Repeat("0", 64)}
	_, err = start(t.Context(), c, testplugin.Discard)
	require.ErrorContains(t, err, "is not a file")
}

// A socket that somebody else listens at is not taken for the plugin's.
func TestSomebodyElseListens(t *testing.T) {
	path := filepath.Join(privatedir.Base(), "plughook-test-"+filepath.Base(t.TempDir()))
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
	entries, err := os.ReadDir(privatedir.Base())
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), privatedir.Prefix+"/")
	}
	_, err = os.Stat(p.process.Address)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What Pin says of the disk is what a start takes, until the disk changes.
func TestPin(t *testing.T) {
	path, sum := copyOfMe(t)
	dir := filepath.Dir(path)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.js"), []byte("one"), 0o600))
	c := command("asked")
	c.Command[0], c.Dir, c.Files = "./plugin", dir, map[string]string{"a.js": ""}
	pinned, err := Pin(c)
	require.NoError(t, err)
	require.Equal(t, sum, pinned.SHA256)
	require.Equal(
		t,
		map[string]string{
			"a.js": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
		},
		pinned.Files,
	)
	require.Equal(t, map[string]string{"a.js": ""}, c.Files, "the caller's is left alone")
	p, _ := started(t, pinned)
	require.Equal(t, "hello", asked(t, p, "say hello"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.js"), []byte("two"), 0o600))
	_, err = Start(t.Context(), pinned)
	require.ErrorIs(t, err, ErrDigest)
}

func TestScriptsAndDirectoriesAreNotPinned(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "short"), []byte("#"), 0o700))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	for name, tc := range map[string]struct {
		command []string
		file    string
		want    string
	}{
		"no command":   {nil, "short", "has no command"},
		"a script":     {[]string{"./script"}, "short", "./script is a script; name its interpreter"},
		"not there":    {[]string{"./nothing"}, "short", "no such file"},
		"not in PATH":  {[]string{"no-such-program"}, "short", "not found in $PATH"},
		"a directory":  {[]string{"./."}, "short", "is not a file"},
		"no such file": {[]string{"./short"}, "nothing.js", "nothing.js: no such file"},
		"no end":       {[]string{"./short"}, "fifo", "is not a file"},
		"a pipe":       {[]string{"./fifo"}, "short", "is not a file"},
		"a short file": {[]string{"./short"}, "short", ""},
	} {
		_, err := Pin(Config{Command: tc.command, Dir: dir, Files: map[string]string{tc.file: ""}})
		if tc.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tc.want, name)
	}
}
