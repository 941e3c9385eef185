//go:build unix

package process

import (
	"log/slog"
	"sync"
)

// missing is what this system cannot do to isolate plugins.
type missing struct {
	mu   sync.Mutex
	none bool // there are no namespaces, and there will be none
	said bool // the log has it
}

var isolation missing

// Isolated reports whether processes are started in namespaces of their own, as far as that is
// known. Start one to know.
func Isolated() bool { return !isolation.unavailable() }

// WithoutNamespaces makes processes start as on a system that has no namespaces, until restore is
// called. It is for tests.
func WithoutNamespaces() (restore func()) {
	isolation.mu.Lock()
	defer isolation.mu.Unlock()
	none := isolation.none
	isolation.none = true
	return func() {
		isolation.mu.Lock()
		defer isolation.mu.Unlock()
		isolation.none = none
	}
}

// unavailable reports whether there are no namespaces, and will be none.
func (m *missing) unavailable() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.none
}

// noteMissing notes that a process did not start with namespaces, and why, and has started without.
func (m *missing) noteMissing(why error, log *slog.Logger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.none = m.none || !temporary(why)
	m.say(noIsolation, log)
}

// noteIsolated notes that a process has started with all the isolation that this system has.
func (m *missing) noteIsolated(log *slog.Logger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say(lacks, log)
}

// say logs what is missing, once.
func (m *missing) say(what string, log *slog.Logger) {
	if what != "" && !m.said {
		m.said = true
		log.Warn("PLUGINS ARE NOT ISOLATED: " + what)
	}
}
