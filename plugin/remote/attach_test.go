//go:build unix

package remote

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/session"
)

// byHand is a plugin that a developer has started.
type byHand struct {
	*exec.Cmd
	socket string
	stderr bytes.Buffer // to be read once it has ended
}

// handStarted starts a plugin of this binary that listens at a socket.
func handStarted(t *testing.T, socket, name string, args ...string) *byHand {
	h := &byHand{
		Cmd:    exec.Command(os.Args[0], append([]string{testplugin.AsPlugin, name}, args...)...),
		socket: socket,
	}
	h.Env = append(os.Environ(), transport.EnvAttach+"="+socket, "GORACE=atexit_sleep_ms=0")
	h.Stderr = &h.stderr
	require.NoError(t, h.Start())
	t.Cleanup(h.killed)
	require.Eventually(t, func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, time.Millisecond)
	return h
}

func (h *byHand) killed() {
	_ = h.Process.Kill()
	_ = h.Wait()
}

// interrupted ends it as its developer does, and requires that it ends well.
func (h *byHand) interrupted(t *testing.T) {
	require.NoError(t, h.Process.Signal(os.Interrupt))
	require.NoError(t, h.Wait())
	require.NoFileExists(t, h.socket)
}

// socketPath returns a path that is short enough.
func socketPath(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "attach-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "it.sock")
}

func attached(t *testing.T, c Config) (*Host, *testplugin.Log) {
	log := new(testplugin.Log)
	c.Log = log.Logger()
	h, err := Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h, log
}

func say(h *Host, text string) (string, error) {
	out, err := h.Plugin().
		OnEvent(context.Background(), &session.Invocation{}, testplugin.TextEvent(text))
	if err != nil || len(out.Emit) == 0 {
		return "", err
	}
	return out.Emit[0].Text(), nil
}

func TestAttach(t *testing.T) {
	socket, closed := socketPath(t), filepath.Join(t.TempDir(), "closed")
	dev := handStarted(t, socket, "closes", closed)
	require.Eventually(t, func() bool { // it is a moment older than its mode
		info, err := os.Stat(socket)
		return err == nil && info.Mode().Perm() == 0o600
	}, time.Minute, time.Millisecond)

	one, log := attached(t, Config{Attach: socket})
	require.Contains(t, log.String(), "FOR DEVELOPMENT ONLY")
	require.Zero(t, one.Health().PID, "it is not ours")
	two, _ := attached(t, Config{Attach: socket, Name: "other"})
	for _, h := range []*Host{one, two, one} {
		said, err := say(h, "say hello")
		require.NoError(t, err)
		require.Equal(t, "hello", said)
	}
	large := strings.Repeat("y", 5<<20)
	said, err := say(one, "say "+large)
	require.NoError(t, err)
	require.Equal(t, large, said)
	_, err = say(one, "panic over")
	require.ErrorIs(t, err, plugin.ErrPanic)

	require.NoError(t, one.Close(t.Context()))
	require.NoFileExists(t, closed, "Serve's one plugin is the next runner's too")
	said, err = say(two, "say still there")
	require.NoError(t, err)
	require.Equal(t, "still there", said)
	require.NoError(t,
		two.Reload(t.Context(), Config{Attach: socket, Name: "other", Log: testplugin.Discard}))
	said, err = say(two, "say again")
	require.NoError(t, err)
	require.Equal(t, "again", said)
	require.NoError(t, two.Close(t.Context()))

	dev.interrupted(t)
	require.FileExists(t, closed)
	require.Contains(t, dev.stderr.String(), "- attach: "+socket)
}

// A plugin that its developer ends, and starts again.
func TestAttachAgain(t *testing.T) {
	socket := socketPath(t)
	dev := handStarted(t, socket, "asked")
	h, _ := attached(t, Config{Attach: socket})
	failed := make(chan error, 1)
	go func() {
		_, err := say(h, "wait")
		failed <- err
	}()
	require.Eventually(t,
		func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.calls.Running()) == 1 },
		time.Minute, time.Millisecond)
	dev.killed()
	err := <-failed
	require.ErrorIs(t, err, ErrGone)
	require.ErrorContains(t, err, "plugin asked at "+socket+" has ended the connection")
	require.ErrorContains(t, err, "start it again")
	for range 2 {
		_, err = say(h, "say hello")
		require.ErrorIs(t, err, ErrGone)
		require.ErrorContains(t, err,
			"nobody listens there; start it, for instance with PLUGHOOK_ATTACH="+socket)
	}
	dev = handStarted(t, socket, "asked") // where the one that was killed has left its socket
	said, err := say(h, "say hello")
	require.NoError(t, err)
	require.Equal(t, "hello", said)
	require.NoError(t, h.Close(t.Context()))
	dev.interrupted(t)
}

