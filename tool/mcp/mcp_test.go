//go:build unix

package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/mcp"
)

// command returns the configuration of a server process.
func command(t testing.TB, how string, env ...string) mcp.Config {
	self, err := os.Executable()
	require.NoError(t, err)
	return mcp.Config{Command: []string{self}, Env: append(env, mode+"="+how)}
}

func open(t testing.TB, c mcp.Config) *mcp.Client {
	client, err := mcp.Open(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func find(t testing.TB, client *mcp.Client, name string) *tool.Tool {
	tools := client.Tools()
	i := slices.IndexFunc(tools, func(made *tool.Tool) bool { return made.Name() == name })
	require.GreaterOrEqual(t, i, 0, name)
	return tools[i]
}

func run(
	t testing.TB,
	client *mcp.Client,
	name string,
	args map[string]any,
) (map[string]any, error) {
	return find(t, client, name).Run(context.Background(), &tool.Call{Name: name, Args: args})
}

func result(t testing.TB, client *mcp.Client, name string) string {
	r, err := run(t, client, name, nil)
	require.NoError(t, err)
	return r["result"].(string)
}

// gone reports whether a process has ended. Who took it over may not have waited for it yet.
func gone(t testing.TB, pid string) bool {
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	if syscall.Kill(n, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

func TestResults(t *testing.T) {
	t.Parallel()
	client := open(t, command(t, "serve"))
	for _, c := range []struct {
		tool string
		want map[string]any
		err  string
	}{
		{"echo", map[string]any{"result": "hi"}, ""},
		{"lines", map[string]any{"result": "a\nb"}, ""},
		{"nothing", map[string]any{"result": ""}, ""},
		{"object", map[string]any{"sky": "blue"}, ""},
		{"list", map[string]any{"result": []any{1.0, "x"}}, ""},
		{"media", map[string]any{"result": map[string]any{"n": 4.0}, "content": []any{
			map[string]any{"type": "image", "mimeType": "image/png", "data": "UE5HaGk="},
			map[string]any{"type": "audio", "mimeType": "audio/x-odd", "data": "b2Rk"},
			map[string]any{"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
			map[string]any{"type": "resource", "uri": "file:///b", "mimeType": "text/plain", "text": "bee"},
			map[string]any{"type": "resource", "uri": "file:///c", "mimeType": "application/pdf", "data": "UERG"},
		}}, ""},
		{"fail", nil, "no: hi"},
		{"speechless", nil, "the tool failed without a message"},
		{"a_b_c", map[string]any{"result": "odd"}, ""},
	} {
		got, err := run(t, client, c.tool, map[string]any{"text": "hi"})
		if c.err != "" {
			require.EqualError(t, err, c.err)
		} else {
			require.NoError(t, err, c.tool)
		}
		require.Equal(t, c.want, got, c.tool)
	}
	_, err := run(t, client, "media", map[string]any{"text": strings.Repeat("x", 70000)})
	require.NoError(t, err)
	got, err := run(t, client, "media", map[string]any{"text": strings.Repeat("x", 70000)})
	require.NoError(t, err)
	require.Equal(
		t,
		map[string]any{
			"type":     "image",
			"mimeType": "image/png",
			"omitted":  "70003 bytes; there is no artifact service to save them",
		},
		got["content"].([]any)[0],
	)
	_, err = run(t, client, "echo", map[string]any{"text": 5})
	require.ErrorContains(t, err, "text", "a server checks for itself, too")
}

// shelf is an artifact service that only saves.
type shelf struct {
	artifact.Service
	saved map[string]*genai.Part
	err   error
}

func (s *shelf) Save(
	_ context.Context,
	_ session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	s.saved[name] = data
	return 5, s.err
}

func TestMediaIsSaved(t *testing.T) {
	t.Parallel()
	client := open(t, command(t, "serve"))
	s := &shelf{saved: map[string]*genai.Part{}}
	call := &tool.Call{Name: "media", Invocation: &session.Invocation{}, Artifacts: s}
	got, err := find(t, client, "media").Run(context.Background(), call)
	require.NoError(t, err)
	require.Equal(
		t,
		map[string]any{
			"type":     "image",
			"mimeType": "image/png",
			"artifact": "mcp/media-1.png",
			"version":  int64(5),
		},
		got["content"].([]any)[0],
	)
	require.Equal(t, map[string]int64{"mcp/media-1.png": 5, "mcp/media-2": 5, "mcp/media-5.pdf": 5},
		call.Actions.ArtifactDelta)
	require.Equal(t, genai.NewPartFromBytes([]byte("PDF"), "application/pdf"),
		s.saved["mcp/media-5.pdf"])
	s.err = errors.New("disk full")
	_, err = find(
		t,
		client,
		"media",
	).Run(context.Background(), &tool.Call{Name: "media", Invocation: &session.Invocation{}, Artifacts: s})
	require.ErrorIs(t, err, s.err)
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	c := command(t, "serve")
	c.Prefix, c.Tools, c.Confirm = "t_", []string{"echo", "a/b.c", "fail"}, []string{"fail"}
	client := open(t, c)
	var names []string
	for _, made := range client.Tools() {
		names = append(names, made.Name())
	}
	require.ElementsMatch(t, []string{"t_echo", "t_a_b_c", "t_fail"}, names)
	echo := find(t, client, "t_echo")
	require.Equal(t, "does echo", echo.Declaration.Description)
	require.Equal(
		t,
		map[string]any{
			"type":                 "object",
			"properties":           map[string]any{"text": map[string]any{"type": "string"}},
			"additionalProperties": false,
		},
		echo.Declaration.ParametersJsonSchema,
	)
	check, err := echo.Check()
	require.NoError(t, err)
	require.ErrorContains(t, check(t.Context(), map[string]any{"text": 5}),
		"/text: is of type integer")
	require.False(t, echo.Serial, "it only reads")
	require.True(t, find(t, client, "t_fail").Serial)

	var ask *tool.Ask
	_, err = run(t, client, "t_fail", nil)
	require.ErrorAs(t, err, &ask)
	require.Contains(t, ask.Hint, "fail")
	_, err = find(
		t,
		client,
		"t_fail",
	).Run(context.Background(), &tool.Call{Confirmation: &session.Confirmation{Confirmed: true}})
	require.EqualError(t, err, "no: ")
	_, err = run(t, client, "t_echo", nil)
	require.NoError(t, err)

	c.Confirm = []string{"*"}
	_, err = run(t, open(t, c), "t_echo", nil)
	require.ErrorAs(t, err, &ask)
	for _, bad := range []func(*mcp.Config){
		func(c *mcp.Config) { c.Tools = []string{"eco"} },
		func(c *mcp.Config) { c.Confirm = []string{"eco"} },
	} {
		wrong := command(t, "serve")
		bad(&wrong)
		_, err := mcp.Open(context.Background(), wrong)
		require.ErrorContains(t, err, `it has no tool named "eco"; it has `)
	}
	c.Prefix = strings.Repeat("x", 64)
	_, err = mcp.Open(context.Background(), c)
	require.ErrorContains(t, err, "at most 64")
}

func TestConfigurationsOfNoServer(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]mcp.Config{
		"set either Command":    {},
		"Command or URL":        {Command: []string{"x"}, URL: "http://x"},
		"Timeout and":           {Command: []string{"x"}, Timeout: -1},
		"StartTimeout must not": {Command: []string{"x"}, StartTimeout: -1},
		"Headers are for a URL": {Command: []string{"x"}, Headers: map[string]string{"a": "b"}},
		"Env, Dir and Stderr":   {URL: "http://x", Env: []string{"A"}},
		"http or https":         {URL: "ftp://x?key=sesame-sesame"},
		"with a host":           {URL: "http://"},
		"cannot be started":     {Command: []string{"no-such-program-here"}},
		"no such file":          {Command: []string{"./no-such-program"}, Dir: t.TempDir()},
		"bad key […]":           command(t, "exit", "SERVER_KEY=sesame-sesame"),
		"exit status 3":         command(t, "exit"),
		"is not the protocol":   command(t, "garbage"),
		"invalid character 'H":  command(t, "garbage"),
		"more than 100 pages":   command(t, "pages"),
		"than 100 pages":        command(t, "same page"),
		"than 10000 tools":      command(t, "crowd"),
		"more than the 1000000 steps that are allowed":                                  command(t, "fan-out"),
		"list the tools you want in Tools, without \"write\"":                           command(t, "fan-out"),
		"more than 4194304 bytes, the most that is allowed; have the server list fewer": command(t, "wordy"),
		"more than 100000 JSON values, the most that is allowed":                        command(t, "much"),
		"more than 33554432 bytes in one message":                                       command(t, "line without an end"),
		"more than 1000 JSON values in each other":                                      command(t, "deep"),
	} {
		_, err := mcp.Open(context.Background(), c)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "sesame")
		require.True(t, strings.HasPrefix(err.Error(), "mcp: "), err.Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := mcp.Open(ctx, command(t, "silent"))
	require.ErrorContains(t, err, "context deadline exceeded")
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OUR_API_KEY", "sesame-sesame")
	t.Setenv("PASSED_ON", "yes")
	client := open(t, command(t, "serve", "PASSED_ON", "NOT_SET_ANYWHERE", "OWN=a=b"))
	env := strings.Split(result(t, client, "env"), "\n")
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		require.Contains(t, []string{"PATH", "HOME", "LANG", "PASSED_ON", "OWN", mode}, name)
	}
	require.Contains(t, env, "PASSED_ON=yes")
	require.Contains(t, env, "OWN=a=b")
	require.Contains(t, env, "PATH="+os.Getenv("PATH"))
}

// What a server leaves in its group goes with it, also what keeps its standard output open.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"serve", "stubborn"} {
		client, err := mcp.Open(context.Background(), command(t, how))
		require.NoError(t, err)
		pid, child := result(t, client, "pid"), result(t, client, "child")
		require.False(t, gone(t, pid))
		require.False(t, gone(t, child))
		require.NoError(t, client.Close())
		require.True(t, gone(t, pid), how)
		require.Eventually(t, func() bool { return gone(t, child) }, time.Minute, time.Millisecond,
			how)
		_, err = run(t, client, "echo", nil)
		require.ErrorContains(t, err, "the client was closed")
		require.NoError(t, client.Close())
	}
}

func TestAServerThatDies(t *testing.T) {
	t.Parallel()
	var stderr lockedBuffer
	c := command(t, "serve")
	c.Stderr = &stderr
	client := open(t, c)
	first := result(t, client, "pid")
	_, err := run(t, client, "child", nil)
	require.NoError(t, err)
	_, err = run(t, client, "die", nil)
	require.ErrorContains(t, err,
		"MCP server mcp.test: it ended, and it is not known whether the tool was executed")
	require.ErrorContains(t, err, "exit status 7")
	require.ErrorContains(t, err, "dying")
	require.True(t, strings.HasPrefix(stderr.String(), "dying\n"),
		stderr.String()) // a binary that measures coverage adds to it
	second := result(t, client, "pid")
	require.NotEqual(t, first, second)

	// Killed while nobody calls: the call that comes then finds a new one, or says that it lost the old one.
	n, err := strconv.Atoi(second)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(n, syscall.SIGKILL))
	if _, err := run(t, client, "echo", nil); err != nil {
		require.ErrorContains(t, err, "signal: killed")
	}
	require.NotEqual(t, second, result(t, client, "pid"))
}

// A process that the server has put outside of its group is not ended, and keeps standard output open.
func TestAServerThatDiesAndLeavesAProcess(t *testing.T) {
	t.Parallel()
	client := open(t, command(t, "serve"))
	away, err := run(t, client, "child", map[string]any{"text": "away"})
	require.NoError(t, err)
	pid, err := strconv.Atoi(away["result"].(string))
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) }()
	_, err = run(t, client, "die", nil)
	require.ErrorContains(t, err, "exit status 7")
	_, err = run(t, client, "echo", nil)
	require.NoError(t, err)
}

