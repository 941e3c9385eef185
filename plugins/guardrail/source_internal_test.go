package guardrail

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const shortPolicy = "version: 1\nrules:\n  - {id: a, detect: {words: [heron]}, action: block}\n"

// A connection that breaks off leaves the beginning of a policy, which may be a policy with fewer rules.
func TestAPolicyThatMayBeCutOffIsNotPutInForce(t *testing.T) {
	for _, row := range []struct {
		head, body string
		ok         bool
	}{
		{"HTTP/1.0 200 OK\r\n\r\n", shortPolicy, false},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", shortPolicy, false},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", shortPolicy + "...\n", true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", shortPolicy, false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3a\r\n", shortPolicy, false},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			for r := bufio.NewReader(c); ; {
				line, err := r.ReadString('\n')
				if err != nil || strings.TrimSpace(line) == "" {
					break
				}
			}
			_, _ = c.Write([]byte(row.head + row.body))
		}()
		p, err := Load(context.Background(), "http://"+l.Addr().String()+"/policy.yaml")
		require.Equal(t, row.ok, err == nil && p != nil, "%q: %v", row.head, err)
		require.NoError(t, l.Close())
		<-done
	}
}

func TestAFileOfTheSameSizeAndTimeIsReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(name, []byte(shortPolicy), 0o600))
	at := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(name, at, at))
	s, err := newSource(name)
	require.NoError(t, err)
	p, err := s.read(context.Background())
	require.NoError(t, err)
	again, err := s.read(context.Background())
	require.NoError(t, err)
	require.Nil(t, again)
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(shortPolicy, "heron", "stork", 1)), 0o600))
	require.NoError(t, os.Chtimes(name, at, at))
	again, err = s.read(context.Background())
	require.NoError(t, err)
	require.NotNil(t, again)
	require.NotEqual(t, p.Revision(), again.Revision())
}
