//go:build unix

// Package testplugin has programs for tests of plugins in processes: the test binary itself is
// each of them.
package testplugin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/session"
)

// AsPlugin is the first argument with which a test binary is not tests, but the program that the
// second names.
const AsPlugin = "as-plugin"

// envGRPC, if it is set, makes the plugins of tests use gRPC's stream, which plugins in other
// languages have.
const envGRPC = "PLUGHOOK_TEST_GRPC"

// It is set before any init: some of those are the main of a plugin.
var _ = func() (none struct{}) {
	transport.WithoutFrames = os.Getenv(envGRPC) != ""
	return none
}()

// Main is TestMain: it runs the tests, or the program that the arguments name. Tests that call t.Parallel run 16 at a
// time, however few cores there are, because most of them wait for processes.
func Main(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == AsPlugin {
		Programs[os.Args[2]]()
		return
	}
	if err := flag.Set("test.parallel", "16"); err != nil { // the command line goes before it
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// CommandLine returns the command line of a program.
func CommandLine(name string, args ...string) []string {
	return append([]string{os.Args[0], AsPlugin, name}, args...)
}

func Env(more ...string) []string {
	if os.Getenv(envGRPC) != "" {
		more = append(more, envGRPC)
	}
	return append(more, "GORACE=atexit_sleep_ms=0")
}

// Discard is a log that nobody reads.
var Discard = slog.New(slog.DiscardHandler)

// Log is a log that tests read.
type Log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

func (l *Log) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// processes are what this binary can be instead of tests.
var Programs = map[string]func(){
	// asked answers questions about itself.
	"asked": func() { serve.Plugin(Ask(Answer)) },
	"noisy": func() {
		for i := range 2000 {
			fmt.Println("noise on stdout, line", i)
		}
		fmt.Fprintln(os.Stderr, "noise on stderr")
		fmt.Print("noise without an end")
		serve.Plugin(Ask(Answer))
	},
	"noise only": func() {
		for {
			fmt.Println(strings.Repeat("noise ", 100))
		}
	},
	"dies": func() {
		fmt.Fprint(os.Stderr, "first words"+strings.Repeat(" filler", 1000)+" last words")
		fmt.Println("what stdout says")
		os.Exit(3)
	},
	"hangs":            func() { select {} },
	"closes stdout":    func() { os.Stdout.Close(); select {} },
	"no handshake":     func() { fmt.Println("1|1|unix"); select {} },
	"another version":  func() { fmt.Println("1|2|unix|/nowhere|grpc"); select {} },
	"another protocol": func() { fmt.Println("1|1|unix|/nowhere|netrpc"); select {} },
	"over tcp":         func() { fmt.Println("1|1|tcp|127.0.0.1:1|grpc"); select {} },
	"nobody listens":   func() { fmt.Println("1|1|unix|/nowhere|grpc"); select {} },
	"another listens":  func() { fmt.Println("1|1|unix|" + os.Args[3] + "|grpc"); select {} },
	"settings": func() {
		serve.WithSettings(serve.About{Name: "settled", Version: "v1.2.3", Doc: "has settings"}, func(c settled) (*plugin.Plugin, error) {
			if c.Dir == "/forbidden" {
				return nil, errors.New("dir: that one not")
			}
			if c.Dir == "/panic" {
				panic("at the sight of it")
			}
			return Ask(func(context.Context, string) (string, error) { return fmt.Sprint(c.Dir, " ", c.Size), nil }), nil
		})
	},
	"close fails": func() {
		p := Ask(Answer)
		p.Close = func(context.Context) error { return errors.New("the disk is full") }
		serve.Plugin(p)
	},
	"closes": func() {
		p := Ask(Answer)
		p.Close = func(context.Context) error { return os.WriteFile(os.Args[3], []byte("closed"), 0o600) }
		serve.Plugin(p)
	},
}

// Ask returns a plugin whose OnEvent answers a text with a text.
func Ask(answer func(ctx context.Context, text string) (string, error)) *plugin.Plugin {
	return &plugin.Plugin{Name: "asked", Doc: "answers", OnEvent: func(ctx context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		text, err := answer(ctx, e.Text())
		if err != nil {
			return plugin.Outcome{}, err
		}
		return plugin.Outcome{Emit: []*session.Event{session.Reply(text)}}, nil
	}}
}

type settled struct {
	Dir  string `json:"dir"`
	Size int    `json:"size,omitempty"`
}

// Answer is what asked does.
func Answer(ctx context.Context, text string) (string, error) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "say":
		return rest, nil
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "dial":
		c, err := net.DialTimeout("tcp", rest, time.Second)
		if err != nil {
			return "no: " + err.Error(), nil
		}
		return "yes", c.Close()
	case "connections":
		data, err := os.ReadFile("/proc/self/net/unix")
		return string(data), err
	case "open":
		f, err := os.OpenFile(rest, os.O_RDWR, 0)
		if err != nil {
			return "no: " + err.Error(), nil
		}
		return "yes", f.Close()
	case "read":
		data, err := os.ReadFile(rest)
		if err != nil {
			return "no: " + err.Error(), nil
		}
		return string(data), nil
	case "fill": // a file in a directory, until there is an error
		return fill(rest)
	case "use": // memory of a kind, and so many MiB of it
		kind, size, _ := strings.Cut(rest, " ")
		return use(kind, size)
	case "panic":
		panic(rest)
	case "crash":
		fmt.Fprintln(os.Stderr, "about to crash:", rest)
		go func() { panic(rest) }()
		<-ctx.Done()
		return "", ctx.Err()
	case "exit":
		os.Exit(7)
	case "hang":
		<-make(chan struct{})
	case "wait":
		<-ctx.Done()
		return "", context.Cause(ctx)
	case "large":
		n, err := strconv.Atoi(rest)
		return strings.Repeat("x", n), err
	case "child": // one that would outlive it, under a name of its own
		where, name, _ := strings.Cut(rest, " ")
		cmd := exec.Command("sleep", name)
		if where == "away" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		return "started", cmd.Start()
	case "flood":
		line := bytes.Repeat([]byte("flood "), 20000)
		for range 200 {
			os.Stderr.Write(append(line, '\n'))
			os.Stdout.Write([]byte("a line\n"))
		}
		return "flooded", nil
	case "print":
		fmt.Println("stdout: " + rest)
		fmt.Fprintln(os.Stderr, "WARN stderr: "+rest)
		fmt.Fprintln(os.Stderr, `{"level":"ERROR","msg":"json: `+rest+`","n":7}`)
		slog.Warn("slog: "+rest, "a", 1, slog.Group("g", "b", rest))
		log.Print("log: " + rest)
		return "printed", nil
	case "stdout":
		return "closed", os.Stdout.Close()
	case "namespace": // a child in a user namespace of its own
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		newUserNamespace(cmd.SysProcAttr)
		return fmt.Sprint(cmd.Run()), nil
	case "fds":
		entries, err := os.ReadDir("/proc/self/fd")
		var open []string
		for _, e := range entries {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			open = append(open, e.Name()+" "+to)
		}
		return strings.Join(open, "\n"), err
	case "status":
		data, err := os.ReadFile("/proc/self/status")
		return string(data), err
	case "limits":
		data, err := os.ReadFile("/proc/self/limits")
		return string(data), err
	}
	return "", fmt.Errorf("what is %q?", text)
}

// fill writes a file of up to 256 MiB, removes it, and returns how many MiB it could write.
func fill(path string) (string, error) {
	f, err := os.Create(path)
	if err != nil {
		return "no: " + err.Error(), nil
	}
	defer os.Remove(path)
	defer f.Close()
	written := 0
	for written < 256 {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			break
		}
		written++
	}
	return strconv.Itoa(written), nil
}

// use uses memory, which it keeps.
func use(kind, size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return "", err
	}
	flags := syscall.MAP_ANON | syscall.MAP_PRIVATE
	if kind == "shared" {
		flags = syscall.MAP_ANON | syscall.MAP_SHARED
	}
	memory, err := syscall.Mmap(-1, 0, n<<20, syscall.PROT_READ|syscall.PROT_WRITE, flags)
	if err != nil {
		return "no: " + err.Error(), nil
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return "yes", nil
}

func TextEvent(text string) *session.Event {
	e := session.Reply(text)
	e.ID = "e1"
	e.Author = "user"
	return e
}
