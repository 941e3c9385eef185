//go:build unix

package sandbox

import (
	"fmt"
	"log/slog"
	"sync"
)

// A level says how far a process is isolated from this one.
type level int

const (
	// bare is a process without namespaces of its own.
	bare level = iota
	// namespaced is one with namespaces of its own, and with the host's /proc.
	namespaced
	// isolated is one that has a /proc of its own, too.
	isolated
)

// isolation decides at which level processes are started. What was reached once is never given up:
// a plugin could use up what isolation needs, end, and be started again without it.
type isolation struct {
	mu      sync.Mutex
	lowest  level // the highest level of a process that was started
	highest level // the highest level that may be possible here
	logged  bool  // the log has been told what isolation lacks here
}

// system is the isolation that this system lets this user have.
var system = isolation{highest: best}

// Isolated reports whether processes are isolated as far as that is possible anywhere, and their
// namespaces cannot be had back by anything that they do. Start one to know.
func Isolated() bool {
	system.mu.Lock()
	defer system.mu.Unlock()
	return system.lowest == isolated
}

// WithoutNamespaces makes processes start as on a system that has no namespaces, until restore is
// called. It is for tests.
func WithoutNamespaces() (restore func()) {
	system.mu.Lock()
	defer system.mu.Unlock()
	lowest, highest := system.lowest, system.highest
	system.lowest = bare
	system.highest = bare
	return func() {
		system.mu.Lock()
		defer system.mu.Unlock()
		system.lowest = lowest
		system.highest = highest
	}
}

// bounds returns the lowest and the highest level at which a process may be started. demand is what its
// configuration says of isolation.
func (i *isolation) bounds(demand string) (lowest, highest level) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch demand {
	case Required:
		return isolated, best
	case None:
		return bare, bare
	}
	return i.lowest, i.highest
}

// start starts a process at the highest level that is possible, and not below what is demanded, or
// was reached before.
func (i *isolation) start(demand string, attempt func(level) (*Process, error), log *slog.Logger) (*Process, error) {
	lowest, highest := i.bounds(demand)
	if lowest > highest {
		return nil, fmt.Errorf("%w: the configuration demands it (isolation: required, or limits: cgroup), and %s", ErrIsolation, lacks[highest])
	}
	for l := highest; ; l-- {
		p, err := attempt(l)
		switch {
		case err == nil && demand == None:
			log.Warn("PLUGIN IS NOT ISOLATED: its configuration says so")
			return p, nil
		case err == nil:
			i.reached(l, log)
			return p, nil
		case l == bare || !noIsolation(err):
			return nil, err
		case usedUp(err):
			return nil, fmt.Errorf("%w: what this system has for that is used up (see user.max_user_namespaces); "+
				"a plugin is not started without it: %w", ErrIsolation, err)
		case l == lowest:
			return nil, fmt.Errorf("%w: %w; %s", ErrIsolation, err, lacks[l-1])
		}
	}
}

// reached notes the level at which a process was started: later processes get no lower one, and no higher one is
// tried. The log says once what is missing at that level.
func (i *isolation) reached(l level, log *slog.Logger) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lowest = max(i.lowest, l)
	i.highest = max(i.lowest, min(i.highest, l))
	if lacks[l] != "" && !i.logged {
		i.logged = true
		log.Warn("PLUGINS ARE NOT ISOLATED: " + lacks[l])
	}
}
