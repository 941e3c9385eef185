//go:build unix

package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sessiontest/soak"
)

func TestMain(m *testing.M) {
	soak.Worker(openSoak)
	goleak.VerifyTestMain(m)
}

func openSoak(ctx context.Context, path string) (session.Service, error) { return Open(ctx, path) }

// Every acknowledged append survives the death of the process that made it.
func TestKill(t *testing.T) {
	soak.Kill(t, openSoak, filepath.Join(t.TempDir(), "sessions.db"))
}

// Who is stopped for longer than a turn lasts can append no more; nobody is told that the file is locked.
func TestTurns(t *testing.T) {
	soak.Turns(t, openSoak, filepath.Join(t.TempDir(), "sessions.db"), 4*time.Second)
}
