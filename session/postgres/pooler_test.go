package postgres_test

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/pgtest"
)

// Something between here and PostgreSQL that knows few parameters, as PgBouncer does, is lived with.
func TestPoolerOfFewParameters(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.URL(t))
	require.NoError(t, err)
	q := u.Query()
	server := filepath.Join(q.Get("host"), ".s.PGSQL.5432")
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	var all sync.WaitGroup
	refused := make(chan string, 100)
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer client.Close()
				if name := relay(t, client, server); name != "" {
					refused <- name
				}
			})
		}
	})
	t.Cleanup(func() { listener.Close(); all.Wait() })
	q.Set("host", dir)
	q.Set("default_query_exec_mode", "exec")
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	use(t, open(t, u.String()))
	require.Contains(t, []string{"enable_seqscan", "plan_cache_mode"}, <-refused)
}

// relay connects a client to the server, unless it asks for a parameter that is not known, which it returns.
func relay(t *testing.T, client net.Conn, server string) string {
	backend := pgproto3.NewBackend(client, client)
	hello, err := backend.ReceiveStartupMessage()
	if err != nil {
		t.Error(err)
		return ""
	}
	startup, ok := hello.(*pgproto3.StartupMessage)
	if !ok { // a cancel request; nothing here sends one
		return ""
	}
	for name := range startup.Parameters {
		switch name {
		case "user", "database", "client_encoding":
		default:
			backend.Send(&pgproto3.ErrorResponse{
				Severity: "FATAL",
				Code:     "08P01",
				Message:  "unsupported startup parameter: " + name,
			})
			_ = backend.Flush()
			return name
		}
	}
	upstream, err := net.Dial("unix", server)
	if err != nil {
		t.Error(err)
		return ""
	}
	first, err := startup.Encode(nil)
	if err == nil {
		_, err = upstream.Write(first)
	}
	if err != nil {
		t.Error(err)
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, upstream)
		client.Close()
	})
	_, _ = io.Copy(upstream, client)
	upstream.Close()
	back.Wait()
	return ""
}
