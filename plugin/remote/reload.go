package remote

import (
	"cmp"
	"context"
	"fmt"
)

// Reload starts a process by another configuration, or by the same one: the executable may have
// changed. Once that process has taken its settings it serves all invocations that begin from
// then on. The old process serves the invocations that it has until they have ended, for 5
// minutes at most, and is stopped then; Reload does not wait for that. The timeouts of the new
// configuration hold for all calls. Reload ends a quarantine.
//
// If the new process does not start, has another name, or subscribes to anything else than the
// first process did, the old one goes on, and the error says why: the runner has that plugin
// already.
func (h *Host) Reload(ctx context.Context, c Config) error {
	// Have Close wait for this, and end this when Close does not wait any longer.
	h.mu.Lock()
	if h.state == Closed {
		h.mu.Unlock()
		return h.closedError()
	}
	h.all.Add(1)
	h.mu.Unlock()
	defer h.all.Done()
	asked := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(ErrClosed) })()

	// One Reload at a time. The caller's context is asked, too: it ends before ctx, which is made of
	// it, and the Reload before this one may return in between.
	select {
	case h.reloading <- struct{}{}:
		defer func() { <-h.reloading }()
	case <-ctx.Done():
	}
	if err := cmp.Or(context.Cause(asked), context.Cause(ctx)); err != nil {
		return fmt.Errorf("remote: plugin %s: reload: %w", h.name, err)
	}

	// Start the new process.
	g, err := h.start(ctx, c)
	if err == nil {
		name := cmp.Or(c.Name, g.about.GetName())
		if name != h.name {
			err = fmt.Errorf("its name is %q now", name)
			h.end(g)
		}
	}
	if err != nil {
		h.log.Warn("plugin not reloaded: the old process goes on", "error", err)
		return fmt.Errorf("remote: plugin %s is not reloaded, its old process goes on: %w", h.name, err)
	}

	// Let it take over.
	h.mu.Lock()
	if h.state == Closed {
		h.mu.Unlock()
		h.end(g)
		return h.closedError()
	}
	h.stopRestart()
	h.crashes = crashes{}
	h.install(g)
	h.mu.Unlock()
	h.log.Info("plugin reloaded", g.attrs()...)
	return nil
}

func (h *Host) closedError() error { return fmt.Errorf("%w: %s", ErrClosed, h.name) }
