package logger_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/logger"
)

func TestEveryPluginsRules(t *testing.T) {
	p, err := logger.New(logger.Config{Content: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	plugintest.Check(t, p)
}
