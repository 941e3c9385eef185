//go:build unix

package sqlite

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// When the file is deleted or replaced in mid-lease nothing goes on as if it were there.
func TestRemoved(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 300*time.Millisecond, patient)
	lease, err := s.Lease(t.Context(), at.Key, "")
	require.NoError(t, err)
	at.Fence = lease.Fence
	at.After, err = s.Append(t.Context(), at, event1K())
	require.NoError(t, err)
	require.NoError(t, os.Remove(s.path))
	for range 2 {
		_, err = s.Append(t.Context(), at, event1K())
		require.ErrorContains(t, err,
			"the file was deleted, replaced or cut short while it was open")
		_, err = s.Get(t.Context(), at.Key)
		require.ErrorIs(t, err, errMoved)
		require.NoError(t, os.WriteFile(s.path, []byte("something else"), 0o600))
	}
	<-lease.Lost
	lease.Release()
}

// When what belongs to the file is deleted, replaced or cut short while it is open, no append is
// acknowledged any more, and whoever opens the file next has all that was acknowledged, where that is in
// any file at all.
func TestRemovedLog(t *testing.T) {
	t.Parallel()
	remove := func(suffixes ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			for _, suffix := range suffixes {
				require.NoError(t, os.Remove(path+suffix))
			}
		}
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, path string)
		lost bool // what was acknowledged is in no file any more
	}{
		"-wal removed":          {harm: remove("-wal")},
		"-shm removed":          {harm: remove("-shm")},
		"-wal and -shm removed": {harm: remove("-wal", "-shm")},
		"-wal moved away": {harm: func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path+"-wal", path+"-old"))
		}},
		"-wal replaced by a copy": {harm: func(t *testing.T, path string) {
			replaceByCopy(t, path+"-wal")
		}},
		"-wal replaced by an empty file": {lost: true, harm: func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path+"-wal"))
			require.NoError(t, os.WriteFile(path+"-wal", nil, 0o600))
		}},
		"-wal emptied": {lost: true, harm: func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(path+"-wal", 0))
		}},
		"-wal cut short": {lost: true, harm: func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(path+"-wal", 20000))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
			require.NoError(t, err)
			m, err := s.Create(t.Context(), session.Key{App: "app", User: "user"}, nil)
			require.NoError(t, err)
			at := session.AppendTarget{Key: m.Key}
			for range 20 {
				at.After, err = s.Append(t.Context(), at, event1K())
				require.NoError(t, err)
			}
			c.harm(t, s.path)
			for range 3 {
				_, err = s.Append(t.Context(), at, event1K())
				require.ErrorIs(t, err, errMoved)
				_, err = s.Get(t.Context(), at.Key)
				require.ErrorIs(t, err, errMoved)
			}

			if c.lost { // at least no more is
				data, err := os.ReadFile(s.path)
				require.NoError(t, err)
				require.NoError(t, s.Close())
				after, err := os.ReadFile(s.path)
				require.NoError(t, err)
				require.Equal(t, data, after)
				return
			}

			// Another process opens the file, before this one closes it and after.
			require.Equal(t, "21", appendElsewhere(t, s.path))
			require.Equal(t, "22", appendElsewhere(t, s.path))
			require.NoError(t, s.Close())
			require.Equal(t, "23", appendElsewhere(t, s.path))
		})
	}
}

// What is removed in the middle of a transaction is noticed before that is acknowledged.
func TestRemovedInACommit(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t, 3*time.Second, patient)
	err := s.write(t.Context(), 0, func(*conn) error { return os.Remove(s.path + "-wal") })
	require.ErrorIs(t, err, errMoved)
}

// A log that SQLite itself has made shorter is no reason to stop.
func TestLogMadeShorter(t *testing.T) {
	t.Parallel()
	s, at := fresh(t, 3*time.Second, patient)
	var err error
	for range 3 {
		for range 20 {
			at.After, err = s.Append(t.Context(), at, event1K())
			require.NoError(t, err)
		}
		run(t, s.path, "PRAGMA wal_checkpoint(TRUNCATE)")
		f, err := os.Stat(s.path + "-wal")
		require.NoError(t, err)
		require.Zero(t, f.Size())
	}
	require.EqualValues(t, 60, position(t, s, at.Key))
}

// A symbolic link may lead to the file, also before the file is there. When it leads elsewhere later, nothing is
// acknowledged any more.
func TestSymbolicLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	link := filepath.Join(dir, "sessions.db")
	require.NoError(t, os.Symlink(filepath.Join("data", "link.db"), link))
	require.NoError(t,
		os.Symlink(filepath.Join(dir, "data", "real.db"), filepath.Join(dir, "data", "link.db")))
	for range 2 { // the first makes the file
		s, err := Open(t.Context(), link)
		require.NoError(t, err)
		_, err = s.Create(t.Context(), session.Key{App: "app", User: "user"}, nil)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	_, err := os.Stat(filepath.Join(dir, "data", "real.db"))
	require.NoError(t, err)

	// The name of the log is the real file's.
	s := openPath(t, link)
	at := session.AppendTarget{Key: session.Key{App: "app", User: "user", ID: "s"}}
	_, err = s.Create(t.Context(), at.Key, nil)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "data", "real.db-wal")))
	_, err = s.Append(t.Context(), at, event1K())
	require.ErrorIs(t, err, errMoved)

	// The link is replaced.
	s, err = Open(t.Context(), filepath.Join(dir, "data", "other.db"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(filepath.Join("data", "other.db"), link))
	s = openPath(t, link)
	_, err = s.Create(t.Context(), at.Key, nil)
	require.NoError(t, err)
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(filepath.Join("data", "real.db"), link))
	_, err = s.Append(t.Context(), at, event1K())
	require.ErrorIs(t, err, errMoved)

	// A link that leads to itself.
	require.NoError(t, os.Symlink("circle.db", filepath.Join(dir, "circle.db")))
	_, err = Open(t.Context(), filepath.Join(dir, "circle.db"))
	require.ErrorContains(t, err, "too many levels of symbolic links")
}

// Under two names, two processes would write to two logs, and one of them lose what it has acknowledged.
func TestHardLink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Link(path, path+".backup"))
	for _, name := range []string{path, path + ".backup"} {
		_, err = Open(t.Context(), name)
		require.ErrorContains(t, err, "the file has another name (a hard link)")
	}
	require.NoError(t, os.Remove(path+".backup"))
	openPath(t, path)
}

// replaceByCopy puts a copy in the place of a file.
func replaceByCopy(t *testing.T, path string) {
	t.Helper()
	from, err := os.Open(path)
	require.NoError(t, err)
	defer from.Close()
	to, err := os.Create(path + ".copy")
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	require.NoError(t, os.Rename(path+".copy", path))
}

// A connection that a store opens later is never one to another file, and no empty file is left where the file was.
func TestReaderOfAMovedFile(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(t *testing.T, path string){
		"moved away": func(*testing.T, string) {},
		"replaced": func(t *testing.T, path string) {
			run(t, path, "PRAGMA journal_mode = WAL", "CREATE TABLE another (a)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, at := fresh(t, 3*time.Second, patient)
			require.NoError(t, os.Rename(s.path, s.path+".moved"))
			after(t, s.path)
			_, err := s.reader() // as if it had been moved just before
			require.ErrorIs(t, s.explain(err), errMoved)
			if name == "moved away" {
				require.NoFileExists(t, s.path)
			}
			_, err = s.Get(t.Context(), at.Key)
			require.ErrorIs(t, err, errMoved)
		})
	}
}
