package sqlite

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sessiontest"
)

// released are the migrations that are in use somewhere, by the beginning of the SHA-256 of their text. They
// are never changed: what is to be different is another migration. A migration that is not released yet is not
// among them. When it is, it comes here, and what it made goes to testdata.
var released = map[string]string{
	"00001_sessions.sql": "46c04009ee619d37",
	"00002_holder.sql":   "fd5f44c353efed48",
}

func TestReleasedMigrationsStay(t *testing.T) {
	t.Parallel()
	files, err := migrations.ReadDir("migrations")
	require.NoError(t, err)
	require.LessOrEqual(t, len(released), len(files))
	for _, file := range files[:len(released)] {
		data, err := migrations.ReadFile("migrations/" + file.Name())
		require.NoError(t, err)
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		require.Equal(t, released[file.Name()], sum[:16], file.Name())
	}
}

// A file of each version of the schema, as that version's program left it when it was killed, opens, says
// what it said then, and goes on.
func TestFilesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for version := range len(released) {
		name := fmt.Sprint("schema_", version+1)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile("testdata/" + name + ".sqlite")
			require.NoError(t, err)
			golden, err := os.ReadFile("testdata/" + name + ".jsonl")
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "sessions.db")
			require.NoError(t, os.WriteFile(path, data, 0o600))
			s := openPath(t, path)
			sessiontest.Upgraded(t, s, golden)
			require.NoError(t, s.Close())
			openPath(t, path)
		})
	}
}

// newer has this program's migrations, and one more.
func newer(t *testing.T) (files fs.FS, version int) {
	t.Helper()
	all := fstest.MapFS{}
	list, err := migrations.ReadDir("migrations")
	require.NoError(t, err)
	for _, file := range list {
		data, err := migrations.ReadFile("migrations/" + file.Name())
		require.NoError(t, err)
		all["migrations/"+file.Name()] = &fstest.MapFile{Data: data}
	}
	version = len(list) + 1
	all[fmt.Sprintf("migrations/%05d_newer.sql", version)] = &fstest.MapFile{Data: []byte(
		"-- +goose Up\nALTER TABLE events RENAME COLUMN data TO body;\n")}
	return all, version
}

// While a program has the file open, a newer one cannot change the schema under it: it waits, and says for
// what. The older one goes on meanwhile. Later it cannot open the file.
func TestNewerProgramWaits(t *testing.T) {
	t.Parallel()
	files, version := newer(t)
	s, at := fresh(t, 3*time.Second, patient)
	err := prepare(t.Context(), s.path, files, 100*time.Millisecond)
	require.ErrorContains(t, explain(s.path, err), "no other process may have it open")
	require.ErrorContains(t, explain(s.path, err), "find out which (fuser, lsof) and stop it")

	migrated := make(chan error, 1)
	go func() { migrated <- prepare(t.Context(), s.path, files, time.Hour) }()
	for range 50 {
		at.After, err = s.Append(t.Context(), at, event1K())
		require.NoError(t, err)
	}
	require.EqualValues(t, 50, position(t, s, at.Key))
	select {
	case err := <-migrated:
		t.Fatal("the schema was changed under an open store: ", err)
	default:
	}
	require.NoError(t, s.Close())
	require.NoError(t, <-migrated)

	_, err = Open(t.Context(), s.path)
	require.ErrorIs(t, err, session.ErrNewerSchema)
	require.ErrorContains(t, err,
		fmt.Sprintf("it has version %d, this program knows versions up to %d", version, version-1))
	require.True(t, strings.HasPrefix(err.Error(), "sqlite: "))
}
