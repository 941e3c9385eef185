package remote

import (
	"errors"
	"fmt"
)

// lost is called when the connection of a generation that is attached has ended. Nothing is done about that before a
// call is made: whoever has started the process starts it again when he likes.
func (h *Host) lost(g *generation) {
	h.mu.Lock()
	g.ending = true
	h.last, h.crashes.last = g.conn.cause, g.conn.cause
	if h.current == g {
		h.current = nil
		if h.state != Closed {
			h.become(Detached)
		}
	}
	h.mu.Unlock()
	h.log.Warn("plugin that was attached is gone", append(g.attrs(), "socket", g.config.Attach, "error", g.conn.cause)...)
}

// reattach connects again, once, to the plugin that was attached last. h.mu is held, and the state is Detached.
func (h *Host) reattach() {
	h.become(Restarting)
	c := h.latest.config
	h.all.Go(func() {
		g, err := h.start(h.ctx, c)
		h.mu.Lock()
		if h.state != Restarting { // it is reloaded, or closed
			h.mu.Unlock()
			if err == nil {
				h.end(g)
			}
			return
		}
		defer h.mu.Unlock()
		if err != nil {
			h.last, h.crashes.last = err, err
			h.become(Detached)
			return
		}
		h.restarts++
		h.install(g)
	})
}

// detached says that nobody is attached.
func (h *Host) detached() error {
	if err := h.crashes.last; errors.Is(err, ErrGone) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGone, h.crashes.last)
}
