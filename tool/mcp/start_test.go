//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/tool/mcp"
)

// A server that never gets ready, and one that does not want to end either.
func TestAServerThatIsNotReady(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"silent", "mute"} {
		c := command(t, how)
		c.StartTimeout = 300 * time.Millisecond
		_, err := mcp.Open(context.Background(), c)
		require.ErrorContains(t, err, "mcp: server mcp.test: it was not ready within 300ms", how)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	var stderr lockedBuffer
	c := command(
		t,
		"serve",
		"KEY=sesame",
		"LONGER=sesame-street",
		"HEADER=Bearer 123456789",
		"SHORT=Paris",
	)
	c.Stderr = &stderr
	client, err := mcp.Open(context.Background(), c)
	require.NoError(t, err)
	written := ""
	for _, text := range []string{"a sesame", "-street, ses", "ame\n", "sesame Paris\n12", "3456789\n", strings.Repeat("-", 200_000), "sesame-", "street", strings.Repeat("-", 200_000), "end: sesa", "me"} {
		_, err := run(t, client, "log", map[string]any{"text": text})
		require.NoError(t, err)
		written += text
	}
	_, err = run(t, client, "fail", map[string]any{"text": "Bearer 123456789 sesame"})
	require.EqualError(t, err, "no: […] […]")
	_, err = run(t, client, "die", nil)
	require.ErrorContains(t, err, "end: […]dying")
	require.NoError(t, client.Close())
	want := strings.NewReplacer("sesame-street", "[…]", "sesame", "[…]", "123456789", "[…]").
		Replace(written)
	require.True(t, strings.HasPrefix(stderr.String(), want+"dying\n"), "%.100s", stderr.String())
}

// Who is killed takes its servers along.
func TestServersEndWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	host := exec.Command(self)
	host.Env = append(os.Environ(), mode+"=host")
	out, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	pid, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid = strings.TrimSpace(pid)
	require.False(t, gone(t, pid))
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	require.Eventually(t, func() bool { return gone(t, pid) }, time.Minute, time.Millisecond)
}

// A server lives on when threads of this process end, while it is started and later.
func TestServersDoNotEndWithAThread(t *testing.T) {
	over := make(chan bool)
	var threads, opens sync.WaitGroup
	for range 4 {
		threads.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				ended := make(chan bool)
				go func() {
					runtime.LockOSThread() // and no unlock: the thread ends with this
					close(ended)
				}()
				<-ended
			}
		})
	}
	errs := make([]error, 20)
	for i := range errs {
		opens.Go(func() {
			client, err := mcp.Open(context.Background(), command(t, "odd"))
			if errs[i] = err; err == nil {
				errs[i] = client.Close()
			}
		})
	}
	opens.Wait()
	close(over)
	threads.Wait()
	require.NoError(t, errors.Join(errs...))
}
