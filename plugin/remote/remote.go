package remote

import (
	"time"
)

// A State is how a plugin's process is.
type State string

// States.
const (
	Ready       State = "ready"       // it serves
	Restarting  State = "restarting"  // it has ended; a replacement is on its way
	Quarantined State = "quarantined" // it is not started again, until Reload
	Detached    State = "detached"    // it was attached, and has gone; the next call connects again
	Closed      State = "closed"      // Close was called
)

// Health is how a plugin is.
type Health struct {
	State State
	// Since is when the state began.
	Since time.Time
	// Generation counts the processes that served: those that were replaced after a crash, and by Reload.
	Generation int
	// PID is the process that serves new invocations, 0 if there is none, or if it is attached: that one is another's.
	PID int
	// Restarts counts the processes that took over from one that had ended by itself.
	Restarts int
	// Calls counts the calls of hooks, Failures those that failed; a call whose caller has left did not.
	Calls, Failures uint64
	// LastError is the last failure of a call, or the last end of a process; "" if there was none.
	LastError string
	// Version is what the plugin says of itself; Digest is the executable's, "" if none is asked for.
	Version, Digest string
}
