package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/session"
)

// call calls a hook.
func (h *Host) call(ctx context.Context, inv *session.Invocation, a message.Args) (plugin.Outcome, error) {
	limit, began := h.limit(a.Hook), time.Now()
	within, cancel := ctx, func() {}
	if limit < noTimeout {
		within, cancel = context.WithTimeoutCause(ctx, limit, plugin.ErrTimeout)
	}
	defer cancel()
	out, err := h.through(within, inv, a)
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil { // the caller has left
		return plugin.Outcome{}, err
	}
	if time.Since(began) >= limit {
		if errors.Is(err, context.DeadlineExceeded) { // the plugin was first to see it
			err = fmt.Errorf("%w: %w", plugin.ErrTimeout, err)
		}
		if errors.Is(err, plugin.ErrTimeout) {
			err = fmt.Errorf("%w (it has %v)", err, limit)
		}
	}
	h.mu.Lock()
	h.failures++
	h.last = err
	h.mu.Unlock()
	return plugin.Outcome{}, err
}

// limit returns a hook's timeout.
func (h *Host) limit(hook plugin.Hook) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	switch c := &h.latest.config; {
	case c.Timeouts[hook] > 0:
		return c.Timeouts[hook]
	case hook == plugin.AfterRun && h.plugin.Background:
		return c.BackgroundTimeout
	default:
		return c.Timeout
	}
}

// through calls a hook of the generation that serves the invocation.
func (h *Host) through(ctx context.Context, inv *session.Invocation, a message.Args) (out plugin.Outcome, err error) {
	g, err := h.enter(ctx, inv.ID)
	if err != nil {
		return out, err
	}
	defer h.leave(g, inv.ID, a.Hook)
	b := g.breakers[a.Hook]
	probe, err := b.enter()
	if err != nil {
		return out, err
	}
	how := unknown // it panics
	defer func() {
		if became := b.leave(probe, how, err); became == "open" {
			h.log.Warn("plugin hook not called for a while", "hook", a.Hook, "generation", g.number, "error", err)
		} else if became == "closed" {
			h.log.Info("plugin hook called again", "hook", a.Hook, "generation", g.number)
		}
	}()
	out, err = g.conn.call(ctx, inv, a)
	switch {
	case err == nil:
		how = succeeded
	case errors.Is(err, ErrGone), ctx.Err() != nil && !errors.Is(context.Cause(ctx), plugin.ErrTimeout):
	default:
		how = failed
	}
	return out, err
}

// enter returns the generation that serves an invocation, waiting for one if need be.
func (h *Host) enter(ctx context.Context, id string) (*generation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for tried := false; ; {
		if h.state == Closed {
			return nil, fmt.Errorf("%w: %s", ErrClosed, h.name)
		}
		g := h.invocations.of(id)
		if g == nil || !g.serves() {
			g = h.current
		}
		if g != nil && g.serves() {
			h.invocations.begin(id, g)
			g.calls++
			h.calls++
			return g, nil
		}
		if h.state == Quarantined {
			return nil, fmt.Errorf("%w: %s: the last error: %w; reload it or restart the runner when that is mended", ErrQuarantined, h.name, h.crashes.last)
		}
		switch {
		case h.state == Detached && tried:
			return nil, h.detached()
		case h.state == Detached:
			h.reattach()
			tried = true
		case h.state == Restarting: // somebody else tries
			tried = true
		}
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

// leave is called when a call that had entered has ended.
func (h *Host) leave(g *generation, id string, hook plugin.Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.calls--
	if hook == plugin.AfterRun {
		h.invocations.end(id)
	}
	h.settle()
	if h.calls--; h.calls == 0 && h.state == Closed {
		close(h.quiet)
	}
}

// settle tells retired generations that have nothing left to serve. h.mu is held.
func (h *Host) settle() {
	if len(h.generations) < 2 {
		return
	}
	for g := range h.generations {
		if g != h.current && g.calls == 0 && g.invocations == 0 {
			select {
			case <-g.idle:
			default:
				close(g.idle)
			}
		}
	}
}
