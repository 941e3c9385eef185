//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/transport"
)

const (
	// A plugin that is stopped has grace to answer what it has, release what it holds and end by
	// itself. Then it gets SIGTERM, and termGrace later SIGKILL.
	grace     = 2 * time.Second
	termGrace = 500 * time.Millisecond
	// undead is how long a killed process may take to end.
	undead = 10 * time.Second
	// byTerm is the exit status of a program that handles SIGTERM as shells do.
	byTerm = 128 + 15
	// closeFailed is the exit status of a plugin whose Close has failed.
	closeFailed = 1

	sigterm = unix.SIGTERM
)

// Stop asks the plugin to end, makes it end after its grace or when ctx is done, and frees what
// belongs to the process. The error says what did not end well; it is ErrKilled if the process
// was made to end.
func (p *Process) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() {
		close(p.stopping)
		if p.child == nil {
			p.detach(ctx)
		} else {
			p.stopErr = p.finish(ctx)
		}
		p.Free()
	})
	return p.stopErr
}

// detach asks the plugin to end the stream, and does not insist: it may stand at a breakpoint.
func (p *Process) detach(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.calls.Drain() != nil {
		return
	}
	select {
	case <-p.calls.Gone():
	case <-ctx.Done():
	}
}

// finish makes the process end.
func (p *Process) finish(ctx context.Context) error {
	if p.child.EndsWithin(0) { // it has ended before, and Died says how
		return nil
	}

	// Ask it over the stream, if there still is one, then by a signal, and then do not ask.
	patience := grace
	select {
	case <-p.calls.Gone():
		patience = 0
	default:
		_ = p.calls.Drain() // who does not take this gets a signal
	}
	terminated := !p.endsWithin(ctx, patience)
	if terminated {
		p.child.Term()
	}
	if !p.endsWithin(ctx, termGrace) {
		p.child.Kill()
		if !p.child.EndsWithin(undead) {
			return fmt.Errorf("remote: plugin %s was killed, and process %d has not ended after %v", p.name, p.PID, undead)
		}
		return fmt.Errorf("remote: plugin %s did not end within %v and %w%s", p.name, grace+termGrace, ErrKilled, p.LastOutput())
	}

	// Tell a good end from a bad one.
	status, _ := p.child.State.Sys().(syscall.WaitStatus)
	switch {
	case p.child.State.Success():
		return nil
	case status.Signaled() && status.Signal() == syscall.SIGTERM:
		return nil
	case terminated && status.ExitStatus() == byTerm:
		return nil
	case status.Signaled(), terminated && status.ExitStatus() != closeFailed: // a Go program without a handler exits with 2
		return fmt.Errorf("remote: plugin %s was stopped and %w: %s%s", p.name, ErrKilled, p.child.HowItEnded(), p.LastOutput())
	}
	return fmt.Errorf("remote: plugin %s was stopped and ended with %s%s", p.name, p.child.HowItEnded(), p.LastOutput())
}

// endsWithin reports whether the process ends within d and before ctx is done.
func (p *Process) endsWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-p.child.Done:
		return true
	case <-ctx.Done():
		return p.child.EndsWithin(0)
	}
}

// Died says why the stream of calls has ended. It returns when the process has ended too: one
// that has not is killed.
func (p *Process) Died(cause error) error {
	p.diedOnce.Do(func() { p.death = p.die(cause) })
	return p.death
}

func (p *Process) die(cause error) error {
	select {
	case <-p.stopping:
		return errors.New("it was stopped")
	default:
	}
	cause = p.Secrets().Error(PluginError(cause))
	if p.child == nil {
		return fmt.Errorf("plugin %s at %s has ended the connection (%w): start it again, and the next call goes there", p.name, p.Address, cause)
	}
	if p.child.EndsWithin(transport.LastWords) {
		p.waitRead(transport.LastWords)
		return fmt.Errorf("plugin %s has ended with %s%s", p.name, p.ending(), p.LastOutput())
	}
	p.child.Kill() // nothing can be asked of it any more
	if p.child.EndsWithin(undead) && p.child.OutOfMemory {
		cause = errors.New(p.child.LimitMet(p.spec.Limits))
	}
	p.waitRead(transport.LastWords)
	return fmt.Errorf("plugin %s has ended the stream (%w) and was killed%s", p.name, cause, p.LastOutput())
}

