//go:build linux

package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/session"
)

// The faults of real processes. "during" is a hook that does it; "before" is a first process that
// is well, ended by a signal, and replacements that do it when they start, so that no hook is
// ever called.
const (
	envFault  = "PLUGHOOK_TEST_FAULT"  // what goes wrong, and when: crash/during
	envStarts = "PLUGHOOK_TEST_STARTS" // the file with a byte for each start
)

func init() {
	if fault := os.Getenv(envFault); fault != "" {
		faultyMain(fault)
		os.Exit(0)
	}
}

// faultyMain is the main of a plugin with a fault.
func faultyMain(fault string) {
	starts := os.Getenv(envStarts)
	f, err := os.OpenFile(starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprint(f, "s")
	f.Close()
	what, when, _ := strings.Cut(fault, "/")
	if s, err := os.Stat(starts); err == nil && s.Size() > 1 && when == "before" {
		_, _ = doFault(what)
	}
	serve.Plugin(&plugin.Plugin{
		Name: "guard",
		OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
			if when == "during" {
				return doFault(what)
			}
			return plugin.Outcome{}, nil
		},
	})
}

func doFault(what string) (plugin.Outcome, error) {
	switch what {
	case "crash":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	case "SIGSTOP": // from outside: the process is the first of its namespace, and need not listen to itself
		_ = os.WriteFile(os.Getenv(envStarts)+".stop", nil, 0o600)
		select {}
	case "hang":
		select {}
	case "garbage":
		fmt.Println(strings.Repeat("garbage", 1000))
		for fd := 3; fd < 64; fd++ { // HTTP/2 on the connections that there are
			if kind, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); strings.HasPrefix(
				kind,
				"socket:",
			) {
				_, _ = syscall.Write(fd, []byte(strings.Repeat("\xff", 4096)))
			}
		}
	case "oversize":
		return plugin.Outcome{
			Emit: []*session.Event{session.Reply(strings.Repeat("x", 1<<20))},
		}, nil
	case "wrong version":
		fmt.Println("1|99|unix|/nowhere|grpc")
		select {}
	case "panic":
		panic("boom")
	case "closes stdout":
		os.Stdout.Close()
		_ = syscall.Close(1)
	case "floods stderr":
		for range 1 << 10 {
			fmt.Fprintln(os.Stderr, strings.Repeat("flood", 1000))
		}
	}
	return plugin.Outcome{}, nil
}

