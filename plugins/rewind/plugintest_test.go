package rewind_test

import (
	"testing"

	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session"
)

func TestEveryPluginsRules(t *testing.T) { plugintest.Check(t, rewind.New(session.NewMemory())) }
