package rewind_test

import (
	"testing"

	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/session/memory"
)

func TestEveryPluginsRules(t *testing.T) { plugintest.Check(t, rewind.New(memory.New())) }
