package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// call calls a hook. It is what every hook of the host's plugin does.
func (h *Host) call(ctx context.Context, inv *session.Invocation, a plugin.Args) (plugin.Outcome, error) {
	// Bound the call, waiting for a process included.
	limit := h.countCall(a.Hook)
	began := time.Now()
	within := ctx
	if limit < noTimeout {
		bounded, cancel := context.WithTimeoutCause(ctx, limit, plugin.ErrTimeout)
		defer cancel()
		within = bounded
	}
	out, err := h.callGeneration(within, inv, a)
	if err == nil {
		return out, nil
	}

	// If the caller has cancelled the call, the error is the caller's, and does not count as a failure of the hook.
	if ctx.Err() != nil {
		return plugin.Outcome{}, err
	}

	// Say of a call that was too late how long it had. The plugin may have been the first to see
	// the end of the time.
	if time.Since(began) >= limit {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", plugin.ErrTimeout, err)
		}
		if errors.Is(err, plugin.ErrTimeout) {
			err = fmt.Errorf("%w (the limit is %v)", err, limit)
		}
	}
	h.mu.Lock()
	h.failures++
	h.last = err
	h.mu.Unlock()
	return plugin.Outcome{}, err
}

// countCall counts a call of a hook, and returns the hook's timeout.
func (h *Host) countCall(hook plugin.Hook) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	c := &h.latest.config
	switch {
	case c.Timeouts[hook] > 0:
		return c.Timeouts[hook]
	case hook == plugin.AfterRun && h.plugin.Background:
		return c.BackgroundTimeout
	default:
		return c.Timeout
	}
}

// callGeneration calls a hook in the generation that serves the invocation, if the breaker of the
// hook lets it pass.
func (h *Host) callGeneration(ctx context.Context, inv *session.Invocation, a plugin.Args) (out plugin.Outcome, err error) {
	g, err := h.acquire(ctx, inv.ID, a.Hook)
	if err != nil {
		return out, err
	}
	defer h.release(g, inv.ID, a.Hook)

	b := g.breakers[a.Hook]
	isProbe, err := b.allow()
	if err != nil {
		return out, err
	}
	result := unknown // if it panics
	defer func() {
		switch b.record(isProbe, result, err) {
		case breakerOpened:
			h.log.Warn("plugin hook fails too often and is not called for a while",
				"hook", a.Hook, "generation", g.number, "error", err)
		case breakerClosed:
			h.log.Info("plugin hook works and is called again", "hook", a.Hook, "generation", g.number)
		}
	}()
	out, err = g.conn.call(ctx, inv, a)
	callerLeft := ctx.Err() != nil && !errors.Is(context.Cause(ctx), plugin.ErrTimeout)
	switch {
	case err == nil:
		result = succeeded
	case errors.Is(err, ErrGone), callerLeft: // that says nothing of the hook
	default:
		result = failed
	}
	return out, err
}

// acquire returns the generation that serves an invocation, and counts a call of it until
// release. It waits while there is none and one is on its way.
func (h *Host) acquire(ctx context.Context, id string, hook plugin.Hook) (*generation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tried := false // to attach again
	for {
		if h.state == Closed {
			return nil, fmt.Errorf("%w: %s", ErrClosed, h.name)
		}

		// Take the generation that the invocation began with, or else the current one.
		g := h.invocations.of(id)
		if g == nil || !g.serves() {
			g = h.current
		}
		if g != nil && g.serves() {
			h.invocations.begin(id, g)
			g.calls++
			h.calls.Begin(string(hook))
			return g, nil
		}

		// There is none. Give up, or see to it that one comes.
		switch {
		case h.state == Quarantined:
			return nil, fmt.Errorf("%w: %s: the last error: %w; reload it or restart the runner when that is mended",
				ErrQuarantined, h.name, h.crashes.last)
		case h.state == Detached && tried:
			return nil, h.detachedError()
		case h.state == Detached:
			h.reattach()
			tried = true
		case h.state == Restarting: // another call tries
			tried = true
		}

		// Wait for a change.
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
			h.mu.Lock()
		case <-ctx.Done():
			h.mu.Lock()
			err := context.Cause(ctx)
			if h.crashes.last != nil {
				err = fmt.Errorf("%w: it is starting again after: %w", err, h.crashes.last)
			}
			return nil, err
		}
	}
}

// release ends a call that acquire has counted.
func (h *Host) release(g *generation, id string, hook plugin.Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.calls--
	if hook == plugin.AfterRun {
		h.invocations.end(id)
	}
	h.markIdle()
	h.calls.End(string(hook))
}

// markIdle tells the generations that serve no new invocations, and have none left, that they may
// end. h.mu is held.
func (h *Host) markIdle() {
	if len(h.generations) < 2 {
		return
	}
	for g := range h.generations {
		if g == h.current || g.calls > 0 || g.invocations > 0 {
			continue
		}
		select {
		case <-g.idle:
		default:
			close(g.idle)
		}
	}
}
