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
	maxMissed  = 2                // heartbeats in a row, then the process is killed
	drainLimit = 5 * time.Minute  // for the invocations of a process that Reload has replaced
	stopLimit  = 10 * time.Second // for a process to stop
)

// watch looks after a generation until it has ended, and ends it when it is time.
func (h *Host) watch(g *generation) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	if g.config.Attach != "" {
		tick.Stop() // the process is its developer's, who may stop it at a breakpoint
	}
	retired := g.retired
	var overdue <-chan time.Time // has an element drainLimit after it was retired
	var beats heartbeats
	for {
		select {
		case <-g.conn.gone:
			h.crashed(g)
			h.end(g)
			return
		case <-retired:
			retired = nil
			overdue = time.After(drainLimit)
		case <-overdue:
			h.log.Warn("plugin's old process is ended although invocations may need it: they had 5 minutes", g.attrs()...)
			h.end(g)
			return
		case <-g.idle:
			h.end(g)
			return
		case <-h.ctx.Done():
			h.end(g)
			return
		case <-tick.C:
			h.beat(g, &beats)
		}
	}
}

// heartbeats is what is known of the heartbeats of a process.
type heartbeats struct {
	sent   bool // one was sent
	missed int  // how many in a row were not answered
	traced bool // the log says that a debugger traces it
}

// beat looks whether the last heartbeat was answered, and sends the next one. A process that has
// missed too many is ended as if it had crashed.
func (h *Host) beat(g *generation, beats *heartbeats) {
	select {
	case <-g.conn.pong:
		beats.missed = 0
	default:
		if beats.sent {
			beats.missed++
		}
	}
	if g.conn.waits.Load() { // its heartbeats are not read
		beats.missed = 0
	}
	if beats.missed > 0 && g.traced != nil && g.traced() { // it stands still at a breakpoint
		if !beats.traced {
			h.log.Info("a debugger traces the plugin: missed heartbeats do not count", g.attrs()...)
		}
		beats.traced = true
		beats.missed = 0
	}
	if beats.missed == maxMissed {
		g.conn.end(fmt.Errorf("%w: it has missed %d heartbeats, one each %v", ErrGone, beats.missed, heartbeat))
		return
	}
	_ = g.conn.ping() // one that cannot be sent is missed too
	beats.sent = true
}

// end stops the process of a generation.
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
	if err != nil && closed && !errors.Is(err, process.ErrKilled) { // one that was killed had done its work
		h.closeErr = errors.Join(h.closeErr, err)
	}
	h.mu.Unlock()
	if err != nil {
		h.log.Warn("plugin's process did not stop well", append(g.attrs(), "error", err)...)
	} else {
		h.log.Debug("plugin's process stopped", g.attrs()...)
	}
}
