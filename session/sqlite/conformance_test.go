package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sessiontest"
)

func TestConformanceOfProcesses(t *testing.T) {
	t.Parallel()
	sessiontest.RunShared(t, func(t *testing.T) (one, other session.Service) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "sessions.db")
		return openPath(t, path), openPath(t, path)
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) session.Service {
		t.Parallel()
		return openTest(t)
	})
}

func TestSize(t *testing.T) { sessiontest.Size(t, openTest(t)) }

func TestHooks(t *testing.T) { sessiontest.Hooks(t, openTest(t)) }

// TestNotices runs the contract of a store that keeps notices.
func TestNotices(t *testing.T) { sessiontest.Notices(t, openTest(t)) }
