//go:build unix

package postgres_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sessiontest"
)

// bouncer starts a PgBouncer in transaction mode before a database, and returns the URL through it.
func bouncer(t *testing.T, database string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil && os.Getenv(pgtest.All) == "" {
		t.Skip("pgbouncer is not installed: apt-get install pgbouncer")
	}
	require.NoError(t, err)
	u, err := url.Parse(database)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "plughook-bouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	q := u.Query()
	settings := fmt.Sprintf(`
[databases]
* = host=%s user=plughook
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
logfile = %s/log
ignore_startup_parameters = extra_float_digits
`, q.Get("host"), dir, dir)
	file := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o644))
	args := []string{file}
	if os.Getuid() == 0 { // as whom it does not run: it takes the user who reaches the server's socket
		info, err := os.Stat(q.Get("host"))
		require.NoError(t, err)
		owner, err := user.LookupId(fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid))
		require.NoError(t, err)
		args = []string{"-u", owner.Username, file}
		require.NoError(t, os.Chmod(dir, 0o777))
	}
	cmd := exec.Command(program, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*"))
		return len(found) > 0
	}, time.Minute, 10*time.Millisecond, "it does not listen")
	q.Set("host", dir)
	q.Set("port", "6432")
	q.Set("sslmode", "disable")
	q.Set("default_query_exec_mode", "exec")
	u.RawQuery = q.Encode()
	return u.String()
}

// The whole contract holds through a PgBouncer that gives each transaction another connection, of four in all.
// The schema was made through a direct connection.
func TestConformanceThroughPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	open(t, direct)
	pooled := bouncer(t, direct)
	sessiontest.Run(t, func(t *testing.T) session.Service {
		t.Parallel()
		return open(t, pooled)
	})
}
