package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// served is a process of "runner serve".
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	said func() string // standard error so far
}

// self returns a path by which this test binary is the program runner.
func self(t *testing.T) string {
	bin := filepath.Join(t.TempDir(), "runner")
	test, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(test, bin))
	return bin
}

// inDir writes files into a fresh directory, and returns a command that runs the program there.
func inDir(t *testing.T, files map[string]string) func(args ...string) *exec.Cmd {
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	bin := self(t)
	return func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "HOME="+dir)
		return cmd
	}
}

var servedOn = regexp.MustCompile(`is served on (http://\S+)`)

// startServe starts a server, and waits until it says where it is.
func startServe(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd}
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var mu sync.Mutex
	var text strings.Builder
	s.said = func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
	address := make(chan string, 1)
	go func() {
		defer close(address)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			mu.Lock()
			text.WriteString(lines.Text() + "\n")
			mu.Unlock()
			if found := servedOn.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, ok := <-address
	require.True(t, ok, "the server did not start: %s", s.said())
	s.url = url
	return s
}

// get returns the status and the body of a route.
func (s *served) get(path string) (int, string) {
	s.t.Helper()
	resp, err := http.Get(s.url + path)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(body)
}

const slowScript = `
- user: slow
  say: It took a while.
  delay: 5s
- user: Hello
  say: Good evening, {{.user}}
  stream: 5
`

// Interrupted while a run is under way and a stream is open, a server tells the stream, lets the run end, and
// ends with 0.
func TestServeEndsInGoodOrder(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			command := inDir(t, map[string]string{
				"runner.yaml": `{app: desk, agent: {model: "script:script.yaml"}, store: "sqlite:s.db"}`,
				"script.yaml": slowScript,
			})
			s := startServe(t, command("serve", "--addr", "127.0.0.1:0"))
			for _, path := range []string{"/health", "/ready", "/version", "/v1/openapi.json", "/v1/apps"} {
				status, body := s.get(path)
				require.Equal(t, 200, status, body)
			}
			require.Contains(t, s.said(), "app desk is served on http://127.0.0.1:")
			require.Eventually(t, func() bool { return strings.Contains(s.said(), "/chat") },
				time.Minute, time.Millisecond)

			// Another server cannot have the address.
			taken := command("serve", "--addr", strings.TrimPrefix(s.url, "http://"))
			out, err := taken.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, 2, taken.ProcessState.ExitCode(), string(out))
			require.Contains(t, string(out), "address already in use")

			// A stream is open, and a run under way.
			run, err := http.Post(s.url+"/chat", "application/json",
				strings.NewReader(`{"message":"slow","session":"ada"}`))
			require.NoError(t, err)
			defer run.Body.Close()
			stream := bufio.NewReader(run.Body)
			for line := ""; !strings.HasPrefix(line, "data:"); {
				line, err = stream.ReadString('\n')
				require.NoError(t, err)
			}
			require.NoError(t, s.cmd.Process.Signal(sig))
			rest, _ := io.ReadAll(stream)
			require.Contains(t, string(rest), "event: error")
			require.Contains(t, string(rest), `"code":"closing"`)
			require.NoError(t, s.cmd.Wait(), s.said())
			_, err = net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), time.Second)
			require.Error(t, err)

			log, err := command("session", "show", "ada").Output()
			require.NoError(t, err)
			require.Contains(t, string(log), "It took a while.")
		})
	}
}

// run and chat have a server run the agent, with a token.
func TestRunAndChatOverAServer(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"runner.yaml": `{app: desk, agent: {model: "script:script.yaml"}, store: "sqlite:s.db", server: {notify: [
			{command: [sh, -c, "cat >>told"], on: [ended]}]}}`,
		"script.yaml": slowScript,
	}
	command := inDir(t, files)
	make := command("serve", "token", "--user", "ada")
	var lines bytes.Buffer
	make.Stderr = &lines
	token, err := make.Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(make.Dir, "tokens.yaml"),
		append([]byte("tokens:\n"), lines.Bytes()...), 0o600))
	s := startServe(t, command("serve", "--addr", "127.0.0.1:0", "--tokens", "tokens.yaml"))
	status, _ := s.get("/v1/apps")
	require.Equal(t, 401, status)

	// The client's directory has no configuration.
	client := inDir(t, nil)
	ask := func(input string, args ...string) (string, *exec.Cmd) {
		cmd := client(append(args, "--server", s.url, "--app", "desk", "--session", "s")...)
		cmd.Env = append(cmd.Env, tokenVariable+"="+strings.TrimSpace(string(token)))
		cmd.Stdin = strings.NewReader(input)
		var out bytes.Buffer
		cmd.Stdout = &out
		cmd.Stderr = &out
		err := cmd.Run()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			require.NoError(t, err)
		}
		return out.String(), cmd
	}
	out, cmd := ask("", "run", "Hello")
	require.Equal(t, 0, cmd.ProcessState.ExitCode(), out)
	require.Eventually(t, func() bool { // server.notify
		told, err := os.ReadFile(filepath.Join(make.Dir, "told"))
		return err == nil && strings.Contains(string(told), `"type":"run.ended"`)
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, out, "Good evening, Hello")
	out, cmd = ask("Hello\n/quit\n", "chat")
	require.Equal(t, 0, cmd.ProcessState.ExitCode(), out)
	require.Contains(t, out, "Good evening, Hello")
	out, cmd = ask("", "run", "--jsonl", "Hello")
	require.Equal(t, 0, cmd.ProcessState.ExitCode(), out)
	require.Equal(t, 2, strings.Count(out, "\n"), out)

	// Without a valid token there is nothing.
	token = []byte("wrong")
	out, cmd = ask("", "run", "Hello")
	require.NotZero(t, cmd.ProcessState.ExitCode())
	require.Contains(t, out, "send a token that is valid here")
	log, err := command("session", "show", "s", "--user", "ada").Output()
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(log), "Good evening"), "%s", log)
}
