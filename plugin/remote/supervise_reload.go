package remote

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reload starts a process by another configuration, or by the same one: the executable may have changed.
// Once that has taken its settings it serves all invocations that begin from then on; the old one
// serves those that it has until they have ended, for 5 minutes at most, and is stopped. Reload does not wait for
// that. Its timeouts hold for all calls. It ends a quarantine.
//
// If the new process does not start, or is called otherwise, or subscribes to anything else than the
// first one did (the runner has that plugin already), the old one goes on and the error says why.
func (h *Host) Reload(ctx context.Context, c Config) error {
	h.mu.Lock()
	if h.state == Closed {
		h.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrClosed, h.name)
	}
	h.all.Add(1)
	h.mu.Unlock()
	defer h.all.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(ErrClosed) })()
	select {
	case h.reloading <- struct{}{}:
		defer func() { <-h.reloading }()
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("remote: plugin %s: reload: %w", h.name, err)
	}
	g, err := h.start(ctx, c)
	if name := ""; err == nil {
		if name = c.Name; name == "" {
			name = g.about.GetName()
		}
		if name != h.name {
			err = fmt.Errorf("it is called %q", name)
			h.end(g)
		}
	}
	if err != nil {
		h.log.Warn("plugin not reloaded: it goes on as it is", "error", err)
		return fmt.Errorf("remote: plugin %s is not reloaded and goes on as it is: %w", h.name, err)
	}
	h.mu.Lock()
	if h.state == Closed {
		h.mu.Unlock()
		h.end(g)
		return fmt.Errorf("%w: %s", ErrClosed, h.name)
	}
	h.stopRestart()
	h.crashes = crashes{}
	h.install(g)
	h.mu.Unlock()
	h.log.Info("plugin reloaded", g.attrs()...)
	return nil
}

// Close waits for the calls in flight as long as ctx allows, then stops every process and returns once
// nothing of them is left. From the beginning, new calls fail with ErrClosed. When ctx is done, what runs
// is killed, for which there are 10 seconds more. The error says what did not end well: calls, a process
// that is still there, or one that says by its exit status that it has failed, such as in its own Close. That one had
// to be killed, or ended only by SIGTERM, is a warning in the log.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() { h.close(ctx) })
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func (h *Host) close(ctx context.Context) {
	h.mu.Lock()
	h.become(Closed)
	h.stopRestart()
	if h.calls == 0 {
		close(h.quiet)
	}
	h.mu.Unlock()
	defer h.kill()
	defer context.AfterFunc(ctx, h.kill)()
	select {
	case <-h.quiet:
	case <-ctx.Done():
		h.mu.Lock()
		h.closed = fmt.Errorf("remote: plugin %s: close: %w: %d calls had not ended", h.name, context.Cause(ctx), h.calls)
		h.mu.Unlock()
	}
	h.cancel()
	done := make(chan struct{})
	go func() { h.all.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(stopLimit):
		h.mu.Lock()
		h.closed = errors.Join(h.closed, fmt.Errorf("remote: plugin %s: close: a process did not stop within %v", h.name, stopLimit))
		h.mu.Unlock()
	}
}
