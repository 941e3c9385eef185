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
	said := &censor{secrets: c.secrets, to: &p.stderr}
	if c.config.Stderr != nil {
		said.to = io.MultiWriter(&p.stderr, c.config.Stderr)
	}
	p.cmd.Stderr = said
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
	started := make(chan error)
	go func() { // stop waits for it
		defer endWithUs(p.cmd)()
		err := p.cmd.Start()
		theirs.Close()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		said.pass(len(said.line))
		endGroup(p.cmd) // also so that nobody holds standard output open
		close(p.exited)
	}()
	if err = <-started; err != nil {
		p.stdout.Close()
		return nil, err
	}
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
