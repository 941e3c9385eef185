package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// inProcess runs the program here, and checks that it leaves no goroutine behind.
func inProcess(t *testing.T, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	return here(t, stdin, args...)
}

// here runs the program here.
func here(t *testing.T, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	p := &program{stdin: stdin, stdout: &out, stderr: &err}
	code = p.run(t.Context(), args)
	return code, out.String(), err.String()
}

func TestNothingIsLeftRunning(t *testing.T) {
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	half := filepath.Join(dir, "half.yaml") // one of its servers starts
	require.NoError(t, os.WriteFile(half, []byte(`
artifacts: files
mcp:
  - {name: stations, command: [go, -C, `+root+`, run, ./examples/weather/server], env: [GOCACHE, GOFLAGS, GOMODCACHE, GOPATH, GOPROXY]}
  - {name: dead, command: [sh, -c, exit 1]}
agent: {model: "script:`+root+`/examples/weather/script.yaml", tools: [stations, dead]}
`), 0o600))
	process := filepath.Join(dir, "process.yaml") // a plugin in a process of its own
	require.NoError(t, os.WriteFile(process, []byte(`
agent: {model: "script:`+root+`/examples/weather/script.yaml"}
plugins: [{command: [desk-plugin], env: [GORACE=atexit_sleep_ms=0], timeout: 10s}]
`), 0o600))
	dead := filepath.Join(dir, "dead.yaml") // one of its plugins starts
	require.NoError(t, os.WriteFile(dead, []byte(`
agent: {model: "script:`+root+`/examples/weather/script.yaml"}
plugins: [{command: [desk-plugin], env: [GORACE=atexit_sleep_ms=0]}, {name: dead, command: [sh, -c, exit 1]}]
`), 0o600))
	for _, args := range [][]string{
		{"replay", "testdata/rich.jsonl", "--store", db, "--workers", "3"},
		{"replay", "testdata/rich.jsonl", "--config", process},
		{"run", "Hello", "--store", db, "--config", process},
		{"chat", "--config", process},
		{"plugin", "list", "--config", process},
		{"session", "export", "--all", "--store", db},
		{"session", "list", "--store", db},
		{"run", "Hello", "--store", db, "--config", "../../examples/support/runner.yaml"},
		{"demo"},
		{"run", "What is the weather in Paris?", "--store", db, "--config", "../../examples/weather/runner.yaml"},
		{"chat", "--store", db, "--config", "../../examples/weather/runner.yaml"},
		{"config", "check", "--config", "../../examples/weather/runner-gemini.yaml"},
	} {
		code, _, stderr := inProcess(t, strings.NewReader("What is the weather in Rome?\n/quit\n"), args...)
		require.Zero(t, code, "%v: %s", args, stderr)
	}
	for _, args := range [][]string{
		{"replay", "testdata/rich.jsonl", "--store", db},
		{"run", "Refund all", "--store", "memory:", "--config", "../../examples/support/runner.yaml"},
		{"run", "Hello", "--store", "sqlite:" + t.TempDir(), "--config", "../../examples/support/runner.yaml"},
		{"session", "show", "nobody", "--store", db},
		{"run", "Hello", "--config", half},
		{"run", "Hello", "--config", dead},
		{"run", "crash", "--config", process},
		{"run", "Hello", "--store", "sqlite:" + t.TempDir(), "--config", process},
		{"plugin", "list", "--config", dead},
		{"chat", "--config", half},
	} {
		code, _, _ := inProcess(t, nil, args...)
		require.NotZero(t, code, "%v", args)
	}
}

func TestInterruptedBeforeAnythingIsTyped(t *testing.T) {
	typed, never := io.Pipe()
	defer never.Close() // ends the read
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	var stderr bytes.Buffer
	p := &program{stdin: typed, stdout: io.Discard, stderr: &stderr}
	require.Equal(t, exitInterrupted.code, p.run(ctx, []string{"run", "--config", "../../examples/support/runner.yaml"}))
	require.Equal(t, "runner: interrupted\n", stderr.String())
}

