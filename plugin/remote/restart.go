package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin/remote/wire"
)

const (
	maxCrashes = 5                // that many within crashSpan are too many
	crashSpan  = 10 * time.Minute // how long a crash counts
	stableTime = time.Minute      // a process that ran for so long has started well
	maxPause   = 30 * time.Second // between two starts
)

// crashes counts the processes that have ended by themselves, and the starts that have failed.
type crashes struct {
	times []time.Time // those within crashSpan
	row   int         // how many there were since a process ran for stableTime
	last  error
}

// note notes a crash. It returns how long to wait before the next start, and whether there were
// too many.
func (c *crashes) note(err error) (pause time.Duration, tooMany bool) {
	now := time.Now()
	tooOld := func(t time.Time) bool { return now.Sub(t) >= crashSpan }
	c.times = append(slices.DeleteFunc(c.times, tooOld), now)
	c.last = err
	pause = backoff(c.row)
	c.row++
	return pause, len(c.times) >= maxCrashes
}

// backoff returns the pause before a start, after so many crashes in a row: none after the first,
// then about 100 ms, and then twice as long each time, up to maxPause.
func backoff(row int) time.Duration {
	if row == 0 {
		return 0
	}
	d := min(100*time.Millisecond<<min(row-1, 16), maxPause)
	return d/2 + rand.N(d/2)
}

// crashed is called when the process of a generation has ended by itself. It starts a
// replacement, if the generation was the current one.
func (h *Host) crashed(g *generation) {
	if g.config.Attach != "" {
		h.connectionLost(g)
		return
	}
	err := g.conn.cause
	up := time.Since(g.since)
	ctx, cancel := context.WithCancel(h.ctx)

	// Note the crash. It matters if there is no newer generation.
	h.mu.Lock()
	g.ending = true
	h.last = err
	restart := h.state != Closed && h.current == g
	pause := time.Duration(0)
	quarantined := false
	if restart {
		h.current = nil
		if up >= stableTime {
			h.crashes.row = 0
		}
		pause, quarantined = h.noteCrash(err)
		h.stopRestart = cancel
	}
	h.mu.Unlock()
	h.log.Error("plugin's process ended", append(g.attrs(), "up", up, "error", err)...)

	switch {
	case quarantined:
		cancel()
		h.logQuarantine(err)
	case restart:
		h.all.Go(func() {
			defer cancel()
			h.restart(ctx, g, pause)
		})
	default:
		cancel()
	}
}

// noteCrash notes that a process has ended, or did not start, and sets the state. h.mu is held.
func (h *Host) noteCrash(err error) (pause time.Duration, quarantined bool) {
	pause, quarantined = h.crashes.note(err)
	if quarantined {
		h.setState(Quarantined)
	} else {
		h.setState(Restarting)
	}
	return pause, quarantined
}

func (h *Host) logQuarantine(err error) {
	h.log.Error("plugin in quarantine: it is not started again; mend the error, then reload it or restart the runner", "error", err)
}

// restart starts a replacement for a generation, until one runs, the plugin is in quarantine, or
// ctx is done.
func (h *Host) restart(ctx context.Context, was *generation, pause time.Duration) {
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		g, err := h.start(ctx, was.config)
		h.mu.Lock()
		if ctx.Err() != nil { // it was reloaded or closed meanwhile
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

		// It did not start. Try again after a pause, unless that cannot help.
		var quarantined bool
		pause, quarantined = h.noteCrash(err)
		if !quarantined && isFinal(err) {
			quarantined = true
			h.setState(Quarantined)
		}
		h.last = err
		h.mu.Unlock()
		if quarantined {
			h.logQuarantine(err)
			return
		}
		h.log.Warn("plugin did not restart; the next attempt comes after a pause", "pause", pause, "error", err)
	}
}

// errOther says that a new process subscribes to something else than the one before it.
var errOther = errors.New("the plugin's hooks or filter are not those that the runner was built with; restart the runner")

// isFinal reports whether starting again would fail again.
func isFinal(err error) bool {
	for _, final := range []error{errOther, ErrDigest, ErrSettings, ErrProtocol} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// start starts a process. It must subscribe to what the first one did: the runner has that plugin
// already.
func (h *Host) start(ctx context.Context, c Config) (*generation, error) {
	c = c.withDefaults()
	p, err := h.launch(ctx, c, c.Log)
	if err != nil {
		return nil, err
	}
	p.config = c
	g := &generation{
		launched: p,
		retired:  make(chan struct{}),
		idle:     make(chan struct{}),
	}
	if h.sub == nil || sameSubscription(h.sub, g.sub) {
		return g, nil
	}
	err = fmt.Errorf("%w: it subscribes to %v and not to %v", errOther, g.sub, h.sub)
	ctx, cancel := context.WithTimeout(h.hard, stopLimit)
	defer cancel()
	return nil, errors.Join(err, g.stop(ctx))
}

// sameSubscription reports whether two subscriptions mean the same.
func sameSubscription(a, b *wire.Subscription) bool {
	return proto.Equal(sortedHooks(a), sortedHooks(b))
}

// sortedHooks returns a copy of a subscription that has each hook once, in order.
func sortedHooks(s *wire.Subscription) *wire.Subscription {
	s = proto.CloneOf(s)
	slices.Sort(s.Hooks)
	s.Hooks = slices.Compact(s.Hooks)
	return s
}
