//go:build linux

package serve

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plughook/plughook/plugin/internal/transport"
)

// dialAs connects as a user, on a thread that is that for so long.
func dialAs(t *testing.T, uid int, address string) net.Conn {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(uid int) {
		const same = ^uintptr(0)
		_, _, e := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same)
		require.Zero(t, e)
	}
	was := os.Geteuid()
	become(uid)
	defer become(was)
	c, err := net.Dial("unix", address)
	require.NoError(t, err)
	return c
}

// A plugin lets in its own user only, which is the host's.
func TestTheGate(t *testing.T) {
	l, err := net.Listen("unix",
		fmt.Sprintf("@plughook-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	require.NoError(t, err)
	defer l.Close()
	const http2, nobody = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 65534
	me := os.Geteuid()
	for name, c := range map[string]struct {
		uid    int
		sends  string
		frames bool
		says   string
	}{
		"the host, for frames":  {me, transport.FramesPreface, true, "dispatched"},
		"the host, for gRPC":    {me, http2, false, ""},
		"who says nothing":      {me, "", false, "EOF"},
		"half of a beginning":   {me, "plughook", false, "EOF"},
		"another version":       {me, "plughook frames 2\r\n", false, ""}, // which gRPC refuses
		"another, for frames":   {nobody, transport.FramesPreface, false, "user 65534 has connected"},
		"another, for gRPC":     {nobody, http2, false, "user 65534 has connected"},
		"another, with nothing": {nobody, "", false, "user 65534 has connected"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.uid != me && me != 0 {
				t.Skip("only root can be another user")
			}
			conn := dialAs(t, c.uid, l.Addr().String())
			defer conn.Close()
			_, err = io.WriteString(conn, c.sends)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.UnixConn).CloseWrite())
			accepted, err := l.Accept()
			require.NoError(t, err)
			defer accepted.Close()
			framed := make(chan bool, 1)
			through, _, err := gate{
				insecure.NewCredentials(),
				func(net.Conn) { framed <- true },
			}.ServerHandshake(accepted)
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
			} else {
				require.NoError(t, err)
				all, err := io.ReadAll(through)
				require.NoError(t, err)
				require.Equal(t, c.sends, string(all), "what was read is not lost")
			}
			if c.frames {
				require.True(t, <-framed)
			}
		})
	}
}