func TestManyCallsOfAServerThatDies(t *testing.T) {
	t.Parallel()
	client := open(t, command(t, "serve"))
	_, err := run(t, client, "die", nil)
	require.Error(t, err)
	var all sync.WaitGroup
	pids := make([]string, 20)
	for i := range pids {
		all.Go(func() { pids[i] = result(t, client, "pid") })
	}
	all.Wait()
	require.Len(t, slices.Compact(pids), 1, "one process for all")
}

func TestAServerThatCannotComeBack(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.Symlink(self, link))
	c := command(t, "serve")
	c.Command = []string{"./server"}
	c.Dir = filepath.Dir(link)
	client := open(t, c)
	require.NoError(t, os.Remove(link))
	_, err = run(t, client, "die", nil)
	require.Error(t, err)
	for range 2 {
		_, err = run(t, client, "echo", nil)
		require.ErrorContains(t, err, "MCP server server: it cannot be started")
	}
	require.NoError(t, os.Symlink(self, link))
	_, err = run(t, client, "echo", nil)
	require.NoError(t, err)
}

func TestACallThatTakesTooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // which is there for as long as the server is
	c := command(t, "serve")
	c.Timeout = 20 * time.Millisecond
	client := open(t, c)
	for i, cancelled := range []bool{false, true} {
		file := filepath.Join(dir, strconv.Itoa(i))
		ctx, cancel := context.WithCancel(context.Background())
		if cancelled {
			cancel()
		}
		_, err := find(t, client, "hang").Run(ctx, &tool.Call{Args: map[string]any{"text": file}})
		cancel()
		if cancelled {
			require.Equal(t, context.Canceled, err)
			continue
		}
		// The server is told of a call that it got. Where the time was over before the call was sent, there is nothing
		// to tell, and the next one may get there.
		for began := time.Now(); ; {
			require.EqualError(t, err,
				"MCP server mcp.test: it did not answer within 20ms, and was told to stop")
			if data, _ := os.ReadFile(file); string(data) == "cancelled" {
				break
			}
			require.Less(t, time.Since(began), time.Minute, "no call was cancelled at the server")
			_, err = run(t, client, "hang", map[string]any{"text": file})
		}
	}
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	client, err := mcp.Open(context.Background(), command(t, "serve"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	done := make(chan error)
	go func() {
		_, err := run(t, client, "hang", map[string]any{"text": file})
		done <- err
	}()
	require.NoError(t, client.Close())
	require.ErrorContains(t, <-done, "the client was closed")
}

// A server that reads nothing holds up a request that does not fit the pipe.
func TestAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := command(t, "deaf")
	c.Timeout = 20 * time.Millisecond
	client := open(t, c)
	_, err := run(t, client, "write", map[string]any{"text": strings.Repeat("x", 1<<20)})
	require.ErrorContains(t, err, "did not answer within 20ms")
	_, err = run(t, client, "write", nil)
	require.Error(t, err)
}

func TestAResultThatIsNone(t *testing.T) {
	t.Parallel()
	client := open(t, command(t, "odd"))
	for range 2 {
		_, err := run(t, client, "write", nil)
		require.ErrorContains(t, err, "hologram")
		require.NotContains(t, err.Error(), "ended")
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// What a server asks is answered. While it does not read the answers, nothing more is read of it:
// else all that it sends would be kept.
func TestWhatAServerAsks(t *testing.T) {
	c := command(t, "asks and reads")
	client := open(t, c)
	answer, err := run(t, client, "write", nil)
	require.NoError(t, err)
	heard := strings.Split(answer["result"].(string), "\n")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"s","result":{}}`, heard[0])
	require.Contains(t, heard[1], `"code":-32601`)

	c = command(t, "asks")
	c.Timeout = time.Second
	_, err = run(t, open(t, c), "write", nil)
	require.ErrorContains(t, err, "it did not answer within 1s")
}
