package remote

import (
	"errors"
	"fmt"
)

// connectionLost is called when the connection of a generation that is attached has ended.
// Nothing is done about it before the next call: the developer who has started the process starts
// it again, at any time.
func (h *Host) connectionLost(g *generation) {
	h.mu.Lock()
	g.ending = true
	h.last = g.conn.cause
	h.crashes.last = g.conn.cause
	if h.current == g {
		h.current = nil
		if h.state != Closed {
			h.setState(Detached)
		}
	}
	h.mu.Unlock()
	h.log.Warn("the attached plugin is gone", append(g.attrs(), "socket", g.config.Attach, "error", g.conn.cause)...)
}

// reattach connects again, once, to the plugin that was attached last. h.mu is held, and the
// state is Detached.
func (h *Host) reattach() {
	h.setState(Restarting)
	c := h.latest.config
	h.all.Go(func() {
		g, err := h.start(h.ctx, c)
		h.mu.Lock()
		if h.state != Restarting { // it was reloaded or closed meanwhile
			h.mu.Unlock()
			if err == nil {
				h.end(g)
			}
			return
		}
		defer h.mu.Unlock()
		if err != nil {
			h.last = err
			h.crashes.last = err
			h.setState(Detached)
			return
		}
		h.restarts++
		h.install(g)
	})
}

// detachedError says why nothing is attached.
func (h *Host) detachedError() error {
	if err := h.crashes.last; errors.Is(err, ErrGone) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGone, h.crashes.last)
}
