package server_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
)

// replicaVariable has the store of a replica. A process of this test binary that has it is one: a server of
// its own on that store.
const replicaVariable = "PLUGHOOK_REPLICA"

// resumeVariable has after which time a replica goes on with runs that were cut off; it does not if it is not set.
const resumeVariable = "PLUGHOOK_REPLICA_RESUME"

// notifyVariable has the address that a replica tells of the ends of runs.
const notifyVariable = "PLUGHOOK_REPLICA_NOTIFY"

func TestMain(m *testing.M) {
	if store := os.Getenv(replicaVariable); store != "" {
		if err := serveReplica(store); err != nil {
			fmt.Fprintln(os.Stderr, "replica:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The tests with replicas mostly wait, so they run side by side, however few cores there are.
	_ = flag.Set("test.parallel", "8")
	pgtest.Main(m)
}

// openStore opens the store that replicas share: a database, or a file.
func openStore(ctx context.Context, where string) (session.Service, error) {
	if strings.HasPrefix(where, "postgres:") {
		return postgres.Open(ctx, where)
	}
	return sqlite.Open(ctx, where)
}

// serveReplica serves the agent "errand" as the app "desk", and prints its address. It ends on SIGTERM in
// good order, and when its standard input ends.
func serveReplica(where string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the test closes it, also by dying
		stop()
	}()
	sessions, err := openStore(ctx, where)
	if err != nil {
		return err
	}
	resumeAfter, _ := time.ParseDuration(os.Getenv(resumeVariable))
	a := agent.New("errand", "It does what it is told.", errand)
	plugins := []*plugin.Plugin{rewind.New(sessions)}
	r, err := runner.New(runner.Options{Agent: a, Sessions: sessions, Plugins: plugins})
	if err != nil {
		return err
	}
	var told []*server.Notify
	if url := os.Getenv(notifyVariable); url != "" {
		told = append(told, &server.Notify{URL: url, Secret: notifySecret})
	}
	s, err := server.New(server.Options{
		Notify: told,
		Apps:   []server.App{{Name: "desk", Runner: r}},
		Limits: server.Limits{Streams: -1, UserStreams: -1, UserRuns: -1},

		ResumeAfter: resumeAfter,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &http.Server{Handler: s}
	go func() { _ = h.Serve(listener) }()
	fmt.Println("http://" + listener.Addr().String())
	<-ctx.Done()
	late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.Shutdown(late)
	_ = h.Shutdown(late)
	_ = r.Close(late)
	return sessions.Close()
}

// errand is the agent of replicas. Its input says what it does:
//
//	steps N PAUSE   N calls of a tool with their responses, a pause before each, and then "done"
//	book            a call that a human has to agree to
//	stubborn PAUSE  it sleeps, whatever its context says, and says "too late" then
//
// With an input that an invocation has begun on already, it goes on where that one was.
func errand(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		now := host.Now()
		calls := session.Calls(now.Live)
		var n int
		var pause string
		text := now.Input.Text()
		switch {
		case len(calls) > 0 && calls[len(calls)-1].Response == nil && calls[len(calls)-1].Decision != nil:
			c := calls[len(calls)-1]
			if yield(session.Respond(c.FunctionCall, map[string]any{"booked": c.Approved()}), nil) {
				yield(session.Reply("booked"), nil)
			}
			return
		case text == "book":
			e := servertest.Call(session.NewID(), "book", map[string]any{})
			e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
				e.Content.Parts[0].FunctionCall.ID: {Hint: "5 EUR"},
			}
			yield(e, nil)
			return
		case strings.HasPrefix(text, "stubborn "):
			d, _ := time.ParseDuration(strings.TrimPrefix(text, "stubborn "))
			time.Sleep(d)
			yield(session.Reply("too late"), nil)
			return
		}
		if _, err := fmt.Sscanf(text, "steps %d %s", &n, &pause); err != nil {
			yield(session.Reply("You said: "+text), nil)
			return
		}
		done := 0
		for _, c := range calls {
			if c.Event.InvocationID == now.ID {
				done++
			}
		}
		d, _ := time.ParseDuration(pause)
		for i := done; i < n; i++ {
			timer := time.NewTimer(d)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				yield(nil, context.Cause(ctx))
				return
			}
			c := servertest.Call(fmt.Sprintf("%s-%d", now.ID, i), "step", map[string]any{})
			if !yield(c, nil) ||
				!yield(
					session.Respond(c.Content.Parts[0].FunctionCall, map[string]any{"step": i}),
					nil,
				) {
				return
			}
		}
		id := session.NewID()
		for _, piece := range []string{"do", "ne"} {
			part := &session.Event{
				ID:      id,
				Partial: true,
				Content: genai.NewContentFromText(piece, genai.RoleModel),
			}
			if !yield(part, nil) {
				return
			}
		}
		whole := session.Reply("done")
		whole.ID = id
		yield(whole, nil)
	}
}

// A replica is a process that serves the store.
type replica struct {
	url   string
	cmd   *exec.Cmd
	input io.Closer
}

// startReplica starts a process that serves a store, until the test ends or kills it.
func startReplica(t testing.TB, store string, env ...string) *replica {
	t.Helper()
	r := &replica{cmd: exec.Command(os.Args[0])}
	r.cmd.Env = append(append(os.Environ(), replicaVariable+"="+store), env...)
	r.cmd.Stderr = os.Stderr
	input, err := r.cmd.StdinPipe()
	require.NoError(t, err)
	r.input = input
	out, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(r.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the replica did not start")
	r.url = strings.TrimSpace(line)
	return r
}

// kill ends the process at once, as kill -9 does.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	_ = r.input.Close()
}

// A balancer stands before replicas, and gives each request to the next one of them, dead or alive, as a
// proxy does that has not noticed yet.
type balancer struct {
	url string

	mu       sync.Mutex
	replicas []*replica
	next     int
}

// balance starts a balancer before some replicas.
func balance(t testing.TB, replicas ...*replica) *balancer {
	b := &balancer{replicas: replicas}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to, err := url.Parse(b.pick().url)
			if err == nil {
				r.SetURL(to)
			}
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	b.url = proxy.URL
	return b
}

func (b *balancer) pick() *replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return b.replicas[b.next%len(b.replicas)]
}

// put replaces a replica.
func (b *balancer) put(i int, r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas[i] = r
}

// get returns a replica.
func (b *balancer) get(i int) *replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replicas[i]
}

// stores are where replicas can share sessions: by name, what returns a fresh store.
var stores = map[string]func(t testing.TB) string{
	"PostgreSQL": pgtest.URL,
	"SQLite":     func(t testing.TB) string { return t.TempDir() + "/sessions.db" },
}

// eachStore runs a test on each store, if tests are not to be short.
func eachStore(t *testing.T, test func(t *testing.T, store string)) {
	if testing.Short() {
		t.Skip("it starts processes, and waits until leases run out")
	}
	for name, fresh := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// soakTime is how long a test goes on: some seconds, or as many times of them as PLUGHOOK_SOAK says.
func soakTime(d time.Duration) time.Duration { return time.Duration(contract.Times(int(d))) }
