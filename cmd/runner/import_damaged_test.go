package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/internal/sqlitedb"
)

// A damaged file of another kit is named and refused, and no store is made.
func TestImportOfADamagedFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kit.db")
	db := sqlitedb.Open(file, sqlitedb.Create)
	_, err := db.Exec(kitDatabase + `; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
		INSERT INTO events (id, app_name, user_id, session_id, author, timestamp, content)
		SELECT 'x' || i, 'shop', 'ana', 's1', 'user', '2026-03-02 08:00:01', '{"x":"' || hex(zeroblob(300)) || '"}' FROM n`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	copy(data[len(data)/2:], bytes.Repeat([]byte{0xa5}, 8192))
	require.NoError(t, os.WriteFile(file, data, 0o600))

	store := filepath.Join(dir, "a.db")
	for _, more := range [][]string{nil, {"--dry-run"}} {
		code, out, stderr := clitest.RunLeakless(t, newRoot, nil,
			append([]string{"session", "import", file, "--store", "sqlite:" + store}, more...)...)
		require.Equal(t, 2, code, stderr)
		require.Empty(t, out)
		require.Contains(t, stderr, "runner: "+file+": the database is damaged; restore a backup")
		require.NoFileExists(t, store)
	}
}
