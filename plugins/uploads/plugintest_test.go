package uploads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/uploads"
)

func TestEveryPluginsRules(t *testing.T) {
	p, err := uploads.New(uploads.Config{Artifacts: artifact.NewMemory()})
	require.NoError(t, err)
	plugintest.Check(t, p)
}
