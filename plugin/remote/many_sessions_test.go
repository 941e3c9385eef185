//go:build unix

package remote

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/session"
)

func init() {
	// weighs has all hooks but AfterRun, and says how large its heap is.
	testplugin.Programs["weighs"] = func() {
		p := testplugin.Ask(func(_ context.Context, text string) (string, error) {
			if text != "heap" {
				return "", nil
			}
			return fmt.Sprint(heapInUse()), nil
		})
		p.BeforeRun = func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			return plugin.Outcome{}, nil
		}
		p.BeforeModel = func(context.Context, *session.Invocation, *model.Request) (plugin.Outcome, error) {
			return plugin.Outcome{}, nil
		}
		serve.Plugin(p)
	}
}

// What a plugin was sent of sessions that are over does not add up, neither in the host nor in the
// plugin. PLUGHOOK_SOAK=67 makes it 10,000 sessions of each kind.
func TestMemoryDoesNotGrowWithSessions(t *testing.T) {
	c := command("weighs")
	c.Timeout = time.Minute
	c.Log = testplugin.Discard
	h, err := Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	require.Eventually(t, func() bool { return askHeap(t, h.Plugin()) > 16<<20 }, time.Minute,
		10*time.Millisecond, "its ballast, which a plugin's process has a second after its start")
	manySessions(t, h.Plugin(), func() int { return askHeap(t, h.Plugin()) })
}
