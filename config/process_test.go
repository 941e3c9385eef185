package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "17": 17, "17B": 17, "4 KiB": 4096, "512MiB": 512 << 20, "7GiB": 7 << 30} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1.5MiB", "1MB", "1 T", "MiB", "9999999999999999999", "99999999999GiB"} {
		_, err := parseSize(text)
		require.Error(t, err, text)
	}
}

// What the file says of a plugin with a command reaches the process.
func TestProcessConfiguration(t *testing.T) {
	c, err := parse("dir/c.yaml", []byte(`
plugins:
  - name: p
    command: [./a, -x]
    sha256: `+strings.Repeat("AB", 32)+`
    files: [a.js, {"b.js": `+strings.Repeat("0c", 32)+`}]
    config: {list: [1, {deep: true}], big: 9007199254740993, text: "5"}
    timeout: 1s
    timeouts: {OnEvent: 2s, AfterRun: 3ms}
    background_timeout: 4s
    start_timeout: 5s
    on_error: open
    env: [A, B=c]
    network: true
    limits: {memory: 512MiB, open_files: 7, processes: 8, cgroup: ..}
    max_message: 131072
  - command: [b]
`))
	require.NoError(t, err)
	r, err := c.process(0, nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"list": [1, {"deep": true}], "big": 9007199254740993, "text": "5"}`,
		string(r.Settings))
	require.Contains(t, string(r.Settings), "9007199254740993")
	r.Settings = nil
	require.Equal(
		t,
		remote.Config{
			Name:    "p",
			Command: []string{"./a", "-x"},
			Dir:     "dir",
			SHA256:  strings.Repeat("ab", 32),
			Files: map[string]string{
				"a.js": "",
				"b.js": strings.Repeat("0c", 32),
			},
			Timeout:           1e9,
			BackgroundTimeout: 4e9,
			StartTimeout:      5e9,
			Timeouts: map[plugin.Hook]time.Duration{
				plugin.OnEvent:  2e9,
				plugin.AfterRun: 3e6,
			},
			Env:     []string{"A", "B=c"},
			Network: true,
			Limits: remote.Limits{
				Memory:    512 << 20,
				OpenFiles: 7,
				Processes: 8,
				Cgroup:    "..",
			},
			MaxMessage: 131072,
		},
		r,
	)
	r, err = c.process(1, nil)
	require.NoError(t, err)
	require.Equal(t,
		remote.Config{Name: "b", Command: []string{"b"}, Dir: "dir", Timeout: processTimeout}, r)
}
