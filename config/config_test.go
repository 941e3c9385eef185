package config

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A configuration is read, or refused with its file.
func FuzzConfig(f *testing.F) {
	for _, name := range []string{"support/runner.yaml", "weather/runner.yaml", "weather/runner-gemini.yaml"} {
		example, err := os.ReadFile("../examples/" + name)
		require.NoError(f, err)
		f.Add(example)
	}
	f.Add([]byte(
		"agent: {name: a, loop: {limit: 1, agents: [{name: b, model: x:y, parallel: []}]}}\nmodels: [{name: a, script: {file: b}}]",
	))
	f.Add([]byte("plugins:\n  - logger: {}\n    timeout: 1s\n    on_error: open\n"))
	f.Add([]byte(
		"plugins:\n  - command: [a]\n    files: [b, {c: d}]\n    limits: {memory: 5MiB}\n    max_message: 1\n    config: {a: [{b: 1}]}\n    timeouts: {OnEvent: 1s}\n",
	))
	f.Add([]byte("app: &a x\nuser: *a\n---\n{}"))
	f.Add([]byte("\t: [\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return // deep nesting of brackets is slow, not wrong
		}
		c, err := parse("f.yaml", data)
		if err != nil {
			require.ErrorContains(t, err, "f.yaml")
			return
		}
		require.NotNil(t, c)
	})
}

func TestNoConfigurationTakesAllMemory(t *testing.T) {
	for _, deep := range []string{"app: " + strings.Repeat("[", 100_000), "plugins:\n" + strings.Repeat("- ", 100_000) + "x", "app: " + strings.Repeat("{a: ", 50_000)} {
		_, err := parse("deep.yaml", []byte(deep))
		require.ErrorContains(t, err, "more than 100 values inside of one another")
	}
}
