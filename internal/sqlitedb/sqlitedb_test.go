package sqlitedb_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	lib "modernc.org/sqlite/lib"

	"github.com/plughook/plughook/internal/sqlitedb"
)

// What is written is read.
func TestValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a ?%#.db")
	db := sqlitedb.Open(file, sqlitedb.Create, "busy_timeout = 1000")
	defer db.Close()
	_, err := db.Exec("-- two statements\nCREATE TABLE t (v); /* none */ INSERT INTO t VALUES (?); -- the end", "first")
	require.NoError(t, err)
	require.FileExists(t, file)

	for _, v := range []any{nil, int64(-1 << 63), 1.5, "ü\x00\xff", "", []byte("a\x00"), []byte{}, bytes.Repeat([]byte("x"), 1<<20)} {
		var got any
		kind := ""
		require.NoError(t, db.QueryRow("SELECT ?, typeof(?1)", v).Scan(&got, &kind))
		require.Equal(t, v, got, kind)
	}
	r, err := db.Exec("UPDATE t SET v = ?", []byte(nil))
	require.NoError(t, err)
	n, err := r.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	var is bool
	require.NoError(t, db.QueryRow("SELECT v IS NULL FROM t").Scan(&is))
	require.True(t, is)
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := sqlitedb.Open(filepath.Join(dir, "none.db"), sqlitedb.ReadWrite).Exec("SELECT 1")
	require.Equal(t, lib.SQLITE_CANTOPEN, sqlitedb.Code(err))
	db := sqlitedb.Open(filepath.Join(dir, "a.db"), sqlitedb.Create)
	defer db.Close()
	_, err = db.Exec("SELEKT 1")
	require.ErrorContains(t, err, `near "SELEKT": syntax error`)
	require.Equal(t, lib.SQLITE_ERROR, sqlitedb.Code(err))
	_, err = db.Exec("SELECT ?", time.Now())
	require.ErrorContains(t, err, "argument 1: SQLite has no type for a time.Time")
	require.Zero(t, sqlitedb.Code(err))
	for _, query := range []string{"", " ; -- nothing", "/* nothing"} {
		_, err = db.Exec(query)
		require.ErrorContains(t, err, "no statement", query)
	}
	_, err = db.Prepare("SELECT 1; SELECT 2")
	require.ErrorContains(t, err, "one statement only")

	// A transaction that is not committed leaves nothing.
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("CREATE TABLE t (v)")
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	_, err = db.Exec("SELECT * FROM t")
	require.ErrorContains(t, err, "no such table")
}

// The end of a context interrupts a statement, and the connection can be used again.
func TestInterrupted(t *testing.T) {
	db := sqlitedb.Open(filepath.Join(t.TempDir(), "a.db"), sqlitedb.Create)
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
	_, err := db.ExecContext(ctx, endless)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = db.Exec("SELECT 1")
	require.NoError(t, err)
}
