package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"runner":       main,
		"desk-plugin":  deskPlugin,
		"audit-plugin": func() { serve.WithSettings(serve.About{Name: "audit"}, audit.New) },
		// An agent that gets SIG… while it works, and ends when it is told to.
		"runner-INT":      func() { with(signalled(syscall.SIGINT, false)) },
		"runner-TERM":     func() { with(signalled(syscall.SIGTERM, false)) },
		"runner-INT-once": func() { with(interruptedOnce()) },
		// It gets SIGINT once the user is shown "STOP" of an answer that goes on for a minute.
		"runner-INT-mid-answer": func() { with(interruptedInAnAnswer) },
		// A call of pay is denied, and the process is killed at the end of the run.
		"runner-killed": func() { with(killed) },
		// One that does not end, and gets a second signal.
		"runner-stubborn": func() { with(signalled(syscall.SIGINT, true)) },
		"runner-broken": func() {
			with(func(o *runner.Options) {
				o.Plugins = append(o.Plugins, &plugin.Plugin{
					Name: "broken",
					OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						if strings.Contains(e.Text(), "Hello") {
							return plugin.Outcome{}, errors.New("no luck")
						}
						return plugin.Outcome{}, nil
					},
				})
			})
		},
		"runner-panics": func() {
			with(func(o *runner.Options) {
				o.Agent = agent.New(
					"bad",
					"",
					func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] { panic("no luck") },
				)
			})
		},
		"runner-editor": func() { // denies what the agent says by changing it
			with(func(o *runner.Options) {
				o.Plugins = append(o.Plugins, &plugin.Plugin{
					Name: "editor",
					OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
						if e.Author == session.User {
							return plugin.Outcome{}, nil
						}
						c := e.Clone()
						c.Content, c.ErrorCode, c.ErrorMessage = session.Reply(
							"\x1b[31mremoved").Content, session.Denied, "tone"
						return plugin.Outcome{Replace: c}, nil
					},
				})
			})
		},
	})
}

// tests are the tests of this package.
type tests struct{ *testing.M }

// Run runs them. Before, it has the server of examples/weather built and kept by go run: on a busy machine that may
// take longer than a runner waits for a server's start.
func (m tests) Run() int {
	server := exec.Command("go", "run", "./server")
	server.Dir = filepath.Join("..", "..", "examples", "weather")
	if out, err := server.CombinedOutput(); err != nil { // it ends at once, for it has no input
		fmt.Fprintf(os.Stderr, "go run ./server in examples/weather: %v\n%s", err, out)
		return 1
	}
	return m.M.Run()
}

// with is main with a program that runs something else.
func with(adjust func(*runner.Options)) {
	p := &cli.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Adjust: adjust}
	os.Exit(run(p))
}

// kill sends this process a signal.
func kill(sig os.Signal) error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(sig)
	}
	return err
}

func signalled(sig syscall.Signal, stubborn bool) func(*runner.Options) {
	return func(o *runner.Options) {
		o.Agent = agent.New(
			"slow",
			"",
			func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					if err := kill(sig); err != nil {
						panic(err)
					}
					<-ctx.Done()
					if stubborn {
						_ = kill(sig)
						select {}
					}
					yield(nil, context.Cause(ctx))
				}
			},
		)
	}
}

// interruptedOnce has an agent that gets SIGINT in its first turn, and answers in others.
func interruptedOnce() func(*runner.Options) {
	first := true
	return func(o *runner.Options) {
		o.Agent = agent.New(
			"slow",
			"",
			func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					if !first {
						yield(session.Reply("Good evening"), nil)
						return
					}
					first = false
					if err := kill(syscall.SIGINT); err != nil {
						panic(err)
					}
					<-ctx.Done()
					yield(nil, context.Cause(ctx))
				}
			},
		)
	}
}

// interruptedInAnAnswer has a last plugin that sends SIGINT when a part of an answer has "STOP".
func interruptedInAnAnswer(o *runner.Options) {
	sent := false
	o.Plugins = append(o.Plugins, &plugin.Plugin{
		Name:     "int",
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if sent || !e.Partial || !strings.Contains(e.Text(), "STOP") {
				return plugin.Outcome{}, nil
			}
			sent = true
			return plugin.Outcome{}, kill(syscall.SIGINT)
		},
	})
}

