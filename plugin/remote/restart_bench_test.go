//go:build linux

package remote

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
)

// BenchmarkReplacement measures what a crash costs: until it is seen, and until a call is
// answered by the replacement.
func BenchmarkReplacement(b *testing.B) {
	self, err := os.Executable()
	require.NoError(b, err)
	h, err := Open(b.Context(), Config{
		Name:    "guard",
		Command: []string{self},
		Env:     []string{envFault + "=none/never", envStarts + "=" + b.TempDir() + "/starts"},
		Timeout: time.Minute,
		Log:     testplugin.Discard,
	})
	require.NoError(b, err)
	defer h.Close(context.Background())
	p := h.Plugin()
	var seen, served time.Duration
	for b.Loop() {
		h.mu.Lock()
		g := h.current
		h.crashes = crashes{} // this plugin crashes for a living
		h.mu.Unlock()
		began := time.Now()
		require.NoError(b, syscall.Kill(g.pid, syscall.SIGKILL))
		<-g.conn.gone
		seen += time.Since(began)
		_, err := fire(b.Context(), p, plugin.OnEvent, "i")
		require.NoError(b, err)
		served += time.Since(began)
	}
	b.ReportMetric(float64(seen.Microseconds())/1000/float64(b.N), "ms-seen/op")
	b.ReportMetric(float64(served.Microseconds())/1000/float64(b.N), "ms-served/op")
}
