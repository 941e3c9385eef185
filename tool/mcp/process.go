package mcp

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A process is a command that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr tail          // to be read once it has exited
	exited chan struct{} // closed when it has, and all of its group with it
	err    error         // how, then
}

// start starts the command. The caller calls stop.
func (c *Client) start() (*process, error) {
	path := c.config.Command[0]
	if filepath.Base(path) != path && !filepath.IsAbs(path) {
		dir, err := filepath.Abs(c.config.Dir)
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, path)
	}
	p := &process{cmd: exec.Command(path, c.config.Command[1:]...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.WaitDelay = c.config.Dir, environment(c.config.Env), patience
	p.cmd.Stderr = &p.stderr
	if c.config.Stderr != nil {
		p.cmd.Stderr = both{&p.stderr, c.config.Stderr}
	}
	ownGroup(p.cmd)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not a StdoutPipe, which would be closed on exit, before the last answer has been read.
	var theirs *os.File
	if p.stdout, theirs, err = os.Pipe(); err != nil {
		return nil, err
	}
	p.cmd.Stdout = theirs
	err = p.cmd.Start()
	theirs.Close()
	if err != nil {
		p.stdout.Close()
		return nil, err
	}
	go func() { // stop waits for it
		p.err = p.cmd.Wait()
		endGroup(p.cmd) // also so that nobody holds standard output open
		close(p.exited)
	}()
	return p, nil
}

// stop ends the process, in good order if it is willing, and waits for it.
func (p *process) stop() {
	p.stdin.Close() // which tells a server to end
	for _, harder := range []func(*exec.Cmd){askGroup, endGroup} {
		select {
		case <-p.exited:
		case <-time.After(patience):
			harder(p.cmd)
		}
	}
	<-p.exited
	p.stdout.Close()
}

// both writes to the tail, and to a writer whose failures are its own.
type both struct {
	tail  *tail
	other io.Writer
}

func (b both) Write(p []byte) (int, error) {
	_, _ = b.other.Write(p)
	return b.tail.Write(p)
}
