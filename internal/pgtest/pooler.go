package pgtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// poolerSettings are those of a PgBouncer in front of a server. Each transaction may get another connection.
const poolerSettings = `
[databases]
* = host=%s
[pgbouncer]
unix_socket_dir = %s
listen_addr =
listen_port = 6432
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
`

// Pooler returns the URL that leads to a database through a PgBouncer, given the one that URL returned. Open
// the database by that one first: migrating needs a connection of its own. The PgBouncer ends with the
// test. The test is skipped where none is installed; see All.
func Pooler(t testing.TB, to string) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin = "/usr/sbin/pgbouncer"
		if _, err = os.Stat(bin); err != nil {
			demand(t, missing("pgtest: no PgBouncer on this machine: apt-get install pgbouncer"))
		}
	}
	direct, err := url.Parse(to)
	require.NoError(t, err)
	q := direct.Query()

	// Its files. The path of a socket must be short.
	dir, err := os.MkdirTemp("", "plughook-pooler-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, give(dir))
	users := filepath.Join(dir, "users")
	settings := filepath.Join(dir, "settings")
	for name, text := range map[string]string{
		users:    `"plughook" ""`,
		settings: fmt.Sprintf(poolerSettings, q.Get("host"), dir, users),
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		require.NoError(t, give(name))
	}

	// The shell sees the end of its input when this process ends, however it ends.
	cmd := exec.Command("sh", "-c", `"$1" -q "$2" & pooler=$!; cat; kill -9 $pooler; wait $pooler`, "sh", bin, settings)
	cmd.Dir = "/"
	unprivileged(cmd)
	alive, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = alive.Close()
		_ = cmd.Wait() // it was killed
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond, "PgBouncer does not listen")

	q.Set("host", dir)
	q.Set("port", "6432")
	q.Set("default_query_exec_mode", "exec")
	direct.RawQuery = q.Encode()
	return direct.String()
}
