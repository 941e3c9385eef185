package sqlite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// run runs statements on the file from outside of a store, which may write to it at the same time.
func run(t testing.TB, path string, queries ...string) {
	t.Helper()
	c, err := dialNew(path, "busy_timeout = 60000")
	require.NoError(t, err)
	for _, q := range queries {
		_, err := c.exec(q)
		require.NoError(t, err, q)
	}
	require.NoError(t, c.close())
}

// made makes a file with one session of three events.
func made(t testing.TB) (path string, key session.Key) {
	path = filepath.Join(t.TempDir(), "sessions.db")
	key = session.Key{App: "app", User: "user", ID: "s"}
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), key, nil)
	require.NoError(t, err)
	_, err = s.Append(t.Context(), session.AppendTarget{Key: key}, event1K(), event1K(), event1K())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return path, key
}

// Every error of Open names the file and says what to do.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(in("directory"), 0o700))
	require.NoError(t, os.WriteFile(in("text"), bytes.Repeat([]byte("hello "), 1000), 0o600))
	run(t, in("other"), "CREATE TABLE sessions (a)")
	newer, _ := made(t)
	run(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	damaged, _ := made(t)
	data, err := os.ReadFile(damaged)
	require.NoError(t, err)
	for i := 100; i < 8192; i++ { // the schema's page
		data[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(damaged, data, 0o600))
	for _, c := range []struct {
		path, want string
		is         error
	}{
		{path: "", want: "use package session/memory"},
		{path: ":memory:", want: "use package session/memory"},
		{path: in("missing/sessions.db"), want: "missing is missing: make it first"},
		{path: in("directory"), want: "give the path of a database file"},
		{path: in("text"), want: "check the path, or restore a backup"},
		{path: in("other"), want: "the database of another program: give another path"},
		{path: damaged, want: "restore a backup"},
		{path: newer, want: "it has version 99, this program knows versions up to 3: use a newer program", is: session.ErrNewerSchema},
	} {
		s, err := Open(t.Context(), c.path)
		require.Nil(t, s)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, c.path)
		require.True(t, strings.HasPrefix(err.Error(), "sqlite: "), err.Error())
		require.Equal(t, 1, strings.Count(err.Error(), "sqlite: "), err.Error())
		if c.is != nil {
			require.ErrorIs(t, err, c.is)
		}
	}
	_, err = os.Stat(in("missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Whoever comes first makes the file; all others find it made.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := filepath.Join(t.TempDir(), "sessions.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := openPatient(t.Context(), path)
				if err == nil {
					_, err = s.Create(t.Context(), session.Key{App: "app", User: "user"},
						map[string]any{"app:a": 1})
				}
				if err == nil {
					err = s.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := openPath(t, path)
		n := 0
		for _, err := range s.List(t.Context(), "app", "user") {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 8, n)
	}
}

// A program that died while it made the file leaves one that the next makes whole.
func TestOpenUnfinished(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, openPath(t, path).Close())
	path = filepath.Join(t.TempDir(), "sessions.db")
	run(
		t,
		path,
		"PRAGMA application_id = 1347179847",
		"CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)",
	)
	require.NoError(t, openPath(t, path).Close())
	run(t, path, "PRAGMA journal_mode = DELETE")
	s := openPath(t, path)
	var mode string
	_, err := s.writer.c.row("PRAGMA journal_mode", nil, &mode)
	require.NoError(t, err)
	require.Equal(t, "wal", mode)
}

// The path is a path, whatever characters are in it.
func TestOpenPath(t *testing.T) {
	t.Chdir(t.TempDir())
	name := "a b?c#d%41&mode=ro.db"
	require.NoError(t, openPath(t, name).Close())
	_, err := os.Stat(name)
	require.NoError(t, err)
	require.NoError(t, openPath(t, "file:x.db").Close())
	_, err = os.Stat("file:x.db")
	require.NoError(t, err)
}

// Opening gives up with the context.
func TestOpenContext(t *testing.T) {
	t.Parallel()
	path, _ := made(t)
	c, err := dial(path, "locking_mode = EXCLUSIVE")
	require.NoError(t, err)
	_, err = c.exec("BEGIN EXCLUSIVE")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Open(ctx, path)
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, c.close())
}

// SQLite before 3.51.3 can corrupt a file in WAL mode that several connections write to.
func TestVersion(t *testing.T) {
	t.Parallel()
	var text string
	_, err := openTest(t).writer.c.row("SELECT sqlite_version()", nil, &text)
	require.NoError(t, err)
	var version []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		require.NoError(t, err)
		version = append(version, n)
	}
	require.GreaterOrEqual(t, slices.Compare(version, []int{3, 51, 3}), 0, text)
}

// What must be read by an index is.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for _, q := range []string{
		listQuery(listAll), listQuery(listApp), listQuery(listUser), rangeQuery, lastQuery,
		"SELECT " + rowColumns + " FROM sessions WHERE app = ? AND usr = ? AND id = ?",
	} {
		var id, parent, rest int
		var plan string
		err := s.writer.c.each(
			"EXPLAIN QUERY PLAN "+q,
			make([]any, strings.Count(q, "?")),
			[]any{&id, &parent, &rest, &plan},
			func() error {
				require.True(t, strings.HasPrefix(plan, "SEARCH "), "%s\n%s", q, plan)
				return nil
			},
		)
		require.NoError(t, err)
	}
}

// What was deleted is not left in the free pages of the file.
func TestDeletedTextIsNotInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	const secret = "a secret of ann"
	at := session.AppendTarget{Key: session.Key{App: "app", User: "ann", ID: "s"}}
	_, err = s.Create(t.Context(), at.Key,
		map[string]any{"own": secret, "user:own": strings.Repeat(secret, 1000)})
	require.NoError(t, err)
	for i := range 100 {
		e := event1K()
		e.Content = genai.NewContentFromText(strings.Repeat(secret, 1+i), "user")
		at.After, err = s.Append(t.Context(), at, e)
		require.NoError(t, err)
	}
	e := event1K()
	e.Actions.StateDelta = map[string]any{"user:own": nil}
	_, err = s.Append(t.Context(), at, e)
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), at.Key))
	require.NoError(t, s.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.False(t, bytes.Contains(data, []byte(secret)), "it is still in the file")
}
