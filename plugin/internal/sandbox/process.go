//go:build unix

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An Order says what to start, and how.
type Order struct {
	Path      string   // of the executable
	Image     *os.File // the executable in place of Path, if it is a copy without a path; else nil
	Args      []string // with the executable's name as the configuration has it
	Dir       string
	Env       []string
	Network   bool   // it has the host's network
	Isolation string // Required, None or "" for the default
	Limits    Limits
}

// A Process is a process that was started.
type Process struct {
	PID            int
	Stdin          *os.File // nobody writes to it: its end tells the process that the host is gone
	Stdout, Stderr *os.File
	Done           chan struct{}    // closed when the process has ended, and its process group with it
	State          *os.ProcessState // once Done is closed
	OutOfMemory    bool             // the kernel has killed it because it used more memory than Limits.Cgroup allows

	mu     sync.Mutex
	reaped bool
	killed bool // by us
}

// Start starts a process that ends with this one, in a session of its own and as isolated as the order and this
// system's rules ask for. The caller reads Stdout and Stderr, waits for Done, and calls Close.
func Start(ctx context.Context, o Order, log *slog.Logger) (*Process, error) {
	attempt := func(l level) (*Process, error) {
		p := &Process{Done: make(chan struct{})}
		started := make(chan error, 1)
		go p.run(ctx, o, l, started)
		return p, <-started
	}
	demand := o.Isolation
	if o.Limits.Cgroup != "" { // who is not isolated could change the limits of its group
		demand = cmp.Or(demand, Required)
	}
	return system.start(demand, attempt, log)
}

// run starts the process and waits for it, on a thread of its own that ends with it: the kernel
// kills the process when the thread that started it ends.
func (p *Process) run(ctx context.Context, o Order, l level, started chan<- error) {
	runtime.LockOSThread() // for ever: when the goroutine returns, its thread ends
	if unix.Getpid() == threadID() {
		// The main thread cannot end, so a goroutine on another thread has to do this. Wait for
		// it here, locked to the main thread, so that it cannot run on that.
		other := make(chan struct{})
		go func() {
			defer close(other)
			p.run(ctx, o, l, started)
		}()
		<-other
		runtime.UnlockOSThread()
		return
	}

	// Start it.
	cmd, theirs, err := p.command(o)
	begun := func() error { return nil }
	var g *group
	if err == nil {
		g, err = newGroup(o.Limits)
	}
	defer func() { g.remove() }()
	if err == nil {
		var report *os.File
		begun, report, err = prepare(cmd, o, l, g)
		theirs = append(theirs, report)
	}
	if err == nil {
		err = g.refused(startError(o, cmd, refused(l, cmd.Start())))
	}
	for _, f := range theirs {
		_ = f.Close() // of nil it does nothing
	}
	if err != nil {
		_ = begun() // there is nobody to report, but a file to close
		p.Close()
		started <- err
		return
	}
	p.PID = cmd.Process.Pid

	// It prepares itself before it executes the plugin.
	undo := context.AfterFunc(ctx, p.Kill)
	err = begun()
	undo()
	if err == nil {
		started <- nil
	} else if ctx.Err() != nil {
		err = context.Cause(ctx)
	}

	// When it has ended, and before its number can be another's, kill what is left of its group.
	awaitEnd(cmd)
	p.mu.Lock()
	_ = unix.Kill(-p.PID, unix.SIGKILL)
	p.reaped = true
	_ = cmd.Wait() // the state says it all
	p.State = cmd.ProcessState
	p.mu.Unlock()
	p.OutOfMemory = g.outOfMemory()
	g.remove()
	if err != nil && p.OutOfMemory {
		err = errors.New(p.LimitMet(o.Limits))
	}
	close(p.Done)
	if err != nil {
		p.Close()
		started <- startError(o, cmd, err)
	}
}

// startError returns the error of a start with the name of the plugin's executable, as the
// configuration has it, in place of what was executed.
func startError(o Order, cmd *exec.Cmd, err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok && e.Path == cmd.Path {
		return &os.PathError{Op: "start", Path: o.Args[0], Err: e.Err}
	}
	if errno, ok := err.(syscall.Errno); ok {
		return &os.PathError{Op: "start", Path: o.Args[0], Err: errno}
	}
	return err
}

// command prepares the process. It returns the process's ends of the pipes too, which are to be
// closed after the start.
func (p *Process) command(o Order) (*exec.Cmd, []*os.File, error) {
	in, stdin, inErr := os.Pipe()
	stdout, out, outErr := os.Pipe()
	stderr, errs, errsErr := os.Pipe()
	p.Stdin = stdin
	p.Stdout = stdout
	p.Stderr = stderr
	cmd := &exec.Cmd{
		Path:   o.Path,
		Args:   o.Args,
		Dir:    o.Dir,
		Env:    o.Env,
		Stdin:  in,
		Stdout: out,
		Stderr: errs,
	}
	return cmd, []*os.File{in, out, errs}, errors.Join(inErr, outErr, errsErr)
}

// Close closes the host's ends of the pipes.
func (p *Process) Close() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Signal sends a signal to the process and its group.
func (p *Process) Signal(s unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	_ = unix.Kill(p.PID, s)
	_ = unix.Kill(-p.PID, s)
}

// Term asks the process to end, by SIGTERM and by the end of its standard input.
func (p *Process) Term() {
	_ = p.Stdin.Close()
	p.Signal(unix.SIGTERM)
}

// Kill ends the process and its group, also if they are stopped.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = p.killed || !p.reaped
	p.mu.Unlock()
	p.Signal(unix.SIGKILL)
}

// WasKilled reports whether Kill was called before it ended.
func (p *Process) WasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// EndsWithin waits until the process has ended, for d at most, and reports whether it has.
func (p *Process) EndsWithin(d time.Duration) bool {
	select {
	case <-p.Done:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.Done:
		return true
	case <-timer.C:
		return false
	}
}

// HowItEnded says how the process has ended, once it has.
func (p *Process) HowItEnded() string { return strings.TrimSuffix(p.State.String(), " (core dumped)") }

// LimitMet says which limit of memory a process has met, or may have met, once it has ended. A
// program that gets no memory seldom says why.
func (p *Process) LimitMet(l Limits) string {
	switch {
	case p.OutOfMemory:
		return fmt.Sprintf("it used more memory than its limits let it have, %d bytes, and the kernel killed it", l.Memory)
	case l.Memory > 0 && l.Cgroup == "" && !p.State.Success():
		return fmt.Sprintf("limits: it may have %d bytes of memory", l.Memory)
	}
	return ""
}
