package artifact_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

var (
	ctx = context.Background()
	key = session.Key{App: "app", User: "ann", ID: "s"}
)

// home is where key's artifacts are below a directory of Files.
var home = filepath.Join("app", "ann", "sessions", "s")

func save(t testing.TB, s artifact.Service, key session.Key, name, text string) int64 {
	t.Helper()
	v, err := s.Save(ctx, key, name, genai.NewPartFromBytes([]byte(text), "text/plain"))
	require.NoError(t, err)
	return v
}

func load(t testing.TB, s artifact.Service, key session.Key, name string, version int64) string {
	t.Helper()
	p, err := s.Load(ctx, key, name, version)
	require.NoError(t, err)
	return string(p.InlineData.Data)
}

func names(t testing.TB, s artifact.Service, key session.Key) []string {
	t.Helper()
	list, err := s.List(ctx, key)
	require.NoError(t, err)
	return list
}

// files returns what is below a directory, as relative paths.
func files(t testing.TB, dir string) []string {
	var list []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	}))
	return list
}

// put makes a file, and the directories that it is in.
func put(t testing.TB, text string, path ...string) string {
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestFilesStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	first, err := artifact.Open(dir)
	require.NoError(t, err)
	save(t, first, key, "charts/Q3.png", "one")
	save(t, first, key, "charts/Q3.png", "two")
	save(t, first, key, "user:notes", "three")
	require.NoError(t, first.Close())
	_, err = first.Load(ctx, key, "charts/Q3.png", 0)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = first.Save(ctx, key, "charts/Q3.png", genai.NewPartFromText("x"))
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = first.List(ctx, key)
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, first.Delete(ctx, key, "charts/Q3.png"), os.ErrClosed)

	again := open(t, dir)
	require.Equal(t, []string{"charts/Q3.png", "user:notes"}, names(t, again, key))
	require.Equal(t, "one", load(t, again, key, "charts/Q3.png", 0))
	require.Equal(t, "two", load(t, again, key, "charts/Q3.png", artifact.Latest))
	require.EqualValues(t, 2, save(t, again, key, "charts/Q3.png", "four"))
	require.Contains(t, files(t, dir), "app/ann/sessions/s/charts%2f%513.png/2/data")
	require.Contains(t, files(t, dir), "app/ann/user/user%3anotes/0/about.json")
	for _, name := range files(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "others can read %s", name)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	_, err := artifact.Open(put(t, "", t.TempDir(), "file"))
	require.ErrorContains(t, err, "the directory for artifacts")
}

// What a crash has left is no version, and goes: a version that was being written when the artifact is
// saved a day later, an artifact that was being deleted when another one is.
func TestFilesAfterACrash(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, key, "a", "whole")
	old, young := filepath.Join(dir, home, "a", "new-OLD"), filepath.Join(dir, home, "a", "new-YOUNG")
	put(t, "ha", old, "data")
	put(t, "half", young, "data")
	put(t, `{"name":"a","kind":"text","size":4}`, young, "about.json")
	put(t, "ha", dir, home, "b", "new-X", "data")
	put(t, "deleted", dir, home, "~X", "0", "data")
	put(t, `{"name":"c","kind":"text","size":7}`, dir, home, "~X", "0", "about.json")
	put(t, "the file manager's", dir, home, ".DS_Store")
	yesterday := time.Now().Add(-25 * time.Hour)
	require.NoError(t, os.Chtimes(old, yesterday, yesterday))

	require.Equal(t, []string{"a"}, names(t, s, key))
	require.Equal(t, "whole", load(t, s, key, "a", artifact.Latest))
	for _, name := range []string{"b", "c"} {
		_, err := s.Load(ctx, key, name, artifact.Latest)
		require.ErrorIs(t, err, artifact.ErrNotFound)
		_, err = s.Versions(ctx, key, name)
		require.ErrorIs(t, err, artifact.ErrNotFound)
	}
	require.EqualValues(t, 1, save(t, s, key, "a", "next"))
	require.NoDirExists(t, old)
	require.DirExists(t, young, "somebody may be writing it")
	require.EqualValues(t, 0, save(t, s, key, "b", "first"))
	require.NoError(t, s.Delete(ctx, key, "no such thing"))
	require.NoDirExists(t, filepath.Join(dir, home, "~X"))
	require.NoError(t, s.Delete(ctx, key, "a"))
	require.NoDirExists(t, young)
	require.Equal(t, []string{"b"}, names(t, s, key))
}

