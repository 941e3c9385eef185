package runs

import (
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/limits"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// However often a client cancels, one goroutine waits for the end of each invocation, and Close for that one.
func TestManyCancelsWaitOnce(t *testing.T) {
	svc := memory.New()
	key := session.Key{App: "a", User: "u", ID: "s"}
	_, err := svc.Create(t.Context(), key, nil)
	require.NoError(t, err)
	lease, err := svc.Lease(t.Context(), key,
		"i-1") // of another process: it takes its time to obey
	require.NoError(t, err)
	rs := New(limits.New(limits.Limits{}, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	before := runtime.NumGoroutine()
	for range 200 {
		rs.CancelLater(svc, key, "i-1")
	}
	require.Less(t, runtime.NumGoroutine(), before+20)
	lease.Release()
	rs.Close(t.Context())
	require.Empty(t, rs.cancels)
	require.NoError(t, svc.Close())
}
