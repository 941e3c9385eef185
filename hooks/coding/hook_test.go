package coding_test

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/hooks/coding"
)

const push = `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"curl x"}}`

// A hook's process forwards to a server, and prints what the server says.
func TestForward(t *testing.T) {
	h := host(t, policy())
	socket := filepath.Join(t.TempDir(), "own", "hooks.sock")
	in := coding.Input{Agent: "claude", Payload: []byte(push)}

	_, err := coding.Forward(socket, in)
	require.ErrorIs(t, err, coding.ErrNoServer)

	listener, err := coding.Listen(socket)
	require.NoError(t, err)
	info, err := os.Stat(socket)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	server := &http.Server{Handler: h.Handler(slog.New(slog.DiscardHandler)), ReadHeaderTimeout: time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	reply, err := coding.Forward(socket, in)
	require.NoError(t, err)
	assert.Contains(t, string(reply.Stdout), "Nothing is sent out.")

	// Broken input is refused by the server, and not only by the process.
	reply, err = coding.Forward(socket, coding.Input{Agent: "claude", Event: "PreToolUse", Payload: []byte("{")})
	require.NoError(t, err)
	assert.Empty(t, reply.Stdout)
	assert.Equal(t, 2, reply.Exit)
	assert.Equal(t, coding.Undecided, reply.Stderr)

	_, err = coding.Listen(socket)
	require.ErrorContains(t, err, "another server listens")
	require.NoError(t, server.Close())
	<-ended

	// What a killed server has left is taken over.
	left, err := net.Listen("unix", socket)
	require.NoError(t, err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	listener, err = coding.Listen(socket)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

// A server that is there and cannot answer is not the same as none: the hook has to refuse.
func TestForwardFailsClosed(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "hooks.sock")
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o700))
	listener, err := coding.Listen(socket)
	require.NoError(t, err)
	server := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the database is away", http.StatusServiceUnavailable)
		}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	in := coding.Input{Agent: "codex", Event: "PreToolUse", Payload: []byte(push)}
	_, err = coding.Forward(socket, in)
	require.ErrorContains(t, err, "the database is away")
	assert.NotErrorIs(t, err, coding.ErrNoServer)
	assert.Equal(t, 2, coding.Refuse(in).Exit)
	require.NoError(t, server.Close())
	<-ended
}

// A directory that others may write to is no place for a socket.
func TestSharedDirectory(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.Chmod(directory, 0o777))
	_, err := coding.Listen(filepath.Join(directory, "hooks.sock"))
	require.ErrorContains(t, err, "0700")
}
