package memory_test

import (
	"os"
	"testing"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sessiontest"
)

func TestMain(m *testing.M) {
	contract.Short(100)
	os.Exit(m.Run())
}

func TestMemory(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) session.Service {
		t.Parallel()
		return memory.New()
	})
}

func TestSize(t *testing.T) {
	s := memory.New()
	defer s.Close()
	sessiontest.Size(t, s)
}

// TestNotices runs the contract of a store that keeps notices.
func TestNotices(t *testing.T) {
	s := memory.New()
	defer s.Close()
	sessiontest.Notices(t, s)
}
