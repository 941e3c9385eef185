package quota_test

import (
	"testing"

	quota "github.com/plughook/plughook/examples/plugin"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/plugintest"
)

func TestRules(t *testing.T) { plugintest.Check(t, quota.New(2)) }

func TestScripts(t *testing.T) {
	plugintest.Run(t, func() *plugin.Plugin { return quota.New(2) }, "testdata/*.txtar")
}
