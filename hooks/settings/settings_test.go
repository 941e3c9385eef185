package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"

	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/hooks/settings"
)

const command = `"/opt/runner" hook`

func install(t *testing.T, agent, file string) *settings.Change {
	c, err := settings.Plan(agent, file, command, "")
	require.NoError(t, err)
	require.NoError(t, c.Write())
	return c
}

func uninstall(t *testing.T, agent, file string) {
	c, err := settings.Plan(agent, file, "", "")
	require.NoError(t, err)
	require.NoError(t, c.Write())
}

// What was in a file before is there to the byte after an installation and an uninstallation. A file that was not there
// is not there again.
func TestComesAndGoes(t *testing.T) {
	files := map[string]string{
		"none":     "",
		"settings": "{\n  \"model\": \"opus\",\n  \"permissions\": {\"deny\": [\"Read(.env)\"]}\n}\n",
		"comments": "{\n  // ours\n  \"model\": \"opus\" // the best\n}\n",
		"a hook": "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\"," +
			" \"command\": \"lint.sh\"}]}\n    ],\n    \"preToolUse\": [\n      {\"command\": \"lint.sh\"}\n    ]\n  }\n}\n",
		"trailing comma": "{\n  \"model\": \"opus\",\n}\n",
	}
	for what, text := range files {
		for _, agent := range dialect.Agents() {
			t.Run(agent+"/"+what, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "deep", "settings.json")
				if text != "" {
					require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
					require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
				}
				c := install(t, agent, file)
				assert.NotEmpty(t, c.Advice)
				installed, err := os.ReadFile(file)
				require.NoError(t, err)
				events, commands, err := settings.Installed(agent, file)
				require.NoError(t, err)
				assert.ElementsMatch(t, c.Events, events)
				for _, line := range commands {
					assert.True(t, settings.Ours(agent, line))
				}
				standard, err := hujson.Standardize(bytes.Clone(installed))
				require.NoError(t, err)
				require.True(t, json.Valid(standard))

				install(t, agent, file)
				again, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, string(installed), string(again), "a second installation changes nothing")

				uninstall(t, agent, file)
				after, err := os.ReadFile(file)
				if text == "" {
					require.ErrorIs(t, err, os.ErrNotExist)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, text, string(after))
				info, err := os.Stat(file)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			})
		}
	}
}

// A hook of somebody else on the same event stays, and is named.
func TestOthersAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hooks.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"version":1,"hooks":{"preToolUse":[{"command":"lint.sh"}]}}`), 0o644))
	c := install(t, "cursor", file)
	assert.Equal(t, []string{"lint.sh"}, c.Others)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "lint.sh")
}

// Every event that gets an entry is one that the dialect knows: some agents drop a whole file for one unknown name.
func TestEventsAreKnown(t *testing.T) {
	for _, agent := range dialect.Agents() {
		in, err := dialect.InstallationOf(agent)
		require.NoError(t, err)
		for _, group := range in.Entries {
			for _, event := range group.Events {
				payload := `{"session_id":"s","cwd":"/w","hook_event_name":"` + event + `"}`
				e, err := dialect.Read(agent, event, func(string) string { return "" }, []byte(payload))
				require.NoError(t, err)
				assert.False(t, e.Unknown, "%s %s", agent, event)
				refuses := e.Reply(dialect.Verdict{Answer: dialect.Failed, Reason: "x"}).Exit == 2
				if refuses && e.Meaning != dialect.End {
					continue
				}
				if e.Meaning == dialect.End {
					assert.False(t, group.Closed, "%s %s would send the agent round again", agent, event)
				}
			}
		}
	}
}

func TestLeftAlone(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{
		"broken.json": `{"hooks": `,
		"list.json":   `[1]`,
		"hooks.json":  `{"hooks": [1]}`,
	} {
		file := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		_, err := settings.Plan("claude", file, command, "")
		require.ErrorIs(t, err, settings.ErrFile, name)
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, text, string(after))
	}
	link := filepath.Join(directory, "link.json")
	require.NoError(t, os.Symlink(filepath.Join(directory, "hooks.json"), link))
	_, err := settings.Plan("claude", link, command, "")
	require.ErrorIs(t, err, settings.ErrFile)

	// Somebody writes the file while a person looks at the difference.
	file := filepath.Join(directory, "settings.json")
	c, err := settings.Plan("claude", file, command, "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(`{"model":"opus"}`), 0o644))
	require.ErrorIs(t, c.Write(), settings.ErrFile)
}
