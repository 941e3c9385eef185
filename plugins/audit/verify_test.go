//go:build unix

package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/session"
)

// Whatever is done to lines, but cutting some off at an end, shows.
func TestTamperingShows(t *testing.T) {
	whole := read(t, fill(t, 8))
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[7] += "\n"
	rapid.Check(t, func(t *rapid.T) {
		text := slices.Clone(lines)
		i := rapid.IntRange(0, 6).Draw(t, "line") // the last one has no successor that knows it
		switch rapid.SampledFrom([]string{"change", "remove", "repeat", "swap"}).Draw(t, "what") {
		case "change":
			at := rapid.IntRange(0, len(text[i])-2).Draw(t, "byte")
			b := []byte(text[i])
			b[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			text[i] = string(b)
		case "remove":
			text = slices.Delete(text, max(1, i), max(1, i)+1)
		case "repeat":
			text = slices.Insert(text, i, text[i])
		case "swap":
			text[i], text[i+1] = text[i+1], text[i]
		}
		_, err := audit.Verify(strings.NewReader(strings.Join(text, "")), nil)
		require.ErrorIs(t, err, audit.ErrBroken)
	})
}

func TestVerify(t *testing.T) {
	whole := read(t, fill(t, 8))
	all := verify(t, whole)
	require.Equal(t, int64(8), all.Last)
	require.Len(t, all.Hash, 64)
	require.Zero(t, verify(t, ""))

	fifth := strings.Index(whole, `{"n":5,`)
	require.Equal(t, audit.Chain{First: 5, Last: 8, Hash: all.Hash}, verify(t, whole[fifth:]),
		"files before it were deleted")
	got, err := audit.Verify(strings.NewReader(whole[:fifth+20]), nil)
	require.ErrorIs(t, err, audit.ErrBroken)
	require.ErrorContains(t, err, "audit: line 5: the chain is broken: it is cut off")
	require.Equal(t, int64(4), got.Last)
	_, err = audit.Verify(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(whole))), nil)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.False(t, errors.Is(err, audit.ErrBroken))
}

// A file that was cut while it was written to, or behind the plugin's back, does not verify.
func TestCutFileDoesNotVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p := create(t, audit.Config{Path: path})
	for range 4 {
		require.NoError(t, offer(p, session.Message("hello"), "x"))
	}
	require.NoError(t, os.Truncate(path, int64(strings.Index(read(t, path), `{"n":3,`))))
	require.NoError(t, offer(p, session.Message("hello"), "x"))
	got, err := audit.Verify(strings.NewReader(read(t, path)), nil)
	require.ErrorIs(t, err, audit.ErrBroken)
	require.ErrorContains(t, err, "its number is 5, after 2")
	require.Equal(t, int64(2), got.Last)
}

// With a key the chain is the key's: who has not got it can neither check nor make one.
func TestKey(t *testing.T) {
	t.Setenv("AUDIT_KEY", "a key of enough bytes")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p := create(t, audit.Config{Path: path, KeyEnv: "AUDIT_KEY"})
	for range 3 {
		require.NoError(t, offer(p, session.Message("hello"), "x"))
	}
	c, err := audit.Verify(strings.NewReader(read(t, path)), []byte("a key of enough bytes"))
	require.NoError(t, err)
	require.Equal(t, int64(3), c.Last)
	for _, key := range [][]byte{nil, []byte("another key of enough bytes")} {
		_, err = audit.Verify(strings.NewReader(read(t, path)), key)
		require.ErrorIs(t, err, audit.ErrBroken)
	}
	_, err = audit.Verify(strings.NewReader(""), []byte("short"))
	require.ErrorContains(t, err, "the key has 5 bytes; it must have at least 16")
	_, err = audit.Fingerprint(nil, "x")
	require.ErrorContains(t, err, "the key has 0 bytes")
	x, err := audit.Fingerprint([]byte("a key of enough bytes"), "hello")
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(read(t, path), `"fingerprint":"`+x+`"`))
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	short := filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(short, []byte("secret\n"), 0o600))
	path := filepath.Join(dir, "audit.jsonl")
	for _, c := range []struct {
		config audit.Config
		want   string
	}{
		{audit.Config{}, "audit: there is no path; set path to the file of the record"},
		{audit.Config{Path: filepath.Join(dir, "none", "x")}, "no such file or directory"},
		{audit.Config{Path: path, Sync: "never"}, `audit: sync is "never"; it must be always or rotate`},
		{audit.Config{Path: path, MaxBytes: -1}, "audit: max_bytes is -1"},
		{audit.Config{Path: path, MaxAge: "30 days"}, `audit: max_age is "30 days"; it must be a duration above 0, such as 720h`},
		{audit.Config{Path: path, MaxAge: "-1h"}, `max_age is "-1h"`},
		{audit.Config{Path: path, MaxBytes: 1, Keep: -1}, "audit: keep is -1"},
		{audit.Config{Path: path, Keep: 3}, "audit: keep is 3, but there is only one file; set max_bytes or max_age too"},
		{audit.Config{Path: path, KeyFile: "x", KeyEnv: "Y"}, "audit: key_file and key_env are both set"},
		{audit.Config{Path: path, KeyFile: filepath.Join(dir, "none")}, "audit: key_file: open"},
		{audit.Config{Path: path, KeyFile: short}, "the key has 6 bytes; it must have at least 16"},
		{audit.Config{Path: path, KeyEnv: "PLUGHOOK_NO_SUCH_KEY"}, "audit: key_env: the environment has no PLUGHOOK_NO_SUCH_KEY"},
	} {
		_, err := audit.New(c.config)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret")
		require.NoFileExists(t, path)
	}
	_, err := audit.New(audit.Config{Sync: "x", Keep: -1})
	require.ErrorContains(t, err, "no path")
	require.ErrorContains(t, err, "sync is")
	require.ErrorContains(t, err, "keep is")
}
