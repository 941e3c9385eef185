//go:build unix

package remote

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

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
	require.Equal(t, map[string]string{"a.js": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"}, pinned.Files)
	require.Equal(t, map[string]string{"a.js": ""}, c.Files, "the caller's is left alone")
	p, _ := started(t, pinned)
	require.Equal(t, "hello", asked(t, p, "say hello"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.js"), []byte("two"), 0o600))
	_, err = Start(t.Context(), pinned)
	require.ErrorIs(t, err, ErrDigest)
}

func TestWhatCannotBePinned(t *testing.T) {
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
