package sqlite

import (
	"testing"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sessiontest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) session.Service {
		t.Parallel()
		return openTest(t)
	})
}
