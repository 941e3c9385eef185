//go:build unix

// Package soak tests a session store that several processes share: it kills and stops processes that
// write, and lets them compete for one counter. The processes are the test binary, started again as
// workers; what they report to have done is compared with what the store has.
//
// A new attack on a store: a function in run.go, and what its workers do in writer.go. What must hold after
// every attack: history.check.
package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// An Open opens the store that all of a test's processes share. where says which: a path, a URL.
type Open func(ctx context.Context, where string) (session.Service, error)

// task is what a worker is to do.
type task struct {
	Name  string // of the worker, unique in the test
	Where string
	Keys  []session.Key
	Do    job
	// Meet is a session in which workers that compete wait for each other; All says for how many.
	Meet session.Key
	All  int
}

// job says how a worker appends.
type job string

const (
	appends job = "append without a lease, again after each conflict"
	leases  job = "append within leases"
	counts  job = "add to a bounded counter until the bound is reached"
)

// bound is what the counter may reach that workers compete for.
const bound = 300

// report is one line of what a worker did.
type report struct {
	Try   *batch // about to be appended
	Ack   string // the batch of this name was appended
	Added int    // by the append to the bounded counter
	Lost  bool   // a lease was lost
	Error string
}

const variable = "PLUGHOOK_SOAK_TASK"

// Worker does not return if this process was started as a worker: it is what TestMain begins with.
func Worker(open Open) {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // the test ends a worker by closing its input, also by dying
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := t.work(ctx, open); err != nil {
		say(report{Error: err.Error()})
	}
	os.Exit(0)
}

func (t task) work(ctx context.Context, open Open) error {
	s, err := open(ctx, t.Where)
	if err != nil && ctx.Err() != nil {
		return nil // ended while it opened the store
	}
	if err != nil {
		return err
	}
	if t.All > 0 {
		if err := t.meet(ctx, s); err != nil {
			return err
		}
	}
	errs := contract.AtOnce(3, func(n int) error {
		w := &writer{
			Service: s,
			task:    t,
			name:    t.Name + "." + strconv.Itoa(n),
		}
		return w.run(ctx)
	})
	return errors.Join(append(errs, s.Close())...)
}

// meet waits until all the workers are here, so that none is done before another has begun.
func (t task) meet(ctx context.Context, s session.Service) error {
	here := session.Message("here")
	here.ID = t.Name
	here.Actions.StateIncrement = map[string]float64{"app:here": 1}
	if err := contract.Persist(ctx, s, t.Meet, here); err != nil {
		return err
	}
	for {
		m, err := s.Get(ctx, t.Meet)
		if err != nil {
			return err
		}
		if n, _ := m.State["app:here"].(float64); int(n) == t.All {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

var saying sync.Mutex

// say writes a report for the test. Once say has returned the test has the line, even if this process is
// killed.
func say(r report) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	saying.Lock()
	defer saying.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// worker is a process as the test sees it.
type worker struct {
	cmd     *exec.Cmd
	input   io.Closer
	begun   chan struct{} // closed at its first report, or when it has ended
	acked   chan struct{} // closed when its first batch was appended, or when it has ended
	done    chan struct{}
	reports []report // to be read after done
}

// start starts the test binary as a worker.
func start(t testing.TB, do task) *worker {
	text, err := json.Marshal(do)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{
		cmd:   exec.Command(os.Args[0]),
		begun: make(chan struct{}),
		acked: make(chan struct{}),
		done:  make(chan struct{}),
	}
	w.cmd.Env = append(os.Environ(), variable+"="+string(text))
	w.cmd.Stderr = os.Stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.input = in
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.signal(syscall.SIGKILL); w.wait() })
	go func() {
		defer close(w.done)
		begin := sync.OnceFunc(func() { close(w.begun) })
		defer begin()
		ack := sync.OnceFunc(func() { close(w.acked) })
		defer ack()
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r report
			if json.Unmarshal(lines.Bytes(), &r) == nil { // else cut off by the kill
				w.reports = append(w.reports, r)
				begin()
				if r.Ack != "" {
					ack()
				}
			}
		}
		_ = w.cmd.Wait()
	}()
	return w
}

func (w *worker) signal(s syscall.Signal) { _ = w.cmd.Process.Signal(s) }

// end tells the worker to stop after its current append.
func (w *worker) end() {
	_ = w.input.Close()
	w.wait()
}

func (w *worker) wait() { <-w.done }
