package config

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

func TestSchema(t *testing.T) {
	s, err := Schema()
	require.NoError(t, err)
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	valid := func(text string) error {
		data, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(data, &v))
		return resolved.Validate(v)
	}
	for _, name := range []string{"support/runner.yaml", "weather/runner.yaml", "weather/runner-gemini.yaml", "workflow/runner.yaml"} {
		example, err := os.ReadFile("../examples/" + name)
		require.NoError(t, err)
		require.NoError(t, valid(string(example)), name)
	}
	require.NoError(t, valid(
		"plugins: [{command: [a], files: [b, {c: "+strings.Repeat(
			"ab",
			32,
		)+"}], config: {d: [1]}, limits: {memory: 5}, max_message: 16MiB, timeouts: {OnEvent: 1s}}]",
	))
	for name, text := range map[string]string{
		"unknown key":     "ap: a",
		"wrong type":      "app: 5",
		"no kind":         "plugins: [{name: a}]",
		"not a command's": "plugins: [{logger: {}, env: [A]}]",
		"no size":         "plugins: [{command: [a], max_message: 1MB}]",
		"no digest":       "plugins: [{command: [a], files: [{b: c}]}]",
		"unknown hook":    "plugins: [{command: [a], timeouts: {onEvent: 1s}}]",
		"two kinds":       "plugins: [{logger: {}, earlyexit: {rules: [{text: a, answer: b}]}}]",
		"isolation":       "plugins: [{command: [./p], isolation: always}]",
		"on_error":        "plugins: [{logger: {}, on_error: never}]",
		"timeout":         "plugins: [{logger: {}, timeout: soon}]",
		"no fraction":     "plugins: [{compaction: {fraction: half}}]",
		"no answer":       "plugins: [{earlyexit: {rules: [{text: a}]}}]",
		"model's kind":    "models: [{name: a}]",
		"model's kinds":   "models: [{name: a, script: {file: b}, gemini: {model: b}}]",
		"no tool's name":  "tools: [{command: [a]}]",
		"inner agent":     "agent: {model: 'script:a', agents: [{name: b, agents: [{name: c, modl: d}]}]}",
		"loop":            "agent: {model: 'script:a', loop: {agents: [{name: c}]}}",
		"unknown in rule": "plugins: [{earlyexit: {rules: [{txt: a, answer: b}]}}]",
	} {
		require.Error(t, valid(text), name)
		_, err := parse("c.yaml", []byte(text))
		if name != "no answer" { // the plugin says that
			require.Error(t, err, name)
		}
	}
	undescribed(t, "config", reflect.TypeFor[file](), map[reflect.Type]bool{})
}

// undescribed fails for keys of the configuration that have no description, or differ in YAML and
// JSON.
func undescribed(t *testing.T, path string, typ reflect.Type, seen map[reflect.Type]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] {
		return
	}
	seen[typ] = true
	for f := range typ.Fields() {
		name := f.Tag.Get("yaml")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous { // its keys are those of the struct that it is in
			undescribed(t, path, f.Type, seen)
			continue
		}
		require.NotEmpty(t, f.Tag.Get("jsonschema"), "%s.%s", path, f.Name)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Equal(t, name, key, "%s.%s", path, f.Name)
		undescribed(t, path+"."+name, f.Type, seen)
	}
}

func TestEveryKindHasAKey(t *testing.T) {
	keys := map[string]bool{}
	for f := range reflect.TypeFor[pluginConfig]().Fields() {
		if f.Type.Kind() == reflect.Pointer || f.Name == "Command" || f.Name == "Attach" {
			keys[f.Tag.Get("yaml")] = true
		}
	}
	for _, k := range kinds {
		require.True(t, keys[k.name], k.name)
		delete(keys, k.name)
	}
	require.Empty(t, keys, "keys without a kind")
}
