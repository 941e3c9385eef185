package coding_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/hooks/coding"
)

// A socket at which another user listens decides nothing.
func TestAnotherUsersServer(t *testing.T) {
	if socket := os.Getenv("PLUGHOOK_TEST_LISTEN"); socket != "" {
		require.NoError(t, syscall.Setuid(65534))
		listener, err := net.Listen("unix", socket)
		require.NoError(t, err)
		defer listener.Close()
		fmt.Println("listening")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can be another user; run this test as root")
	}
	directory, err := os.MkdirTemp("", "") // another user cannot reach a directory of t.TempDir
	require.NoError(t, err)
	defer os.RemoveAll(directory)
	require.NoError(t, os.Chmod(directory, 0o777))
	socket := filepath.Join(directory, "hooks.sock")
	other := exec.Command(os.Args[0], "-test.run=^TestAnotherUsersServer$")
	other.Env = append(os.Environ(), "PLUGHOOK_TEST_LISTEN="+socket)
	stdin, err := other.StdinPipe()
	require.NoError(t, err)
	stdout, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	defer func() { _ = other.Wait() }()
	defer stdin.Close()
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	_, err = coding.Forward(socket, coding.Input{Agent: "claude", Payload: []byte(push)})
	require.ErrorIs(t, err, coding.ErrNoServer)
	require.ErrorContains(t, err, "another user")
}
