//go:build unix

package node

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote"
)

// weighs is a plugin that says how large its heap is.
const weighs = `import { serve } from './plughook/plughook.mjs'

const heap = () => {
  gc()
  return { emit: [{ content: { role: 'model', parts: [{ text: String(process.memoryUsage().heapUsed) }] } }] }
}

serve({
  name: 'weighs',
  create: () => ({
    beforeRun() {},
    beforeModel() {},
    onEvent: (inv, e) => (e.content.parts[0].text === 'heap' ? heap() : undefined),
  }),
})
`

// What a plugin in Node.js was sent of sessions that are over does not add up in its process.
func TestMemoryDoesNotGrowWithSessions(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plughook"), 0o700))
	for name, data := range Library() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "plughook", name), data, 0o600))
	}
	main := filepath.Join(dir, "weighs.mjs")
	require.NoError(t, os.WriteFile(main, []byte(weighs), 0o600))
	h, err := remote.Open(t.Context(), remote.Config{
		Command:      []string{"node", "--expose-gc", main},
		StartTimeout: time.Minute,
		Timeout:      time.Minute,
		Log:          testplugin.Discard,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	testplugin.ManySessions(t, h.Plugin(), func() int { return testplugin.AskHeap(t, h.Plugin()) })
}