// Explain says why a start has failed: err, or what is behind it. The process is killed.
func (p *Process) Explain(ctx context.Context, err error) error {
	if p.child == nil && p.Address == "" { // it was not started
		return err
	}
	if p.child == nil {
		cause, refused := context.Cause(ctx), p.undialed.Load()
		switch {
		case refused != nil:
			err = *refused
		case cause != nil:
			err = cause
		}
		return fmt.Errorf("at %s: %w", p.Address, err)
	}

	// Let it end, and its last output come.
	ended := p.child.EndsWithin(transport.LastWords) && !p.child.WasKilled()
	p.child.Kill()
	p.child.EndsWithin(undead)
	p.waitRead(transport.LastWords)

	// Say what came first, how it ended, and what it printed.
	cause, refused := context.Cause(ctx), p.undialed.Load()
	switch {
	case cause != nil:
		err = cause
	case !p.shaken && p.unshaken != nil:
		err = p.unshaken
	case refused != nil:
		err = *refused
	}
	if ended {
		err = fmt.Errorf("%w; it has ended with %s", err, p.ending())
	}
	if !p.shaken {
		printed := p.stdout.text(p.Secrets())
		if printed != "" {
			err = fmt.Errorf("%w; its stdout ends with:\n%s", err, printed)
		}
	}
	return fmt.Errorf("%w%s", p.Secrets().Error(err), p.LastOutput())
}

// ending says how the process has ended that has, and which limit it has met.
func (p *Process) ending() string {
	limit := p.child.LimitMet(p.spec.Limits)
	if limit != "" {
		limit = " (" + limit + ")"
	}
	return p.child.HowItEnded() + limit
}

// HowItEnded says how a process has ended that has.
func (p *Process) HowItEnded() string {
	p.waitRead(transport.LastWords)
	return p.ending() + p.LastOutput()
}

// LastOutput returns the end of stderr, as the end of an error.
func (p *Process) LastOutput() string {
	text := p.stderr.text(p.Secrets())
	if text != "" {
		return "; its stderr ends with:\n" + text
	}
	return ""
}

// waitRead waits for the end of stdout and stderr, for d at most. A process that has left the
// group may still hold them.
func (p *Process) waitRead(d time.Duration) {
	select {
	case <-p.read:
	case <-time.After(d):
	}
}

// Free kills the process, if it has not ended, and releases what belongs to it.
func (p *Process) Free() {
	// The process, and what it prints.
	if p.child != nil {
		p.child.Kill()
		p.child.EndsWithin(undead)
		p.waitRead(transport.LastWords)
		p.child.Close()
		<-p.read
	}

	// The connection, and who uses it.
	p.end()
	if p.RPC != nil {
		_ = p.RPC.Close()
	}
	if p.calls != nil {
		p.calls.Close(fmt.Errorf("%w: it was stopped", ErrGone))
	}
	p.watch.Wait()

	// The log, files and the client.
	if p.out != nil {
		p.out.close()
		select {
		case <-p.out.done:
		case <-time.After(time.Second): // the host's log is stuck
		}
	}
	p.RemoveSocket()
	p.releaseFiles()
	if p.image != nil {
		p.image.Release()
	}
	p.freeClient()
}

// freeClient waits for go-plugin's goroutines, which end with the process. Its Kill would do that
// too, but for a client that has started it makes a connection first.
func (p *Process) freeClient() {
	if p.client == nil {
		return
	}
	if !p.shaken {
		p.client.Kill()
		return
	}
	for range 100 {
		if p.client.Exited() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
