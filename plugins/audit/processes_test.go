//go:build unix

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// asProcess is the variable that says what this binary is instead of tests: one of processes.
const asProcess = "PLUGHOOK_AUDIT_TEST_PROCESS"

var processes = map[string]func(){
	"plugin": func() { serve.WithSettings(serve.About{Name: "audit", Doc: "audits"}, audit.New) },
	// writer writes lines until its input ends, or it is killed, and says so after each.
	"writer": func() {
		p, err := audit.New(audit.Config{Path: os.Args[1], Sync: "rotate", MaxBytes: 20_000})
		must(err)
		gone := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(gone)
		}()
		for i := 1; ; i++ {
			select {
			case <-gone:
				must(p.Close(context.Background()))
				return
			default:
			}
			must(offer(p, session.Message("hello"), fmt.Sprintf("%s-%d", os.Args[2], i)))
			fmt.Println(i)
		}
	},
	// limited has a disk that is full after 2000 bytes, and then is not.
	"limited": func() {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{}
		must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
		p, err := audit.New(audit.Config{Path: os.Args[1]})
		must(err)
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2000, Max: limit.Max}))
		failed := 0
		for i := range 20 {
			if err := offer(p, session.Message("hello"), fmt.Sprint(i)); err != nil {
				failed++
				fmt.Println(err)
			}
		}
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		must(offer(p, session.Message("hello"), "last"))
		must(p.Close(context.Background()))
		fmt.Println("failed:", failed)
	},
}

func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func TestMain(m *testing.M) {
	if be := processes[os.Getenv(asProcess)]; be != nil {
		be()
		return
	}
	goleak.VerifyTestMain(m)
}

// offer calls OnEvent as a runner does.
func offer(p *plugin.Plugin, e *session.Event, id string) error {
	e.ID, e.Author = id, session.User
	_, err := p.OnEvent(context.Background(),
		&session.Invocation{ID: "i1", Key: session.Key{App: "a", User: "u", ID: "s"}}, e)
	return err
}

func create(t *testing.T, c audit.Config) *plugin.Plugin {
	p, err := audit.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	return p
}

// process starts this binary as the plugin.
func process(t *testing.T, settings string, env ...string) *plugin.Plugin {
	self, err := os.Executable()
	require.NoError(t, err)
	p, err := remote.Start(t.Context(), remote.Config{
		Command:  []string{self},
		Timeout:  10 * time.Second,
		Settings: []byte(settings),
		Env:      append(env, asProcess+"=plugin", "GORACE=atexit_sleep_ms=0"),
	})
	require.NoError(t, err)
	return p
}

// play plays the sessions of a file under a plugin, one after the other, and closes it.
func play(t *testing.T, file string, plugins ...*plugin.Plugin) {
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	var recs []*session.Recording
	for rec, err := range session.ReadRecordings(file, in) {
		require.NoError(t, err)
		recs = append(recs, rec)
	}
	a, err := replay.New("agent", recs...)
	require.NoError(t, err)
	mem := memory.New()
	r, err := runner.New(runner.Options{Agent: a, Sessions: mem, Plugins: plugins, Restore: true})
	require.NoError(t, err)
	for _, rec := range recs {
		_, err = mem.Create(t.Context(), rec.Key, rec.State)
		require.NoError(t, err)
		for input := range a.Inputs(rec.Key) {
			for _, err := range r.Run(t.Context(), rec.Key, input, session.RunConfig{}) {
				require.NoError(t, err)
			}
		}
	}
	require.NoError(t, r.Close(t.Context()))
	require.NoError(t, mem.Close())
}

func read(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// all returns the files of a chain as one, in their order.
func all(t *testing.T, path string) string {
	ext := filepath.Ext(path)
	aside, err := filepath.Glob(strings.TrimSuffix(path, ext) + ".*" + ext)
	require.NoError(t, err)
	byNumber := map[int]string{}
	most := 0
	for _, name := range aside {
		fields := strings.Split(filepath.Base(name), ".")
		var n int
		_, err := fmt.Sscan(fields[len(fields)-2], &n)
		require.NoError(t, err)
		byNumber[n], most = read(t, name), max(most, n)
	}
	var b strings.Builder
	for n := range most + 1 {
		b.WriteString(byNumber[n])
	}
	// A writer that was killed between two files has put one aside, and not begun the next.
	data, err := os.ReadFile(path)
	if len(aside) > 0 && errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	require.NoError(t, err)
	return b.String() + string(data)
}