func killed(o *runner.Options) {
	deny := &plugin.Plugin{
		Name: "deny",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			var out plugin.Outcome
			for _, c := range session.Calls([]*session.Event{e}) {
				if c.Name == "pay" {
					out.Emit = append(out.Emit, session.Respond(c.FunctionCall,
						map[string]any{"error": "denied: no payments"}))
				}
			}
			return out, nil
		},
	}
	kill := &plugin.Plugin{
		Name: "kill",
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			panic(kill(syscall.SIGKILL))
		},
	}
	o.Plugins = append(o.Plugins, deny, kill)
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	data := filepath.Join(root, "..", "shared", "data")
	if _, err := os.Stat(data); err != nil {
		t.Logf("development data is not at %s: its replay is not tested", data)
		data = ""
	}
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOFLAGS", "GOMODCACHE", "GOPATH", "GOPROXY").
		Output()
	require.NoError(t, err)
	var goenv map[string]string
	require.NoError(t, json.Unmarshal(out, &goenv))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE",
				"atexit_sleep_ms=0") // under -race each process would sleep for a second at its end
			e.Setenv("ROOT", root)
			e.Setenv("HOME", e.WorkDir)
			for name, value := range goenv { // the examples' server is built as here
				e.Setenv(name, value)
			}
			e.Setenv("DATA", data)
			e.Setenv("RICH", filepath.Join(root, "cmd", "runner", "testdata", "rich.jsonl"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "data" {
				return data != "", nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exitsWith, "unread": unread, "same": same, "count": count, "listens": listens,
		},
	})
}

// listens waits until somebody listens at a socket: listens PATH.
func listens(ts *testscript.TestScript, _ bool, args []string) {
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("unix", ts.MkAbs(args[0]))
		if err == nil {
			ts.Check(c.Close())
			return
		}
		if time.Now().After(until) {
			ts.Check(err)
		}
	}
}

// exitsWith runs a command and checks its exit code: exits CODE COMMAND…
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want || neg {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// unread runs a command whose standard output nobody reads, and checks its exit code and that it says
// nothing about it: unread CODE COMMAND…
func unread(ts *testscript.TestScript, _ bool, args []string) {
	r, w, err := os.Pipe()
	ts.Check(err)
	r.Close()
	defer w.Close()
	path := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[1])); err == nil {
			path = filepath.Join(dir, args[1])
			break
		}
	}
	cmd := exec.Command(path, args[2:]...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), w, &stderr
	_ = cmd.Run() // the exit code tells
	if code := cmd.ProcessState.ExitCode(); strconv.Itoa(code) != args[0] || stderr.Len() > 0 {
		ts.Fatalf("%v: standard error %q", cmd.ProcessState, stderr.String())
	}
}

// same checks that session files say the same, but for seq and the times of the sessions, which are the store's: same
// FILE FILE
func same(ts *testscript.TestScript, _ bool, args []string) {
	a, b := lines(ts, args[0]), lines(ts, args[1])
	if len(a) != len(b) {
		ts.Fatalf("%d and %d lines", len(a), len(b))
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			ts.Fatalf("line %d:\n%v\n%v", i+1, a[i], b[i])
		}
	}
	ts.Logf("%d lines are the same", len(a))
}

func lines(ts *testscript.TestScript, file string) (list []map[string]any) {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	for {
		var v map[string]any
		err := d.Decode(&v)
		if err == io.EOF {
			return list
		}
		ts.Check(err)
		delete(v, "seq")
		if header, ok := v["session"].(map[string]any); ok {
			delete(header, "createTime")
			delete(header, "lastUpdateTime")
		}
		list = append(list, v)
	}
}

// count checks how many lines a file, or stdout, has: count N FILE
func count(ts *testscript.TestScript, _ bool, args []string) {
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d lines, want %s", n, args[0])
	}
}