func TestSchema(t *testing.T) {
	code, out, _ := inProcess(t, nil, "config", "schema")
	require.Zero(t, code)
	require.True(t, json.Valid([]byte(out)))
	s, err := schema()
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
	for _, name := range []string{"support/runner.yaml", "weather/runner.yaml", "weather/runner-gemini.yaml"} {
		example, err := os.ReadFile("../../examples/" + name)
		require.NoError(t, err)
		require.NoError(t, valid(string(example)), name)
	}
	require.NoError(t, valid("plugins: [{command: [a], files: [b, {c: "+strings.Repeat("ab", 32)+"}], config: {d: [1]}, limits: {memory: 5}, max_message: 16MiB, timeouts: {OnEvent: 1s}}]"))
	for name, text := range map[string]string{
		"unknown key":     "ap: a",
		"wrong type":      "app: 5",
		"no kind":         "plugins: [{name: a}]",
		"not a command's": "plugins: [{logger: {}, env: [A]}]",
		"no size":         "plugins: [{command: [a], max_message: 1MB}]",
		"no digest":       "plugins: [{command: [a], files: [{b: c}]}]",
		"unknown hook":    "plugins: [{command: [a], timeouts: {onEvent: 1s}}]",
		"two kinds":       "plugins: [{logger: {}, earlyexit: {rules: [{text: a, answer: b}]}}]",
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
		_, err := parseConfig("c.yaml", []byte(text))
		if name != "no answer" { // the plugin says that
			require.Error(t, err, name)
		}
	}
	undescribed(t, "config", reflect.TypeFor[config](), map[reflect.Type]bool{})
}

// undescribed fails for keys of the configuration that have no description, or differ in YAML and JSON.
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

func TestExitCodes(t *testing.T) {
	codes, names := map[int]bool{}, map[string]bool{}
	for _, e := range exits {
		require.False(t, codes[e.code] || names[e.name], e.name)
		codes[e.code], names[e.name] = true, true
	}
}

func TestVerdict(t *testing.T) {
	event := func(author, code string, changed ...plugin.Note) *session.Event {
		return plugin.Notes{Changed: changed}.With(&session.Event{Author: author, ErrorCode: code})
	}
	for name, tc := range map[string]struct {
		events []*session.Event
		want   exit
	}{
		"nothing":                    {nil, exitOK},
		"an answer":                  {[]*session.Event{event("a", "")}, exitOK},
		"a denial":                   {[]*session.Event{event("plugin/p", session.Denied), event("a", "")}, exitDenied},
		"a denial of an answer":      {[]*session.Event{event("a", session.Denied, plugin.Note{Plugin: "p"})}, exitDenied},
		"a model that says DENIED":   {[]*session.Event{event("a", session.Denied)}, exitModel},
		"a model's failure":          {[]*session.Event{event("a", "SAFETY"), event("a", "")}, exitModel},
		"a plugin's other code":      {[]*session.Event{event("plugin/p", "LATE")}, exitOK},
		"what the user says":         {[]*session.Event{event("user", session.Denied)}, exitOK},
		"a denial of a failed model": {[]*session.Event{event("a", "SAFETY"), event("plugin/p", session.Denied)}, exitDenied},
	} {
		var v verdict
		for _, e := range tc.events {
			v.note(e)
		}
		require.Equal(t, tc.want, exitOf(t.Context(), v.err()), name)
	}
}

func TestRunFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want exit
	}{
		"nothing":                  {nil, exitOK},
		"a plugin":                 {fmt.Errorf("%w", &plugin.Error{Plugin: "p", Err: io.EOF}), exitPlugin},
		"an agent":                 {&runner.AgentError{Agent: "a", Err: io.EOF}, exitModel},
		"a store":                  {io.EOF, exitStore},
		"a yes that came too late": {fmt.Errorf("runner: %w", runner.ErrDecision), exitUsage},
	} {
		require.Equal(t, tc.want, exitOf(t.Context(), runFailure(tc.err)), name)
	}
}

func TestPasswordsAreNotRepeated(t *testing.T) {
	for _, store := range []string{"mysql://u:secret@h/d", "postgres:u:secret@h", "postgres//u:secret@h", "memory:secret"} {
		_, _, err := splitStore(store)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestPrintable(t *testing.T) {
	require.Equal(t, "a\n\tb\uFFFD[31m\uFFFDc é 😀", printable("a\n\tb\x1b[31m\u202ec é 😀"))
	require.Equal(t, "one two…", oneLine("one\n two three", 8))
	require.Equal(t, "one two", oneLine(" one\ttwo ", 8))
}
