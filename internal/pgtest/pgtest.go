// Package pgtest gives tests a PostgreSQL of their own: one server per test process, made of the
// binaries installed on the machine, and a fresh database for each test.
//
// The server listens on a socket in a temporary directory only. It ends, and the directory goes, when
// Main does, and also when the test process dies in any other way.
//
// A new setting of the server: settings in server.go.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/leaktest"
)

// All is the environment variable that makes a test fail, in place of being skipped, when what it
// needs is not installed.
const All = "PLUGHOOK_TEST_ALL"

var (
	once      sync.Once
	shared    *Server
	sharedErr error
	databases atomic.Int64
)

// Main runs a package's tests, stops the server that URL started, and exits: with 1 if the tests left
// goroutines behind. It is to be called from TestMain by every package that calls URL.
func Main(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.close()
	}
	if err := leaktest.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "pgtest: goroutines were left behind:", err)
		code = 1
	}
	os.Exit(code)
}

// URL returns the URL of a fresh database that is dropped when the test ends. The server's settings are
// PostgreSQL's own; only a benchmark waits for the disk, and the long form of tests. The test is skipped
// where PostgreSQL is not installed; see All.
func URL(t testing.TB) string {
	t.Helper()
	once.Do(func() { shared, sharedErr = start() })
	demand(t, sharedErr)
	return shared.URL(t)
}

// Start starts a server that is the test's alone, for tests that stop it, and that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	demand(t, err)
	t.Cleanup(s.close)
	return s
}

// demand ends the test if there is no server.
func demand(t testing.TB, err error) {
	t.Helper()
	if _, ok := err.(missing); ok && os.Getenv(All) == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// URL returns the URL of a fresh database on the server.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	require.NoError(t, s.exec("CREATE DATABASE "+name))
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Log("pgtest: the database stays:", err) // the test has stopped the server
		}
	})
	return s.url(name)
}

func (s *Server) url(database string) string {
	q := url.Values{"host": {s.dir}, "user": {"plughook"}}
	return "postgres:///" + database + "?" + q.Encode()
}

func (s *Server) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	if e := conn.Close(ctx); err == nil {
		err = e
	}
	return err
}
