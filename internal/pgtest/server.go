package pgtest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
)

// A Server is a running PostgreSQL.
type Server struct {
	bin, dir string
	// cleaner cleans up when alive is closed: by close, or by the end of the test process.
	cleaner *exec.Cmd
	alive   io.Closer
	ended   sync.Once
}

// missing says what to install.
type missing string

func (m missing) Error() string { return string(m) }

// settings are appended to postgresql.conf: a socket in the directory, no port, room for many processes.
const settings = `
listen_addresses = ''
unix_socket_directories = '%s'
max_connections = 200
log_min_messages = fatal
fsync = %s
`

// durable returns PostgreSQL's setting fsync: on for benchmarks and for the long form of tests (see
// contract.Times), else off. Tests end processes and no machine, so what is committed is there also where it
// does not wait for the disk.
func durable() string {
	if bench := flag.Lookup("test.bench"); contract.Times(1) > 1 || bench != nil && bench.Value.String() != "" {
		return "on"
	}
	return "off"
}

// patience is for how many seconds pg_ctl waits. Its own minute is short for a recovery on a busy machine.
const patience = "600"

// access lets plughook in as is; every other role needs its password.
const access = "local all plughook trust\nlocal all all scram-sha-256\n"

func start() (*Server, error) {
	bin := binaries()
	if bin == "" {
		return nil, missing("pgtest: no PostgreSQL on this machine: apt-get install postgresql (or put initdb and pg_ctl on the PATH)")
	}
	dir, err := os.MkdirTemp("", "plughook-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if err := s.setUp(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *Server) setUp() error {
	if err := give(s.dir); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	if err := s.run("initdb", "-D", data, "-U", "plughook", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"postgresql.auto.conf": fmt.Sprintf(settings, s.dir, durable()),
		"pg_hba.conf":          access,
	} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			return err
		}
		if err := give(filepath.Join(data, name)); err != nil {
			return err
		}
	}
	if err := s.watch(); err != nil {
		return err
	}
	return s.boot()
}

// cleanUp waits for the end of its input, stops the server as "pg_ctl -m immediate stop" would, and removes
// its directory.
const cleanUp = `cat
if pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null); then
	kill -QUIT "$pid"
	while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid"; do sleep 0.05; done
fi
rm -rf "$1"`

// watch starts the process that cleans up, however this process ends.
func (s *Server) watch() (err error) {
	s.cleaner = exec.Command("sh", "-c", cleanUp, "sh", s.dir)
	s.cleaner.Dir = "/"
	detached(s.cleaner)
	if s.alive, err = s.cleaner.StdinPipe(); err != nil {
		return err
	}
	return s.cleaner.Start()
}

// boot starts the server and waits until it takes connections.
func (s *Server) boot() error {
	return s.run("pg_ctl", "-D", filepath.Join(s.dir, "data"), "-l", filepath.Join(s.dir, "log"), "-w", "-t", patience, "start")
}

// Dir returns the directory of the server's data, log and socket.
func (s *Server) Dir() string { return s.dir }

// Crash stops the server at once, as a loss of power would but for the disk.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	require.NoError(t, s.run("pg_ctl", "-D", filepath.Join(s.dir, "data"), "-m", "immediate", "-w", "-t", patience, "stop"))
}

// Restart starts the server again after Crash; it recovers first.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	require.NoError(t, s.boot())
}

// close ends the server and removes its directory.
func (s *Server) close() {
	s.ended.Do(func() {
		if s.alive != nil {
			_ = s.alive.Close()
			_ = s.cleaner.Wait()
		}
		_ = os.RemoveAll(s.dir)
	})
}

func (s *Server) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = "/"
	var out bytes.Buffer
	if name != "pg_ctl" { // what pg_ctl starts keeps its output open
		cmd.Stdout = &out
		cmd.Stderr = &out
	}
	unprivileged(cmd)
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("pgtest: %s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out.Bytes(), log)
	}
	return nil
}

// binaries returns the directory of the newest PostgreSQL installed, "" if there is none.
func binaries() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	more, _ := filepath.Glob("/usr/pgsql-*/bin/initdb")
	if found = append(found, more...); len(found) == 0 {
		return ""
	}
	newest := slices.MaxFunc(found, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // 9 is before 15
		}
		return strings.Compare(a, b)
	})
	return filepath.Dir(newest)
}
