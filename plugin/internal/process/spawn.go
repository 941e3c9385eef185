//go:build unix

package process

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// order is what to start.
type order struct {
	path    string   // of the executable
	args    []string // with its name
	dir     string
	env     []string
	network bool
	limits  Limits
}

// child is a started process.
type child struct {
	pid            int
	stdin          *os.File // nobody writes to it: its end tells the plugin that the host has gone
	stdout, stderr *os.File
	done           chan struct{} // closed when it has ended, and its group with it
	state          *os.ProcessState

	mu     sync.Mutex
	reaped bool
	killed bool // by us
}

// spawn starts a process that ends with this one, in a session of its own and, where the system
// can do that, in namespaces of its own. The caller reads stdout and stderr, and waits for done.
func spawn(o order, log *slog.Logger) (*child, error) {
	attempt := func(isolated bool) (*child, error) {
		c := &child{done: make(chan struct{})}
		started := make(chan error, 1)
		go c.run(o, isolated, started)
		return c, <-started
	}

	// Try with namespaces, unless it is known that there are none.
	var noNamespaces error // why
	if !isolation.unavailable() {
		c, err := attempt(true)
		if err == nil {
			isolation.noteIsolated(log)
			return c, nil
		}
		if !mayBeIsolation(err) {
			return nil, withOriginalPath(o, err)
		}
		noNamespaces = err
	}

	// Then without.
	c, err := attempt(false)
	if err != nil {
		return nil, withOriginalPath(o, err)
	}
	isolation.noteMissing(noNamespaces, log)
	return c, nil
}

// withOriginalPath returns an error with the path of the executable in place of the path of its
// copy.
func withOriginalPath(o order, err error) error {
	var p *os.PathError
	if errors.As(err, &p) && p.Path == o.path {
		return &os.PathError{Op: "start", Path: o.args[0], Err: p.Err}
	}
	return err
}

// run starts the process and waits for it, on a thread of its own that ends with it: the kernel
// kills the process when the thread that started it ends, and the process inherits the
// restrictions of that thread.
func (c *child) run(o order, isolated bool, started chan<- error) {
	runtime.LockOSThread() // for ever: when the goroutine returns, its thread ends
	if unix.Getpid() == threadID() {
		// The main thread cannot end, so a goroutine on another thread has to do this. Wait for
		// it here, locked to the main thread, so that it cannot run on that.
		other := make(chan struct{})
		go func() {
			defer close(other)
			c.run(o, isolated, started)
		}()
		<-other
		runtime.UnlockOSThread()
		return
	}

	// Start it. Where that can be done, it is held before its first instruction until its limits
	// are set.
	cmd, ends, err := c.command(o, isolated)
	if err == nil {
		err = restrictThread()
	}
	held := err == nil && hold(cmd)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range ends {
		_ = f.Close()
	}
	if err != nil {
		c.close()
		started <- err
		return
	}
	c.pid = cmd.Process.Pid
	if held {
		awaitHeld(c.pid)
	}
	limit(c.pid, o.limits)
	if held {
		letGo(c.pid)
	}
	started <- nil

	// When it has ended, and before its number can be another's, kill what is left of its group.
	awaitEnd(cmd)
	c.mu.Lock()
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	c.reaped = true
	_ = cmd.Wait() // the state says it all
	c.state = cmd.ProcessState
	c.mu.Unlock()
	close(c.done)
}

// command prepares the process. It returns the process's ends of the pipes too, which are to be
// closed after the start.
func (c *child) command(o order, isolated bool) (*exec.Cmd, []*os.File, error) {
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
		Path:        o.path,
		Args:        o.args,
		Dir:         o.dir,
		Env:         o.env,
		Stdin:       in,
		Stdout:      out,
		Stderr:      errs,
		ExtraFiles:  closed(),
		SysProcAttr: attributes(isolated, o.network),
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

// closed returns a list for exec.Cmd.ExtraFiles with which a new process inherits no descriptor
// of this one. It inherits none that Go has opened, but would inherit those that this process has
// inherited, or that C code has opened.
func closed() []*os.File {
	highest := highestInherited()
	if highest < 3 {
		return nil
	}
	return make([]*os.File, highest-2)
}
