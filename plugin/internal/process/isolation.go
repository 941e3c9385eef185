//go:build unix

package process

import (
	"log/slog"
	"sync"
)

// missing is what this system cannot do for plugins. The log says it once.
type missing struct {
	mu   sync.Mutex
	none bool // there are no namespaces, and there will be none
	said bool
}

var isolation missing

// Isolated reports whether processes are started in namespaces of their own, as far as that is known. Start one to know.
func Isolated() bool { return !isolation.lost() }

// WithoutNamespaces makes processes start as on a system that has no namespaces, until restore is called. It is for tests.
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

func (m *missing) lost() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.none
}

// lose notes that a process that did not start with namespaces has started without.
func (m *missing) lose(why error, log *slog.Logger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.none = m.none || !passing(why)
	m.say(noIsolation, log)
}

// note notes that one has started with all that this system has.
func (m *missing) note(log *slog.Logger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say(lacks, log)
}

func (m *missing) say(what string, log *slog.Logger) {
	if what != "" && !m.said {
		m.said = true
		log.Warn("PLUGINS ARE NOT ISOLATED: " + what)
	}
}
