package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plughook/plughook/plugin/internal/process"
)

const (
	heartbeat  = 5 * time.Second
	maxMissed  = 2                // heartbeats in a row
	drainLimit = 5 * time.Minute  // for the invocations of a process that was replaced in Reload
	stopLimit  = 10 * time.Second // for a process to stop
)

// watch looks after a generation until it has ended, and ends it when it is time.
func (h *Host) watch(g *generation) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	if g.config.Attach != "" {
		tick.Stop()
	}
	var overdue <-chan time.Time
	retired := g.retired
	asked, missed, looked := false, 0, false
	for {
		select {
		case <-g.conn.gone:
			h.crashed(g)
			h.end(g)
			return
		case <-retired:
			retired, overdue = nil, time.After(drainLimit)
			continue
		case <-overdue:
			h.log.Warn("plugin's old process ended while invocations may need it", g.attrs()...)
			h.end(g)
			return
		case <-g.idle:
			h.end(g)
			return
		case <-h.ctx.Done():
			h.end(g)
			return
		case <-tick.C:
		}
		select {
		case <-g.conn.pong:
			missed = 0
		default:
			if asked {
				missed++
			}
		}
		if missed > 0 && g.traced != nil && g.traced() { // it stands still because somebody looks at it
			if !looked {
				h.log.Info("plugin is traced by a debugger: it misses no heartbeats", g.attrs()...)
			}
			looked, missed = true, 0
		}
		if missed == maxMissed {
			g.conn.end(fmt.Errorf("%w: it has missed %d heartbeats, one each %v", ErrGone, missed, heartbeat))
			continue
		}
		_ = g.conn.ping() // one that cannot be sent is missed too
		asked = true
	}
}

// end stops a generation's process.
func (h *Host) end(g *generation) {
	h.mu.Lock()
	g.ending = true
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.hard, stopLimit)
	defer cancel()
	err := g.stop(ctx)
	h.mu.Lock()
	delete(h.generations, g)
	h.invocations.drop(g)
	closed := h.state == Closed
	if err != nil && closed && !errors.Is(err, process.ErrKilled) { // what it had to do was done
		h.closed = errors.Join(h.closed, err)
	}
	h.mu.Unlock()
	if err != nil {
		h.log.Warn("plugin's process did not stop well", append(g.attrs(), "error", err)...)
	} else {
		h.log.Debug("plugin's process stopped", g.attrs()...)
	}
}
