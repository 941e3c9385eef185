package mcp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/child"
)

// A process is a running command.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr tail          // to be read when exited is closed
	exited chan struct{} // closed when all processes of its group have ended
	err    error         // how the command ended
}

// start starts the command. The caller must call stop.
func (c *Client) start() (*process, error) {
	path, err := child.Path(c.config.Command[0], c.config.Dir)
	if err != nil {
		return nil, err
	}
	p := &process{
		cmd:    exec.Command(path, c.config.Command[1:]...),
		exited: make(chan struct{}),
	}
	p.cmd.Dir = c.config.Dir
	p.cmd.Env = append(child.Environment(child.Always), child.Environment(c.config.Env)...)
	p.cmd.WaitDelay = patience
	stderr := &censor{secrets: c.secrets, to: &p.stderr}
	if c.config.Stderr != nil {
		stderr.to = io.MultiWriter(&p.stderr, c.config.Stderr)
	}
	p.cmd.Stderr = stderr
	child.Group(p.cmd)
	p.stdin, err = p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	// A StdoutPipe would be closed when the command exits, before its last answer is read.
	stdout, commandStdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdout = stdout
	p.cmd.Stdout = commandStdout
	started := make(chan error)
	go child.EndWithParent(p.cmd, func() { // stop waits for its end
		err := p.cmd.Start()
		commandStdout.Close()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		stderr.pass(len(stderr.line))
		child.Kill(p.cmd) // also so that no process keeps standard output open
		close(p.exited)
	})
	if err := <-started; err != nil {
		p.stdout.Close()
		return nil, err
	}
	return p, nil
}

// stop ends the process and waits for it. It closes standard input, then asks, then kills.
func (p *process) stop() {
	p.stdin.Close() // this tells a server to end
	ask := func(cmd *exec.Cmd) { _ = child.Ask(cmd) }
	for _, harder := range []func(*exec.Cmd){ask, child.Kill} {
		select {
		case <-p.exited:
		case <-time.After(patience):
			harder(p.cmd)
		}
	}
	<-p.exited
	p.stdout.Close()
}

// A tail keeps the last maxTail bytes that are written to it.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	over := len(t.data) - maxTail
	if over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String returns the tail as the end of an error, "" if nothing was written.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.data), ""))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; its standard error ends with: %s", text)
}
