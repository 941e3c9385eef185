package remote

import (
	"time"
)

// A State is how a plugin's process is.
type State string

// The states.
const (
	Ready       State = "ready"       // it serves
	Restarting  State = "restarting"  // it has ended; a replacement is on its way
	Quarantined State = "quarantined" // it has ended too often and is not started again, until Reload
	Detached    State = "detached"    // the attached plugin has gone; the next call connects again
	Closed      State = "closed"      // Close was called
)

// Health is how a plugin is.
type Health struct {
	State State
	// Since is when the state began.
	Since time.Time
	// Generation counts the processes that took over: the first, each replacement after a crash,
	// and each by Reload.
	Generation int
	// PID is the process that serves new invocations. It is 0 if there is none, or if the plugin
	// is attached.
	PID int
	// Restarts counts the processes that replaced one that had ended by itself.
	Restarts int
	// Calls counts the calls of hooks, Failures those that failed. A call has not failed if its
	// caller's context was done.
	Calls    uint64
	Failures uint64
	// LastError is the last failure of a call, or the last end of a process; "" if there was none.
	LastError string
	// Version is what the plugin says of itself.
	Version string
	// Digest is the SHA256 of the configuration, "" if the executable is not pinned.
	Digest string
}

// Health returns how the plugin is.
func (h *Host) Health() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Health{
		State:      h.state,
		Since:      h.since,
		Generation: h.started,
		Restarts:   h.restarts,
		Calls:      h.made,
		Failures:   h.failures,
		Version:    h.latest.about.GetVersion(),
		Digest:     h.latest.config.SHA256,
	}
	if h.last != nil {
		s.LastError = h.last.Error()
	}
	if h.current != nil {
		s.PID = h.current.pid
	}
	return s
}
