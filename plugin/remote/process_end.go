//go:build unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	// A plugin that is stopped has grace to answer what it has, release what it holds and end, by itself
	// and then asked by a signal; then it is killed.
	grace     = 400 * time.Millisecond
	termGrace = 100 * time.Millisecond
	// undead is how long a killed process may take to end.
	undead = 10 * time.Second
	// byTerm is the exit status of a program that has handled SIGTERM as shells do.
	byTerm = 128 + 15
	// closeFailed is that of a plugin whose Close has failed.
	closeFailed = 1
)

// stop asks the plugin to end, makes it end after its grace or when ctx is done, and frees what belongs to
// it. The error says how it failed to end well; it is errKilled if it was made to end.
func (p *process) stop(ctx context.Context) error {
	p.stopOnce.Do(func() {
		close(p.stopping)
		p.stopErr = p.finish(ctx)
		p.free()
	})
	return p.stopErr
}

func (p *process) finish(ctx context.Context) error {
	if p.child == nil {
		p.detach(ctx)
		return nil
	}
	select {
	case <-p.child.done: // it had ended before, and conn.cause says how
		return nil
	default:
	}
	patience := grace
	select {
	case <-p.conn.gone: // it does not hear us
		patience = 0
	default:
		_ = p.conn.drain() // who does not take this gets a signal
	}
	asked := !p.endsWithin(ctx, patience)
	if asked {
		p.child.term()
	}
	if !p.endsWithin(ctx, termGrace) {
		p.child.kill()
		if !p.child.within(undead) {
			return fmt.Errorf("remote: plugin %s was killed, and process %d has not ended after %v", p.name, p.pid, undead)
		}
		return fmt.Errorf("remote: plugin %s did not end within %v and %w%s", p.name, grace+termGrace, errKilled, p.lastOutput())
	}
	s, _ := p.child.state.Sys().(syscall.WaitStatus)
	switch {
	case p.child.state.Success(), s.Signaled() && s.Signal() == syscall.SIGTERM, asked && s.ExitStatus() == byTerm:
		return nil
	case s.Signaled(), asked && s.ExitStatus() != closeFailed: // a program in Go that does not know the signal ends with 2
		return fmt.Errorf("remote: plugin %s was stopped and %w: %s%s", p.name, errKilled, p.child.end(), p.lastOutput())
	}
	return fmt.Errorf("remote: plugin %s was stopped and ended with %s%s", p.name, p.child.end(), p.lastOutput())
}

func (p *process) endsWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-p.child.done:
		return true
	case <-ctx.Done():
		return p.child.within(0)
	}
}

// died is called when the stream has ended, and returns why: by then the process has ended too.
func (p *process) died(cause error) error {
	p.diedOnce.Do(func() {
		select {
		case <-p.stopping:
			p.death = errors.New("it was stopped")
			return
		default:
		}
		if p.child == nil {
			p.death = fmt.Errorf("plugin %s at %s has ended the connection (%w): start it again, and the next call goes there", p.name, p.address, scrubbed(p.out.secret, said(cause)))
			return
		}
		if p.child.within(lastWords) {
			p.waitRead(lastWords)
			p.death = fmt.Errorf("plugin %s has ended with %s%s%s", p.name, p.child.end(), p.limited(), p.lastOutput())
			return
		}
		p.child.kill() // nothing can be asked of it any more
		p.child.within(undead)
		p.waitRead(lastWords)
		p.death = fmt.Errorf("plugin %s has ended the stream (%w) and was killed%s", p.name, scrubbed(p.out.secret, said(cause)), p.lastOutput())
	})
	return p.death
}

// explain says why a start has failed.
func (p *process) explain(ctx context.Context, err error) error {
	if p.child == nil {
		return p.unattached(ctx, err)
	}
	ended := p.child.within(lastWords) && !p.child.wasKilled()
	p.child.kill()
	p.child.within(undead)
	p.waitRead(lastWords)
	switch cause := context.Cause(ctx); {
	case cause != nil:
		err = cause
	case !p.shaken && p.unshaken != nil:
		err = p.unshaken
	case p.undialed.Load() != nil:
		err = *p.undialed.Load()
	}
	if ended {
		err = fmt.Errorf("%w; it has ended with %s%s", err, p.child.end(), p.limited())
	}
	if !p.shaken {
		if printed := p.stdout.text(p.out.secret); printed != "" {
			err = fmt.Errorf("%w; its stdout ends with:\n%s", err, printed)
		}
	}
	return fmt.Errorf("%w%s", scrubbed(p.out.secret, err), p.lastOutput())
}

// limited names the memory limit in the error of a process that has ended: a program that gets no memory says seldom why.
func (p *process) limited() string {
	if n := p.config.Limits.Memory; n > 0 && !p.child.state.Success() {
		return fmt.Sprintf(" (limits: it may have %d bytes of memory)", n)
	}
	return ""
}

// lastOutput returns the end of stderr for an error.
func (p *process) lastOutput() string {
	if text := p.stderr.text(p.out.secret); text != "" {
		return "; its stderr ends with:\n" + text
	}
	return ""
}

// waitRead waits for the end of stdout and stderr. A process that has left the group may still hold them.
func (p *process) waitRead(d time.Duration) {
	select {
	case <-p.read:
	case <-time.After(d):
	}
}

// free ends and releases what belongs to the process, which has ended or is killed.
func (p *process) free() {
	if p.child != nil {
		p.child.kill()
		p.child.within(undead)
		p.waitRead(lastWords)
		p.child.close()
		<-p.read
	}
	p.end()
	if p.rpc != nil {
		_ = p.rpc.Close()
	}
	if p.conn != nil {
		p.conn.end(fmt.Errorf("%w: it was stopped", ErrGone))
		p.conn.all.Wait()
	}
	p.watch.Wait()
	if p.out != nil {
		p.out.close()
		select {
		case <-p.out.done:
		case <-time.After(time.Second): // the host's log is stuck
		}
	}
	if p.dir != nil {
		p.dir.remove()
	}
	if p.image != nil {
		p.image.release()
	}
	p.freeClient()
}

// freeClient waits for go-plugin's goroutines, which end with the process. Its Kill does that too, but of a
// client that has started it would first make a connection.
func (p *process) freeClient() {
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
