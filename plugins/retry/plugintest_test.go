package retry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/retry"
)

func TestEveryPluginsRules(t *testing.T) {
	p, err := retry.New(retry.Config{Max: 1})
	require.NoError(t, err)
	plugintest.Check(t, p)
}
