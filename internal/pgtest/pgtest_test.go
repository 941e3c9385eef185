package pgtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A test process that is killed leaves neither a server nor its directory behind.
func TestKilled(t *testing.T) {
	if os.Getenv("PGTEST_KILLED") != "" {
		s := pgtest.Start(t)
		fmt.Println("dir", s.Dir())
		select {} // until killed
	}
	pgtest.URL(t) // or be skipped
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "PGTEST_KILLED=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var dir string
	_, err = fmt.Fscanf(out, "dir %s", &dir)
	require.NoError(t, err)
	require.DirExists(t, dir)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	}, time.Minute, 50*time.Millisecond, "the server is still there")
}

func TestURLGivesAFreshDatabase(t *testing.T) {
	ctx := context.Background()
	for range 2 {
		t.Run("", func(t *testing.T) {
			conn, err := pgx.Connect(ctx, pgtest.URL(t))
			require.NoError(t, err)
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, "CREATE TABLE one (n int)")
			require.NoError(t, err, "the table of another test is here")
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
