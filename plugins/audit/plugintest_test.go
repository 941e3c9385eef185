//go:build unix

package audit_test

import (
	"path/filepath"
	"testing"

	"github.com/plughook/plughook/plugin/plugintest"
	"github.com/plughook/plughook/plugins/audit"
)

func TestRulesOfPlugins(t *testing.T) {
	plugintest.Check(t,
		create(t, audit.Config{Path: filepath.Join(t.TempDir(), "audit.jsonl"), Sync: "rotate"}))
}
