package show_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/examples/demo/show"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The demo needs nothing but itself, shows what came back from the session's file, and leaves nothing behind.
// The test of "runner demo" holds the whole text.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out bytes.Buffer
	d := &show.Demo{Out: &out}
	require.NoError(t, d.Run(t.Context()))
	require.Contains(t, out.String(), "What the session's file has, opened again:\n   1  user ")
	require.Contains(t, out.String(),
		"  19  agent             I have moved it once already. Please call us about it.\n")
	require.Contains(t, out.String(), "8. A plugin rewinds")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
