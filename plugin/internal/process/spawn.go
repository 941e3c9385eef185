//go:build unix

package process

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

// order is what to start.
type order struct {
	path      string   // of the executable
	image     *os.File // the executable in place of path, if it is a copy without a path; else nil
	args      []string // with its name
	dir       string
	env       []string
	network   bool
	isolation string // Required, None or "" for the default
	limits    Limits
}

// child is a started process.
type child struct {
	pid            int
	stdin          *os.File // nobody writes to it: its end tells the plugin that the host has gone
	stdout, stderr *os.File
	done           chan struct{} // closed when it has ended, and its group with it
	state          *os.ProcessState
	outOfMemory    bool // the kernel has killed it because it used more memory than its limits.Cgroup

	mu     sync.Mutex
	reaped bool
	killed bool // by us
}

// spawn starts a process that ends with this one, in a session of its own and as isolated as the
// order and this system's rules ask for. The caller reads stdout and stderr, and waits for done.
func spawn(ctx context.Context, o order, log *slog.Logger) (*child, error) {
	attempt := func(l level) (*child, error) {
		c := &child{done: make(chan struct{})}
		started := make(chan error, 1)
		go c.run(ctx, o, l, started)
		return c, <-started
	}
	demand := o.isolation
	if o.limits.Cgroup != "" { // who is not isolated could change the limits of its group
		demand = cmp.Or(demand, Required)
	}
	return system.start(demand, attempt, log)
}

// run starts the process and waits for it, on a thread of its own that ends with it: the kernel
// kills the process when the thread that started it ends.
func (c *child) run(ctx context.Context, o order, l level, started chan<- error) {
	runtime.LockOSThread() // for ever: when the goroutine returns, its thread ends
	if unix.Getpid() == threadID() {
		// The main thread cannot end, so a goroutine on another thread has to do this. Wait for
		// it here, locked to the main thread, so that it cannot run on that.
		other := make(chan struct{})
		go func() {
			defer close(other)
			c.run(ctx, o, l, started)
		}()
		<-other
		runtime.UnlockOSThread()
		return
	}

	// Start it.
	cmd, theirs, err := c.command(o)
	begun := func() error { return nil }
	var g *group
	if err == nil {
		g, err = newGroup(o.limits)
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
		c.close()
		started <- err
		return
	}
	c.pid = cmd.Process.Pid

	// It prepares itself before it executes the plugin.
	undo := context.AfterFunc(ctx, c.kill)
	err = begun()
	undo()
	if err == nil {
		started <- nil
	} else if ctx.Err() != nil {
		err = context.Cause(ctx)
	}

	// When it has ended, and before its number can be another's, kill what is left of its group.
	awaitEnd(cmd)
	c.mu.Lock()
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	c.reaped = true
	_ = cmd.Wait() // the state says it all
	c.state = cmd.ProcessState
	c.mu.Unlock()
	c.outOfMemory = g.outOfMemory()
	g.remove()
	if err != nil && c.outOfMemory {
		err = errors.New(c.limited(o.limits))
	}
	close(c.done)
	if err != nil {
		c.close()
		started <- startError(o, cmd, err)
	}
}

// startError returns the error of a start with the name of the plugin's executable, as the
// configuration has it, in place of what was executed.
func startError(o order, cmd *exec.Cmd, err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok && p.Path == cmd.Path {
		return &os.PathError{Op: "start", Path: o.args[0], Err: p.Err}
	}
	if errno, ok := err.(syscall.Errno); ok {
		return &os.PathError{Op: "start", Path: o.args[0], Err: errno}
	}
	return err
}

// command prepares the process. It returns the process's ends of the pipes too, which are to be
// closed after the start.
func (c *child) command(o order) (*exec.Cmd, []*os.File, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, []*os.File{in, stdin}, err
	}
	stderr, errs, err := os.Pipe()
	if err != nil {
		return nil, []*os.File{in, stdin, stdout, out}, err
	}
	c.stdin = stdin
	c.stdout = stdout
	c.stderr = stderr
	cmd := &exec.Cmd{
		Path:   o.path,
		Args:   o.args,
		Dir:    o.dir,
		Env:    o.env,
		Stdin:  in,
		Stdout: out,
		Stderr: errs,
	}
	return cmd, []*os.File{in, out, errs}, nil
}

// close closes the host's ends of the pipes.
func (c *child) close() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// signal sends a signal to the process and its group.
func (c *child) signal(s unix.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return
	}
	_ = unix.Kill(c.pid, s)
	_ = unix.Kill(-c.pid, s)
}

// term asks the process to end, by SIGTERM and by the end of its standard input.
func (c *child) term() {
	_ = c.stdin.Close()
	c.signal(unix.SIGTERM)
}

// kill ends the process and its group, also if they are stopped.
func (c *child) kill() {
	c.mu.Lock()
	c.killed = c.killed || !c.reaped
	c.mu.Unlock()
	c.signal(unix.SIGKILL)
}

// wasKilled reports whether kill was called before it ended.
func (c *child) wasKilled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

// within waits until the process has ended, for d at most, and reports whether it has.
func (c *child) within(d time.Duration) bool {
	select {
	case <-c.done:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// end says how the process has ended, once it has.
func (c *child) end() string { return strings.TrimSuffix(c.state.String(), " (core dumped)") }

// limited says which limit of memory a process has met, or may have met, once it has ended. A
// program that gets no memory seldom says why.
func (c *child) limited(l Limits) string {
	switch {
	case c.outOfMemory:
		return fmt.Sprintf("it used more memory than its limits let it have, %d bytes, and the kernel killed it", l.Memory)
	case l.Memory > 0 && l.Cgroup == "" && !c.state.Success():
		return fmt.Sprintf("limits: it may have %d bytes of memory", l.Memory)
	}
	return ""
}
