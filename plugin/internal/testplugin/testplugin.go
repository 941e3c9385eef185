//go:build unix

// Package testplugin has programs for tests of plugins in processes: the test binary itself is
// each of them.
//
// A new program: a row of Programs, here if several packages need it, else in an init of the tests that do.
package testplugin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

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

// Programs are what this binary can be instead of tests. Tests add their own.
var Programs = map[string]func(){
	"asked": func() { serve.Plugin(Ask(Answer)) },
	"noisy": func() {
		for i := range 2000 {
			fmt.Println("noise on stdout, line", i)
		}
		fmt.Fprintln(os.Stderr, "noise on stderr")
		fmt.Print("noise without an end")
		serve.Plugin(Ask(Answer))
	},
	"dies": func() {
		fmt.Fprint(os.Stderr, "first words"+strings.Repeat(" filler", 1000)+" last words")
		fmt.Println("what stdout says")
		os.Exit(3)
	},
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

// Answer answers "say", and a text after it, with the text.
func Answer(_ context.Context, text string) (string, error) {
	said, ok := strings.CutPrefix(text, "say ")
	if !ok {
		return "", fmt.Errorf("what is %q?", text)
	}
	return said, nil
}

func TextEvent(text string) *session.Event {
	e := session.Reply(text)
	e.ID = "e1"
	e.Author = "user"
	return e
}