// freeze stops a process, and returns when it has stopped.
func freeze(t testing.TB, pid int) {
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	for {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		require.NoError(t, err)
		running := 0
		for _, thread := range threads {
			if stat, _ := os.ReadFile(thread); !strings.Contains(string(stat), ") T ") {
				running++
			}
		}
		if running == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// processFault is a cell of the matrix, but for the policy.
type processFault struct {
	what, when string
	harmless   bool  // the plugin is well all the same
	is         error // what the failure is, if that is one thing
	says       string
	input      string // what the user says, "hello" if empty
}

var processFaults = []processFault{
	{what: "crash", when: "before", says: "last words"},
	{what: "crash", when: "during", is: ErrGone, says: "last words"},
	{what: "hang", when: "before", is: plugin.ErrTimeout},
	{what: "hang", when: "during", is: plugin.ErrTimeout},
	{what: "SIGSTOP", when: "before", is: plugin.ErrTimeout},
	{what: "SIGSTOP", when: "during", is: plugin.ErrTimeout},
	{what: "garbage", when: "before", harmless: true}, // noise before the handshake
	{what: "garbage", when: "during", is: ErrGone},
	{
		what:  "oversize",
		when:  "before",
		input: strings.Repeat("x", 1<<20),
	}, // the message of the call is
	{what: "oversize", when: "during"},
	{what: "wrong version", when: "before"},
	{what: "wrong digest", when: "before", is: ErrQuarantined, says: ErrDigest.Error()},
	{what: "wrong digest", when: "during", harmless: true}, // what runs is what was hashed
	{what: "panic", when: "before", says: "boom"},
	{what: "panic", when: "during", is: plugin.ErrPanic, says: "boom"},
	{what: "closes stdout", when: "before"},
	{what: "closes stdout", when: "during", harmless: true},
	{what: "floods stderr", when: "before", harmless: true},
	{what: "floods stderr", when: "during", harmless: true},
}

// open starts the first process, and lets the fault before a hook happen.
func (x processFault) open(t *testing.T) (h *Host, left func() []int) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	starts, pinned := filepath.Join(dir, "starts"), filepath.Join(dir, "source")
	require.NoError(t, os.WriteFile(pinned, []byte("as pinned"), 0o600))
	sum := sha256.Sum256([]byte("as pinned"))
	c := Config{
		Name:    "guard",
		Command: []string{self},
		Env:     testplugin.Env(envFault+"="+x.what+"/"+x.when, envStarts+"="+starts),
		Files: map[string]string{
			pinned: hex.EncodeToString(sum[:]),
		},
		Timeout:    500 * time.Millisecond,
		MaxMessage: 128 << 10,
		// However busy the machine is: nothing here is about slow starts.
		StartTimeout: time.Minute,
		Log:          testplugin.Discard,
	}
	if x.harmless || x.when == "during" && x.is != plugin.ErrTimeout {
		c.Timeout = time.Minute // however busy the machine is
	}
	var mu sync.Mutex
	var pids []int
	h, err = openHost(
		t.Context(),
		c,
		func(ctx context.Context, c Config, log *slog.Logger) (*launched, error) {
			l, err := start(ctx, c, log)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				pids = append(pids, l.pid)
			}
			return l, err
		},
	)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	left = func() []int {
		mu.Lock()
		defer mu.Unlock()
		return slices.DeleteFunc(slices.Clone(pids),
			func(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	if x.what == "wrong digest" {
		require.NoError(t, os.WriteFile(pinned, []byte("another"), 0o600))
	}
	pid := h.Health().PID
	switch {
	case x.what == "SIGSTOP" && x.when == "during":
		var stop sync.WaitGroup
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(func() { cancel(); stop.Wait() })
		stop.Go(func() {
			for ctx.Err() == nil {
				if os.Remove(starts+".stop") == nil {
					_ = syscall.Kill(pid, syscall.SIGSTOP)
				}
				time.Sleep(time.Millisecond)
			}
		})
	case x.when != "before" || x.what == "oversize":
	case x.what == "SIGSTOP":
		freeze(t, pid)
	default:
		h.mu.Lock()
		gone := h.current.conn.gone
		h.mu.Unlock()
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		<-gone
	}
	return h, left
}

func TestFaultsOfProcesses(t *testing.T) {
	for _, x := range processFaults {
		for _, open := range []bool{false, true} {
			policy := map[bool]string{false: "closed", true: "open"}[open]
			t.Run(x.what+"/"+x.when+"/"+policy, func(t *testing.T) {
				t.Parallel()
				h, left := x.open(t)
				if x.what == "wrong digest" && x.when == "before" { // given up before anybody calls
					for h.Health().State != Quarantined {
						time.Sleep(time.Millisecond)
					}
				}
				p := h.Plugin()
				if open {
					p = plugin.FailOpen(p)
				}
				p.Close = nil
				input := x.input
				if input == "" {
					input = "hello"
				}
				events, models, err := turn(t, input, p)
				switch {
				case x.harmless, open:
					require.NoError(t, err)
					require.Equal(t, 1, models)
					require.Len(t, events, 2)
					marks := plugin.NotesOf(events[0]).Unchecked
					if x.harmless {
						require.Empty(t, marks)
					} else {
						require.Equal(t, []plugin.Note{{Plugin: "guard", Hook: plugin.OnEvent}}, marks)
					}
				default:
					var failure *plugin.Error
					require.ErrorAs(t, err, &failure)
					require.Equal(t, "guard", failure.Plugin)
					require.Empty(t, events)
					require.Zero(t, models, "a model was called after the failure")
					if x.is != nil {
						require.ErrorIs(t, err, x.is)
					}
					if x.when == "during" { // before, it depends on how many starts the timeout has seen
						require.ErrorContains(t, err, x.says)
					}
				}
				if x.when == "before" && x.says != "" {
					for !strings.Contains(h.Health().LastError, x.says) {
						time.Sleep(time.Millisecond)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := h.Close(ctx); errors.Is(err, context.DeadlineExceeded) {
					require.NoError(t, err) // that one had to be killed is no wonder
				}
				require.Empty(t, left())
			})
		}
	}
}
