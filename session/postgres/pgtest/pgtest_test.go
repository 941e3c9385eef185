package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestURLGivesAFreshDatabase(t *testing.T) {
	ctx := context.Background()
	for range 2 {
		t.Run("", func(t *testing.T) {
			conn, err := pgx.Connect(ctx, pgtest.URL(t))
			require.NoError(t, err)
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, "CREATE TABLE one (n int)")
			require.NoError(t, err, "the table of another test is here")
			var sync string
			require.NoError(t, conn.QueryRow(ctx, "SHOW fsync").Scan(&sync))
			require.Equal(t, "on", sync)
		})
	}
}

func TestCrashAndRestartKeepWhatWasCommitted(t *testing.T) {
	ctx := context.Background()
	s := pgtest.Start(t)
	url := s.URL(t)
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "CREATE TABLE one AS SELECT 1 AS n")
	require.NoError(t, err)
	s.Crash(t)
	require.Error(t, conn.Ping(ctx))
	conn.Close(ctx)
	s.Restart(t)
	conn, err = pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	var n int
	require.NoError(t, conn.QueryRow(ctx, "SELECT n FROM one").Scan(&n))
	require.Equal(t, 1, n)
}
