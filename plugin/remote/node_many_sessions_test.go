//go:build unix

package remote

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/node"
)

// weighsInNode is a plugin that says how large its heap is.
const weighsInNode = `import { serve } from './plughook/plughook.mjs'

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
func TestMemoryDoesNotGrowWithSessionsInNode(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plughook"), 0o700))
	for name, data := range node.Library() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "plughook", name), data, 0o600))
	}
	main := filepath.Join(dir, "weighs.mjs")
	require.NoError(t, os.WriteFile(main, []byte(weighsInNode), 0o600))
	h, err := Open(t.Context(), Config{
		Command:      []string{"node", "--expose-gc", main},
		StartTimeout: time.Minute,
		Timeout:      time.Minute,
		Log:          testplugin.Discard,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	manySessions(t, h.Plugin(), func() int { return askHeap(t, h.Plugin()) })
}
