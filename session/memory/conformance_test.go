package memory_test

import (
	"testing"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sessiontest"
)

func TestMemory(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) session.Service {
		t.Parallel()
		return memory.New()
	})
}
