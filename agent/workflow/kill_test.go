//go:build unix

package workflow_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
)

// killed is the environment variable with the store, in a process that the test kills.
const killed = "PLUGHOOK_TEST_WORKFLOW"

func TestMain(m *testing.M) {
	if where := os.Getenv(killed); where != "" {
		if err := workOn(where); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	contract.Short(30)
	pgtest.Main(m)
}

func openStore(ctx context.Context, where string) (session.Service, error) {
	if strings.HasPrefix(where, "postgres") {
		return postgres.Open(ctx, where)
	}
	return sqlite.Open(ctx, where)
}

// twenty is a workflow of more than 20 nodes: a fan-out with a join, a graph in the graph, workers, a child,
// children by the keys of a map, a loop and a node that fails at first. Each takes up to longest.
func twenty(longest time.Duration, wrong func(string)) agent.Agent {
	names := 0
	step := func() *workflow.Node {
		names++
		return workflow.Func(
			fmt.Sprint("n", names),
			func(ctx context.Context, r *workflow.Run, in any) (any, error) {
				if own := session.NewWorkflowRuns(r.Invocation().Live).Run(r.Path); own != nil &&
					own.Ended() {
					wrong(r.Path + " has ended, and runs again")
				}
				select {
				case <-time.After(rand.N(longest)):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				return []any{r.Path, total(in)}, nil
			},
		)
	}
	must := func(g agent.Agent, err error) agent.Agent {
		if err != nil {
			panic(err)
		}
		return g
	}
	in := workflow.Agent(
		must(workflow.New(workflow.Graph{Name: "in", Edges: chain(start, step(), step(), step())})))
	split, join := step(), workflow.Join("join")
	child := step()
	does := workflow.Func("does", func(ctx context.Context, r *workflow.Run, in any) (any, error) {
		return workflow.Delegate[any](ctx, r, child, "", in)
	})
	each := step()
	ranges := workflow.Func("ranges", func(ctx context.Context, r *workflow.Run, in any) (int, error) {
		sum := 0
		for name, n := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4} {
			out, err := workflow.Do[[]any](ctx, r, each, name, []int{n})
			if err != nil {
				return 0, err
			}
			if out[1] != float64(n) {
				wrong(fmt.Sprint(r.Path, " got for ", name, " what another child has ended with: ", out))
			}
			sum += total(out)
		}
		return sum + total(in), nil
	})
	fails := workflow.Func("fails", func(_ context.Context, r *workflow.Run, in any) (any, error) {
		if r.Attempt == 1 {
			return nil, errors.New("at first")
		}
		return in, nil
	})
	fails.Retry.Attempts = 1000 // what is killed on the way to its end does not count as one
	loop := workflow.Func("loop", func(_ context.Context, r *workflow.Run, in any) (any, error) {
		n, _ := r.Get("rounds").(float64)
		r.Set("rounds", n+1)
		if n < 2 {
			r.Route("again")
		}
		return in, nil
	})
	last := step()
	edges := slices.Concat(
		chain(start, step(), split, step(), step(), join),
		chain(split, step(), join),
		chain(split, in, join),
		chain(join, does, ranges, workflow.Each(step(), 2), fails, step(), loop),
		[]workflow.Edge{
			{From: loop, To: loop, Route: "again"},
			{From: loop, To: last, Route: workflow.Default},
		},
		chain(last, step(), step()),
	)
	return must(workflow.New(workflow.Graph{Name: "wf", Edges: edges}))
}

// impatient is a store that does not wait long for a session that another process has: 20 ms, and
// twice as long each time it was in vain, so that a slow machine gets on, too.
type impatient struct {
	session.Service
	inVain int // how often, one time after the other
}

func (s *impatient) Lease(
	ctx context.Context,
	key session.Key,
	holder string,
) (*session.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond<<min(s.inVain, 7))
	defer cancel()
	lease, err := s.Service.Lease(ctx, key, holder)
	s.inVain++
	if err == nil {
		s.inVain = 0
	}
	return lease, err
}

// workOn is a process that goes on with the workflows in a store, until its input is closed.
func workOn(where string) error {
	svc, err := openStore(context.Background(), where)
	if err != nil {
		return err
	}
	defer svc.Close()
	root := twenty(6*time.Millisecond, func(what string) { fmt.Println("wrong", what) })
	r, err := runner.New(runner.Options{Agent: root, Sessions: &impatient{Service: svc}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	ended := map[session.Key]bool{}
	for ctx.Err() == nil {
		for m, err := range svc.List(ctx, "", "") {
			if err != nil || ended[m.Key] {
				continue
			}
			inv, err := session.Snapshot(ctx, svc, m.Key)
			if err != nil {
				continue
			}
			if w := session.NewWorkflowRuns(inv.Live).Workflow("wf@mon"); w != nil && w.Ended {
				ended[m.Key] = true
				continue
			}
			input := session.Message("hello")
			input.ID = "mon"
			if rand.N(2) == 0 && len(inv.Live) > 0 {
				input = nil
			}
			began := false
			for _, err := range r.Run(ctx, m.Key, input, session.RunConfig{}) {
				if !began {
					began = true
					fmt.Println("begin")
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) &&
					!errors.Is(err, context.Canceled) &&
					!errors.Is(err, session.ErrFenced) &&
					!errors.Is(err, session.ErrConflict) {
					return err
				}
			}
			fmt.Println("end")
		}
	}
	return r.Close(context.Background())
}

// worker is such a process.
type worker struct {
	cmd   *exec.Cmd
	input io.Closer
	begun chan struct{} // closed when it has begun a run
	done  chan struct{}
	mu    sync.Mutex
	last  string   // what it said last
	wrong []string // what it said that it must not
}

func startWorker(t *testing.T, where string) *worker {
	w := &worker{
		cmd:   exec.Command(os.Args[0]),
		begun: make(chan struct{}),
		done:  make(chan struct{}),
	}
	w.cmd.Env = append(os.Environ(), killed+"="+where)
	w.cmd.Stderr = os.Stderr
	in, err := w.cmd.StdinPipe()
	require.NoError(t, err)
	w.input = in
	out, err := w.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill(); <-w.done })
	go func() {
		defer close(w.done)
		begin := sync.OnceFunc(func() { close(w.begun) })
		defer begin()
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			w.mu.Lock()
			w.last = lines.Text()
			switch w.last {
			case "begin":
				begin()
			case "end":
			default:
				w.wrong = append(w.wrong, w.last)
			}
			w.mu.Unlock()
		}
		_ = w.cmd.Wait()
	}()
	return w
}

