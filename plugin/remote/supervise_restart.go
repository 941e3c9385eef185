package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// crashed is called when a generation's process has ended by itself.
func (h *Host) crashed(g *generation) {
	if g.config.Attach != "" {
		h.lost(g)
		return
	}
	err := g.conn.cause
	up := time.Since(g.since)
	h.mu.Lock()
	g.ending = true
	h.last = err
	restart := h.state != Closed && h.current == g
	pause := time.Duration(0)
	quarantined := false
	ctx, cancel := context.WithCancel(h.ctx)
	if restart {
		h.current = nil
		if up >= stable {
			h.crashes.row = 0
		}
		pause, quarantined = h.failed(err)
		h.stopRestart = cancel
	}
	h.mu.Unlock()
	h.log.Error("plugin's process ended", append(g.attrs(), "up", up, "error", err)...)
	switch {
	case quarantined:
		cancel()
		h.log.Error("plugin in quarantine: reload it, or restart the runner, when the reason is mended", "error", err)
	case restart:
		h.all.Go(func() { defer cancel(); h.restart(ctx, g, pause) })
	default:
		cancel()
	}
}

// failed notes the end of a process, or that one did not start. h.mu is held.
func (h *Host) failed(err error) (pause time.Duration, quarantined bool) {
	pause, quarantined = h.crashes.note(err)
	if quarantined {
		h.become(Quarantined)
	} else {
		h.become(Restarting)
	}
	return pause, quarantined
}

// restart starts a replacement for a generation, until one runs, the plugin is in quarantine, or ctx is done.
func (h *Host) restart(ctx context.Context, was *generation, pause time.Duration) {
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		g, err := h.start(ctx, was.config)
		h.mu.Lock()
		if ctx.Err() != nil { // it is reloaded, or closed
			h.mu.Unlock()
			if err == nil {
				h.end(g)
			}
			return
		}
		if err == nil {
			h.restarts++
			h.install(g)
			h.mu.Unlock()
			h.log.Info("plugin restarted", g.attrs()...)
			return
		}
		var quarantined bool
		if pause, quarantined = h.failed(err); !quarantined && final(err) {
			quarantined = true
			h.become(Quarantined)
		}
		h.last = err
		h.mu.Unlock()
		if quarantined {
			h.log.Error("plugin in quarantine: reload it, or restart the runner, when the reason is mended", "error", err)
			return
		}
		h.log.Warn("plugin not restarted", "again in", pause, "error", err)
	}
}

// errOther says that a process is not of the same kind as the one before it.
var errOther = errors.New("the plugin is another than the one that the runner was built with; restart the runner")

// final reports whether starting again would fail again.
func final(err error) bool {
	for _, e := range []error{errOther, ErrDigest, ErrSettings, ErrProtocol} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// start starts a process. It must be what the first one was.
func (h *Host) start(ctx context.Context, c Config) (*generation, error) {
	c = c.withDefaults()
	p, err := h.launch(ctx, c, c.Log)
	if err != nil {
		return nil, err
	}
	g := &generation{launched: p, config: c, retired: make(chan struct{}), idle: make(chan struct{})}
	if h.sub == nil || same(h.sub, g.sub) {
		return g, nil
	}
	err = fmt.Errorf("%w: it subscribes to %v and not to %v", errOther, g.sub, h.sub)
	ctx, cancel := context.WithTimeout(h.hard, stopLimit)
	defer cancel()
	return nil, errors.Join(err, g.stop(ctx))
}

// same reports whether two subscriptions mean the same.
func same(a, b *wire.Subscription) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	slices.Sort(a.Hooks)
	slices.Sort(b.Hooks)
	a.Hooks, b.Hooks = slices.Compact(a.Hooks), slices.Compact(b.Hooks)
	return proto.Equal(a, b)
}
