package config_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Who asks is told of each call of a plugin, a model and a tool, when it begins and when it has ended.
func TestWaits(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"runner.yaml": `
agent: {model: "script:script.yaml", tools: [look]}
tools: [{name: look, command: [cat]}]
plugins:
  - earlyexit: {rules: [{text: hours, answer: From 8 to 20.}]}
  - logger:
`,
		"script.yaml": "- {response: look, say: Here.}\n- {call: {name: look}}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c, err := config.Load(t.Context(), filepath.Join(dir, "runner.yaml"))
	require.NoError(t, err)
	var mu sync.Mutex
	var begun []string
	open := 0
	parts, err := c.Open(t.Context(), config.Options{Waits: func(what string) func() {
		mu.Lock()
		defer mu.Unlock()
		open++
		if len(begun) == 0 || begun[len(begun)-1] != what {
			begun = append(begun, what)
		}
		return func() {
			mu.Lock()
			defer mu.Unlock()
			open--
		}
	}})
	require.NoError(t, err)
	defer parts.Close(t.Context())
	r, err := runner.New(runner.Options{Agent: parts.Agent, Sessions: parts.Sessions, Plugins: parts.Plugins})
	require.NoError(t, err)
	defer r.Close(t.Context())
	for _, err := range r.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, session.Message("Hello"), session.RunConfig{Create: true}) {
		require.NoError(t, err)
		require.Zero(t, open, "whoever has an event waits for nothing")
	}
	const model, plugin, tool = "model script:script.yaml", "plugin earlyexit", "tool look"
	require.Equal(t, []string{plugin, model, plugin, tool, plugin, model, plugin}, begun)
	require.Zero(t, open)
}

// A check says where the store could not be, and makes nothing there.
func TestCheckLooksAtTheStoresDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for store, warning := range map[string]string{
		"sqlite:none/s.db":                "none: no such file or directory; make it, or change store:",
		"sqlite:file/s.db":                "file is a file here",
		"sqlite:../" + filepath.Base(dir): "is a directory here; change store: to a file in it",
		"sqlite:s.db":                     "",
	} {
		name := filepath.Join(dir, "runner.yaml")
		require.NoError(t, os.WriteFile(name, []byte("store: "+store+"\nplugins: [{rewind: }]\n"), 0o600))
		c, err := config.Load(t.Context(), name)
		require.NoError(t, err)
		report, err := c.Check(t.Context(), config.Options{})
		require.NoError(t, err)
		if warning == "" {
			require.Len(t, report.Warnings, 1, "that there is no agent")
			continue
		}
		require.Contains(t, report.Warnings[0], warning, store)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