// What is damaged is an error that says so, not an artifact that is not there, nor half of one.
func TestDamagedFiles(t *testing.T) {
	for what, damage := range map[string]func(version string){
		"data cut":         func(v string) { require.NoError(t, os.Truncate(filepath.Join(v, "data"), 2)) },
		"no data":          func(v string) { require.NoError(t, os.Remove(filepath.Join(v, "data"))) },
		"no about.json":    func(v string) { require.NoError(t, os.Remove(filepath.Join(v, "about.json"))) },
		"about.json empty": func(v string) { require.NoError(t, os.Truncate(filepath.Join(v, "about.json"), 0)) },
		"of another kind":  func(v string) { put(t, `{"name":"a","kind":"new","size":5}`, v, "about.json") },
		"another's":        func(v string) { put(t, `{"name":"b","kind":"text","size":5}`, v, "about.json") },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			save(t, s, key, "a", "whole")
			save(t, s, key, "a", "whole")
			damage(filepath.Join(dir, home, "a", "1"))
			_, err := s.Load(ctx, key, "a", artifact.Latest)
			require.ErrorContains(t, err, "damaged")
			require.ErrorContains(t, err, `"a" of session app/ann/s`)
			require.NotErrorIs(t, err, artifact.ErrNotFound)
			require.Equal(t, "whole", load(t, s, key, "a", 0))
			require.EqualValues(t, 2, save(t, s, key, "a", "next"))
			require.NoError(t, s.Delete(ctx, key, "a"))
			require.Empty(t, names(t, s, key))
		})
	}
}

// Wherever somebody puts a symbolic link: nothing outside of the directory is read, listed, written or
// deleted, and nobody waits for ever.
func TestSymlinksLeadNowhere(t *testing.T) {
	for _, at := range []string{"app", "app/ann", "app/ann/sessions", "app/ann/sessions/s", "app/ann/sessions/s/a", "app/ann/sessions/s/a/0", "app/ann/sessions/s/a/0/data", "app/ann/sessions/s/a/0/about.json"} {
		for what, target := range map[string]string{"absolute": "", "relative": strings.Repeat("../", strings.Count(at, "/")+1) + "out/" + at, "dangling": "nowhere"} {
			t.Run(fmt.Sprint(at, " ", what), func(t *testing.T) {
				base := t.TempDir()
				in, out := filepath.Join(base, "in"), filepath.Join(base, "out")
				outside, err := artifact.Open(out)
				require.NoError(t, err)
				save(t, outside, key, "a", "secret")
				require.NoError(t, outside.Close())
				before := files(t, out)
				link := filepath.Join(in, at)
				require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
				if target == "" {
					target = filepath.Join(out, at)
				}
				if strings.Contains(at, "/0/") { // the other file of the version is there
					for _, name := range []string{"data", "about.json"} {
						text, err := os.ReadFile(filepath.Join(out, home, "a", "0", name))
						require.NoError(t, err)
						put(t, string(text), in, home, "a", "0", name)
					}
					require.NoError(t, os.Remove(link))
				}
				require.NoError(t, os.Symlink(target, link))

				s := open(t, in)
				_, err = s.Load(ctx, key, "a", 0)
				require.Error(t, err)
				list, _ := s.List(ctx, key)
				if !strings.HasSuffix(at, "data") { // which List does not read
					require.Empty(t, list)
				}
				_, err = s.Save(ctx, key, "a", genai.NewPartFromText("written"))
				if strings.Count(at, "/") < 5 &&
					what != "dangling" { // to where there is nothing yet, below the directory
					require.Error(t, err)
				}
				_ = s.Delete(ctx, key, "a")
				require.Equal(t, before, files(t, out))
				text, err := os.ReadFile(filepath.Join(out, home, "a", "0", "data"))
				require.NoError(t, err)
				require.Equal(t, "secret", string(text))
			})
		}
	}
}

// The names of directories say who had artifacts. They go with the last artifact.
func TestDeletedFilesLeaveNoDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	other := key
	other.User = "other"
	for _, name := range []string{"a", "b/c", "user:d"} {
		for _, k := range []session.Key{key, other} {
			_, err := s.Save(ctx, k, name, genai.NewPartFromText("x"))
			require.NoError(t, err)
		}
	}
	for _, name := range []string{"a", "b/c", "user:d"} {
		require.NoError(t, s.Delete(ctx, key, name))
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	for _, name := range []string{"a", "b/c", "user:d"} {
		require.NoError(t, s.Delete(ctx, other, name))
	}
	left, err = filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Directories that a deletion removes while another artifact is saved below them are made again.
func TestFilesAreSavedWhileDirectoriesGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range 4 {
		s := open(t, dir)
		name := fmt.Sprint(n)
		all.Go(func() {
			for range 30 {
				_, err := s.Save(ctx, key, name, genai.NewPartFromText(name))
				if !assert.NoError(t, err) {
					return
				}
				p, err := s.Load(ctx, key, name, artifact.Latest)
				if !assert.NoError(t, err) || !assert.Equal(t, name, p.Text) {
					return
				}
				_, err = s.List(ctx, key)
				if !assert.NoError(t, err) || !assert.NoError(t, s.Delete(ctx, key, name)) {
					return
				}
			}
		})
	}
	all.Wait()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
