package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/stretchr/testify/require"
)

// newNode has plugin new write a plugin for Node.js.
func newNode(t *testing.T) (dir string) {
	clitest.NeedNode(t)
	dir = filepath.Join(t.TempDir(), "polite")
	code, stdout, stderr := clitest.Run(t, newRoot, nil, "plugin", "new", "polite", "--lang",
		"node", "--dir", dir)
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	return dir
}

// A plugin for Node.js passes its tests and runs, without a network and without packages.
func TestNewPluginForNode(t *testing.T) {
	dir := newNode(t)
	test := exec.Command("node", "--test")
	test.Dir = dir
	out, err := test.CombinedOutput()
	require.NoError(t, err, "%s", out)

	require.NoError(t, os.WriteFile(
		filepath.Join(dir, "said.jsonl"),
		[]byte(`{"session":{"appName":"a","userId":"u","id":"s"}}
{"id":"1","author":"user","content":{"role":"user","parts":[{"text":"Tell me"}]}}
{"id":"2","author":"bot","content":{"role":"model","parts":[{"text":"the Secret is out"}]}}
`),
		0o600,
	))
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	_, yaml, ok := strings.Cut(string(readme), "```yaml\n")
	require.True(t, ok)
	yaml, _, _ = strings.Cut(yaml, "```")
	yaml = "agent: {replay: said.jsonl}\n" + strings.Replace(yaml, "    config:",
		"    timeout: 60s\n    start_timeout: 60s\n    config:", 1)
	config := filepath.Join(dir, "runner.yaml")
	require.NoError(t, os.WriteFile(config, []byte(yaml), 0o600))
	code, _, stderr := clitest.Run(t, newRoot, nil, "plugin", "lock", "--config", config)
	require.Zero(t, code, stderr)
	code, stdout, stderr := clitest.Run(t, newRoot, nil, "run", "--config", config, "Tell me")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "the … is out")
	code, _, stderr = clitest.Run(t, newRoot, nil, "run", "--config", config, "What is the secret?")
	require.Equal(t, exit.Denied.Number, code, stderr)

	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "plughook", "json.mjs"), []byte("//"), 0o600))
	code, _, stderr = clitest.Run(t, newRoot, nil, "run", "--config", config, "Tell me")
	require.NotZero(t, code)
	require.Contains(t, stderr, "json.mjs",
		"all files of the library are in the README's list, so they are pinned")
}

// A plugin for Node.js ends when its host asks it to, and when its host has gone.
func TestNodeEndsWithItsHost(t *testing.T) {
	dir := newNode(t)
	byHand := exec.Command("node", "main.mjs")
	byHand.Dir = dir
	out, err := byHand.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, byHand.ProcessState.ExitCode())
	require.Contains(t, string(out), "polite is a plugin of Plughook. It is not started by hand")

	for name, end := range map[string]func(t *testing.T, cmd *exec.Cmd, stdin func() error){
		"stdin": func(t *testing.T, _ *exec.Cmd, stdin func() error) { require.NoError(t, stdin()) },
		"SIGTERM": func(t *testing.T, cmd *exec.Cmd, _ func() error) {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("node", "main.mjs")
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			sockets, err := os.MkdirTemp("", "n")
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(sockets) })
			cmd.Env = append(os.Environ(), "PLUGHOOK_PLUGIN=v1", "PLUGIN_UNIX_SOCKET_DIR="+sockets)
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			lines := bufio.NewScanner(stdout)
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "1|") {
			}
			fields := strings.Split(lines.Text(), "|")
			require.Equal(t, []string{"1", "1", "unix", fields[3], "grpc"}, fields)
			for _, odd := range []string{"", "p", "plug", "nonsense\r\n\r\n", "plughook frames 1\r\n\x00\x00\x00\x01\xff", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nodd"} {
				c, err := net.Dial("unix", fields[3])
				require.NoError(t, err, "it listens still")
				_, err = c.Write([]byte(odd))
				require.NoError(t, err)
				require.NoError(t, c.Close())
			}
			end(t, cmd, stdin.Close)
			require.NoError(t, cmd.Wait(), "it ends with success")
		})
	}
}

// A plugin for Node.js that its developer has started serves one runner, and ends.
func TestAttachToNode(t *testing.T) {
	dir := newNode(t)
	sockets, err := os.MkdirTemp("", "n")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	socket, config := filepath.Join(sockets, "polite.sock"), filepath.Join(dir, "runner.yaml")
	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "said.yaml"), []byte("- say: the Secret is out\n"), 0o600))
	require.NoError(t, os.WriteFile(
		config,
		[]byte(
			"agent: {model: 'script:said.yaml'}\nplugins:\n  - {attach: "+socket+", config: {words: [secret]}}\n",
		),
		0o600,
	))
	for _, left := range []string{"", "by one that was killed"} {
		if left != "" {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
			require.NoError(t, err)
			l.SetUnlinkOnClose(false)
			require.NoError(t, l.Close())
		}
		cmd := exec.Command("node", "main.mjs")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PLUGHOOK_ATTACH="+socket)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(stderr)
		for lines.Scan() && !strings.Contains(lines.Text(), "- attach: "+socket) {
		}
		code, stdout, said := clitest.Run(t, newRoot, nil, "run", "--config", config, "Tell me")
		require.Zero(t, code, said)
		require.Contains(t, stdout, "the … is out")
		require.NoError(t, cmd.Wait())
	}
}
