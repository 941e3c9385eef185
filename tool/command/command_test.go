//go:build unix

package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
)

const hostDir = "PLUGHOOK_COMMAND_TEST_HOST"

// The test binary is also a program that calls a command, and waits for it.
func TestMain(m *testing.M) {
	dir := os.Getenv(hostDir)
	if dir == "" {
		goleak.VerifyTestMain(m)
		return
	}
	made, err := command.New(command.Config{
		Name:    "sh",
		Command: []string{"sh", "-c", "exec 9>fifo; echo ready >&9; exec sleep 1000"},
		Dir:     dir,
	})
	if err == nil {
		_, err = made.Run(context.Background(), &tool.Call{})
	}
	fmt.Fprintln(os.Stderr, "the command did not last:", err)
}

func shell(t *testing.T, script string, change ...func(*command.Config)) *tool.Tool {
	t.Helper()
	c := command.Config{Name: "sh", Command: []string{"sh", "-c", script}, Dir: t.TempDir()}
	for _, f := range change {
		f(&c)
	}
	made, err := command.New(c)
	require.NoError(t, err)
	return made
}

func TestResponses(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		args   map[string]any
		want   map[string]any
	}{
		"arguments are standard input":      {"cat", map[string]any{"city": "Paris"}, map[string]any{"city": "Paris"}},
		"no arguments are an empty object":  {"cat", nil, map[string]any{}},
		"who does not read them":            {`echo '{"ok":true}'`, map[string]any{"long": strings.Repeat("x", 1<<18)}, map[string]any{"ok": true}},
		"an object":                         {`echo ' {"a": 1.5, "b": [1, null]} '`, nil, map[string]any{"a": 1.5, "b": []any{1.0, nil}}},
		"another value":                     {"echo 5", nil, map[string]any{"result": 5.0}},
		"a list":                            {`echo '["a"]'`, nil, map[string]any{"result": []any{"a"}}},
		"text":                              {"echo sunny today", nil, map[string]any{"result": "sunny today"}},
		"two values are text":               {`echo '{}'; echo '{}'`, nil, map[string]any{"result": "{}\n{}"}},
		"nothing":                           {"true", nil, nil},
		"null":                              {"echo null", nil, map[string]any{"result": nil}},
		"an integer that no float64 has":    {`echo '{"id":9007199254740993}'`, nil, map[string]any{"id": json.Number("9007199254740993")}},
		"one that no int64 has":             {`echo 123456789012345678901`, nil, map[string]any{"result": json.Number("123456789012345678901")}},
		"what is no UTF-8":                  {`printf 'a\377'`, nil, map[string]any{"result": "a\uFFFD"}},
		"standard error of a command of 0":  {"echo fine; echo oops >&2", nil, map[string]any{"result": "fine"}},
		"a process that it leaves behind":   {"sleep 1000 & echo left", nil, map[string]any{"result": "left"}},
		"a relative path is from Dir":       {"pwd >/dev/null; cat ./file 2>/dev/null || echo none", nil, map[string]any{"result": "none"}},
		"its output is whole up to a bound": {"head -c 1000000 /dev/zero | tr '\\0' x", nil, map[string]any{"result": strings.Repeat("x", 1000000)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shell(t, tc.script).Run(t.Context(), &tool.Call{Args: tc.args})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"a status":                {"exit 3", "exit status 3"},
		"with what it said":       {"echo no such city >&2; exit 3", "exit status 3: no such city"},
		"a signal":                {"kill -9 $$", "signal: killed"},
		"too much":                {"yes", "it was ended: it wrote more than 1048576 bytes"},
		"what it wrote is no say": {"echo '{}'; exit 1", "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := shell(t, tc.script).Run(t.Context(), &tool.Call{})
			require.EqualError(t, err, tc.want)
		})
	}
	t.Run("only the last lines", func(t *testing.T) {
		_, err := shell(
			t,
			"i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1",
		).Run(t.Context(), &tool.Call{})
		require.ErrorContains(t, err, "exit status 1: line ")
		require.True(t, strings.HasSuffix(err.Error(), "line 2999"), err)
		require.Less(t, len(err.Error()), 2100)
	})
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_KEY", "canary")
	t.Setenv("CITY", "Paris")
	made := shell(t, "env | sed 's/^/- /'",
		func(c *command.Config) { c.Env = []string{"CITY", "UNIT=C", "NOT_SET_ANYWHERE"} })
	out, err := made.Run(t.Context(), &tool.Call{})
	require.NoError(t, err)
	env := out["result"].(string)
	require.Contains(t, env, "- CITY=Paris")
	require.Contains(t, env, "- UNIT=C")
	require.Contains(t, env, "- PATH=")
	require.NotContains(t, env, "canary")
	require.NotContains(t, env, "NOT_SET_ANYWHERE")
}

// A cancelled call ends the command and what it has started, one that does not want to end among them.
func TestCancelEndsTheGroup(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	made := shell(t, `trap "" TERM; exec 9>fifo; sleep 1000 & echo ready >&9; wait; sleep 1000`,
		func(c *command.Config) { c.Dir = dir })
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("that was enough")
	done := make(chan error)
	go func() {
		_, err := made.Run(ctx, &tool.Call{})
		done <- err
	}()
	fifo, err := os.Open(name) // once the command has
	require.NoError(t, err)
	defer fifo.Close()
	all := bufio.NewReader(fifo)
	line, err := all.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	cancel(why)
	require.ErrorIs(t, <-done, why)
	_, err = all.ReadByte() // ends once every process that had it open has ended
	require.ErrorIs(t, err, io.EOF)
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prog"), []byte("#!/bin/sh\npwd\n"), 0o700))
	for name, tc := range map[string]struct {
		command []string
		want    string
	}{
		"none":           {nil, "tool t: it has no command"},
		"empty":          {[]string{""}, "tool t: it has no command"},
		"not there":      {[]string{"no-such-program-anywhere"}, `tool t: exec: "no-such-program-anywhere": executable file not found in $PATH`},
		"not executable": {[]string{"./data"}, "permission denied"},
		"no file":        {[]string{"./none"}, "no such file"},
	} {
		_, err := command.New(command.Config{Name: "t", Command: tc.command, Dir: dir})
		require.ErrorContains(t, err, tc.want, name)
	}
	made, err := command.New(command.Config{
		Name:        "t",
		Description: "d",
		Command:     []string{"./prog"},
		Dir:         dir,
		Parameters:  map[string]any{"type": "object"},
	})
	require.NoError(t, err)
	require.Equal(t, "t", made.Name())
	require.Equal(t, "d", made.Declaration.Description)
	require.Equal(t, map[string]any{"type": "object"}, made.Declaration.ParametersJsonSchema)
	out, err := made.Run(t.Context(), &tool.Call{})
	require.NoError(t, err)
	require.Equal(t, filepath.Base(dir), filepath.Base(out["result"].(string)))
}

// A command that is a tool: its arguments come on standard input.
func Example() {
	upper, err := command.New(command.Config{
		Name: "upper", Description: "Writes a text in capitals.",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		Command: []string{"sh", "-c", `sed 's/.*"text":"\([^"]*\)".*/\1/' | tr a-z A-Z`},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := upper.Run(context.Background(), &tool.Call{Args: map[string]any{"text": "hello"}})
	fmt.Println(out["result"], err)
	// Output: HELLO <nil>
}