// One that stands at a breakpoint holds up neither heartbeats nor Close, and goes on.
func TestAttachedStandsStill(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	dev := handStarted(t, socket, "asked")
	h, _ := attached(t, Config{Attach: socket})
	require.NoError(t, dev.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, h.Close(t.Context()))
	require.NoError(t, dev.Process.Signal(syscall.SIGCONT))
	h, _ = attached(t, Config{Attach: socket})
	said, err := say(h, "say hello")
	require.NoError(t, err)
	require.Equal(t, "hello", said)
	require.NoError(t, h.Close(t.Context()))
	dev.interrupted(t)
}

// Each runner gives its own settings, and what does not fit is told as ever.
func TestAttachWithSettings(t *testing.T) {
	socket := socketPath(t)
	dev := handStarted(t, socket, "settings")
	for range 2 {
		h, _ := attached(t, Config{Attach: socket, Settings: []byte(`{"dir":"/a","size":7}`)})
		other, _ := attached(t, Config{Attach: socket, Settings: []byte(`{"dir":"/b"}`)})
		said, err := say(h, "")
		require.NoError(t, err)
		require.Equal(t, "/a 7", said)
		said, err = say(other, "")
		require.NoError(t, err)
		require.Equal(t, "/b 0", said)
		require.NoError(t, h.Close(t.Context()))
		require.NoError(t, other.Close(t.Context()))
	}
	for _, settings := range []string{`{"dir":7}`, `{"dir":"/forbidden"}`} {
		_, err := Open(t.Context(), Config{Attach: socket, Settings: []byte(settings)})
		require.ErrorIs(t, err, ErrSettings)
		require.ErrorContains(t, err, "did not attach: at "+socket)
	}
	dev.interrupted(t)
}

// A plugin that speaks the protocol, in whatever language, can be started as a host would, and
// attached to: with frames too.
func TestAttachToAHandshake(t *testing.T) {
	cmd := exec.Command(os.Args[0], testplugin.AsPlugin, "asked")
	cmd.Env = append(os.Environ(), transport.CookieKey+"="+transport.CookieValue,
		"PLUGIN_UNIX_SOCKET_DIR="+filepath.Dir(socketPath(t)), "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = in.Close(); _ = cmd.Wait() }()
	lines := bufio.NewReader(out)
	parts := []string{""}
	for parts[0] != "1" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		parts = strings.Split(strings.TrimSpace(line), "|")
	}
	h, _ := attached(t, Config{Attach: parts[3]})
	require.True(t, h.latest.about.Frames)
	said, err := say(h, "say hello")
	require.NoError(t, err)
	require.Equal(t, "hello", said)
	require.NoError(t, h.Close(t.Context()))
	_, _ = io.Copy(io.Discard, lines)
	require.NoError(t, cmd.Wait(), "it serves one host, and ends")
}

func TestAttachFails(t *testing.T) {
	socket := socketPath(t)
	_, err := Open(t.Context(), Config{Attach: socket})
	require.ErrorContains(t, err, "did not attach: at "+socket+": nobody listens there")
	for name, c := range map[string]Config{
		"command": {Command: []string{"x"}}, "dir": {Dir: "/"}, "env": {Env: []string{"A=b"}}, "sha256": {SHA256: strings.Repeat("a", 64)},
		"files": {Files: map[string]string{"a": strings.Repeat("a", 64)}}, "network": {Network: true}, "limits": {Limits: Limits{OpenFiles: 1}},
	} {
		c.Attach = socket
		_, err := Open(t.Context(), c)
		require.ErrorContains(t, err, "it has been started already", name)
	}
	_, err = Pin(Config{Attach: socket})
	require.ErrorContains(t, err, "is not pinned")

	l, err := net.Listen("unix", socket) // it takes connections, and says nothing
	require.NoError(t, err)
	defer l.Close()
	_, err = Open(t.Context(), Config{Attach: socket, StartTimeout: 50 * time.Millisecond})
	require.ErrorContains(t, err, "it did not start within 50ms")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = Open(ctx, Config{Attach: socket})
	require.ErrorIs(t, err, context.Canceled)
}

func TestWhereNobodyCanListen(t *testing.T) {
	file := socketPath(t)
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	taken := socketPath(t)
	l, err := net.Listen("unix", taken)
	require.NoError(t, err)
	defer l.Close()
	for path, why := range map[string]string{file: "is not a socket", taken: "another process listens", "/nowhere/it.sock": "no such file"} {
		cmd := exec.Command(os.Args[0], testplugin.AsPlugin, "asked")
		cmd.Env = append(os.Environ(), transport.EnvAttach+"="+path, "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "plugin asked: PLUGHOOK_ATTACH: ")
		require.Contains(t, string(out), why)
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
}
