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

// spawn starts a process that dies with this one, in a session and, where that can be had, in namespaces
// of its own. Whoever calls it reads stdout and stderr, and waits for done.
func spawn(o order, log *slog.Logger) (*child, error) {
	attempt := func(isolated bool) (*child, error) {
		c := &child{done: make(chan struct{})}
		started := make(chan error, 1)
		go c.run(o, isolated, started)
		return c, <-started
	}
	var why error // there are no namespaces
	if !isolation.lost() {
		c, err := attempt(true)
		if err == nil {
			isolation.note(log)
			return c, nil
		}
		if why = err; !mayBeIsolation(err) {
			return nil, withoutPath(o, err)
		}
	}
	c, err := attempt(false)
	if err != nil {
		return nil, withoutPath(o, err)
	}
	isolation.lose(why, log)
	return c, nil
}

// withoutPath returns an error with the path that was asked for, not that of a copy.
func withoutPath(o order, err error) error {
	var p *os.PathError
	if errors.As(err, &p) && p.Path == o.path {
		return &os.PathError{Op: "start", Path: o.args[0], Err: p.Err}
	}
	return err
}

// run starts the process and waits for it, on a thread that ends with it: the kernel kills the process when
// the thread that made it ends, and what the thread may not do any more, the process may not do.
func (c *child) run(o order, isolated bool, started chan<- error) {
	runtime.LockOSThread() // for ever: a goroutine that returns like this takes its thread with it
	if unix.Getpid() == threadID() {
		// The main thread cannot end. It waits here, and goes back as it was.
		other := make(chan struct{})
		go func() { defer close(other); c.run(o, isolated, started) }()
		<-other
		runtime.UnlockOSThread()
		return
	}
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
	awaitEnd(cmd)
	c.mu.Lock()
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	c.reaped = true
	_ = cmd.Wait() // the state says it all
	c.state = cmd.ProcessState
	c.mu.Unlock()
	close(c.done)
}

// command prepares the process, and returns the ends of pipes that are its own.
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
	c.stdin, c.stdout, c.stderr = stdin, stdout, stderr
	return &exec.Cmd{Path: o.path, Args: o.args, Dir: o.dir, Env: o.env, Stdin: in, Stdout: out, Stderr: errs,
		ExtraFiles: closed(), SysProcAttr: attributes(isolated, o.network)}, []*os.File{in, out, errs}, nil
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

// term asks the process to end: its stdin ends too.
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

// wasKilled reports whether it was killed by us before it ended.
func (c *child) wasKilled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

// within reports whether the process has ended by then.
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

// closed returns a list for exec.Cmd with which no descriptor of this process gets into a new one: those
// that Go opens do not anyway, but those that it inherited, or that C code opened, would.
func closed() []*os.File {
	highest := highestInherited()
	if highest < 3 {
		return nil
	}
	return make([]*os.File, highest-2)
}