// A crash at each append, before and after it is done, leaves what the next invocation goes on with
// to the same ends.
func TestACrashAtEachAppend(t *testing.T) {
	root := twenty(time.Millisecond, func(what string) { t.Error(what) })
	whole := newStage(t)
	events, err := whole.events(root, message("mon"))
	require.NoError(t, err)
	want := nodeEnds(t, events)
	for at := 1; at <= len(events); at++ {
		for how := 1; how <= 2; how++ {
			appends := 0
			s := newStage(t)
			s.svc = &fragile{Service: s.svc, fails: func() int {
				if appends++; appends == at {
					return how
				}
				return 0
			}}
			_, err := s.events(root, message("mon"))
			require.ErrorIs(t, err, errCrash)
			_, err = s.events(root, message("mon"))
			require.NoError(t, err)
			require.Equal(t, want, nodeEnds(t, s.live()), "append %d", at)
		}
	}
}

// Two processes compete for the runs of a workflow of 20 nodes and are killed (SIGKILL) in the
// middle of runs, 4 times (see contract.Times). In the end each node has ended once, with what it
// ends with where nobody is killed.
func TestKilledProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that are killed take a while: run without -short")
	}
	t.Run("SQLite", func(t *testing.T) { killProcesses(t, filepath.Join(t.TempDir(), "s.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { killProcesses(t, pgtest.URL(t)+"&pool_max_conns=4") })
}

func killProcesses(t *testing.T, where string) {
	want := nodeEnds(t, func() []*session.Event {
		s := newStage(t)
		events, err := s.events(twenty(time.Millisecond, func(string) {}), message("mon"))
		require.NoError(t, err)
		return events
	}())
	require.Greater(t, len(want), 20)
	svc, err := openStore(t.Context(), where)
	require.NoError(t, err)
	defer func() { require.NoError(t, svc.Close()) }()
	var keys []session.Key
	more := func(n int) {
		for range n {
			m, err := svc.Create(t.Context(), session.Key{App: "app", User: "ada"}, nil)
			require.NoError(t, err)
			keys = append(keys, m.Key)
		}
	}
	ends := map[session.Key]bool{}
	logOf := func(key session.Key) []*session.Event {
		var log []*session.Event
		for e, err := range svc.Read(t.Context(), key, session.Selection{}) {
			require.NoError(t, err)
			log = append(log, e)
		}
		return log
	}
	open := func() (n int) { // how many runs have not ended
		for _, key := range keys {
			if !ends[key] {
				w := session.NewWorkflowRuns(logOf(key)).Workflow("wf@mon")
				ends[key] = w != nil && w.Ended
			}
			if !ends[key] {
				n++
			}
		}
		return n
	}
	const sessions = 8 // so many have a run that has not ended, as long as there are kills
	more(sessions)
	workers := []*worker{startWorker(t, where), startWorker(t, where)}
	kills := 0
	others := 0
	for kills < contract.Times(4) {
		i := rand.N(2)
		w := workers[i]
		for begun := false; !begun; { // there is always something left to do
			select {
			case <-w.begun:
				begun = true
			case <-time.After(100 * time.Millisecond):
				more(sessions - open())
			}
		}
		time.Sleep(rand.N(80 * time.Millisecond))
		_ = w.cmd.Process.Kill()
		<-w.done
		require.Empty(t, w.wrong)
		if w.last == "begin" {
			kills++
		} else {
			others++
		}
		workers[i] = startWorker(t, where)

		more(sessions - open())
	}

	// The workers that are left end what there is.
	require.Eventually(t, func() bool { return open() == 0 }, 5*time.Minute, 100*time.Millisecond)
	for _, w := range workers {
		require.NoError(t, w.input.Close())
		<-w.done
		require.Empty(t, w.wrong)
	}
	for _, key := range keys {
		require.Equal(t, want, nodeEnds(t, logOf(key)), "%s", key.ID)
	}
	t.Logf(
		"%d kills in the middle of runs, %d between them; %d runs of a workflow with %d ends each, every end once",
		kills,
		others,
		len(keys),
		len(want),
	)
}

// nodeEnds returns what the runs in a log have ended with, by path. No run ends twice.
func nodeEnds(t *testing.T, log []*session.Event) map[string]string {
	ends := map[string]string{}
	for _, e := range log {
		if e.NodeInfo == nil || !e.NodeInfo.Ended {
			continue
		}
		require.NotContains(t, ends, e.NodeInfo.Path, "it ends twice")
		data, err := json.Marshal(
			[]any{e.Output, e.NodeInfo.OutputOf, e.Actions.Route, e.Actions.StateDelta})
		require.NoError(t, err)
		ends[e.NodeInfo.Path] = string(data)
	}
	return ends
}
