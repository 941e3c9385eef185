package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	yaml "github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// fits returns a function that says in what way a policy does not fit the schema.
func fits(t *testing.T) func(text []byte) error {
	s, err := policy.Schema()
	require.NoError(t, err)
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return func(text []byte) error {
		data, err := yaml.YAMLToJSON(text)
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(data, &v))
		return resolved.Validate(v)
	}
}

// The policies that there are fit the schema.
func TestSchemaFits(t *testing.T) {
	files, err := filepath.Glob("../../../examples/policies/*.yaml")
	require.NoError(t, err)
	fit := fits(t)
	for _, name := range append(files, "default.yaml") {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, fit(data), name)
	}
}

const everyKey = `
version: 1
mode: shadow
on_error: allow
limits: {max_bytes: 1000, over_limit: flag}
tenant_key: "user:tenant"
trusted_tools: ["search_*"]
command_tools: {shell: {line: command, words: args, dir: cwd, env: env}}
rules:
  - {id: a, stages: [input, output], detect: {secrets: default, pii: [EMAIL_ADDRESS], words: [x], regexp: {TICKET: 'T-\d+'}}, action: {SECRET: redact, "*": mask}}
  - {id: b, detect: {pii: default}, scope: {app: desk, user: ["!root", "*"], agent: a, branch: b, tenant: c, tool: d}, action: hash, window: turn, trust: untrusted}
  - {id: c, detect: {words: {BIRD: [heron, egret]}, regexp: 'b+'}, action: replace, with: bird, mode: enforce}
  - {id: d, stages: [tool_args], tools: {deny: ["shell(rm *)", "reads(secrets/**)"], ask: ["*"], allow: [look], other: block}}
  - {id: e, stages: [output], detect: {urls: {allow: [corp.example], schemes: [https]}}, action: block, message: No.}
  - {id: f, detect: {length: {tokens: 1000}}, action: block}
  - {id: g, stages: [tool_args], when: 'tainted', action: ask}
  - {id: i, tools: {deny: [x]}}
tests:
  - {name: one, stage: input, text: x, want: mask, rule: a, after: x, app: a, user: b, agent: c, branch: d}
  - {name: two, stage: tool_args, tool: shell, args: {command: rm x}, state: {a: [1]}, taint: [web], want: block}
`

func TestSchema(t *testing.T) {
	fit := fits(t)
	require.NoError(t, fit([]byte(everyKey)))
	_, err := policy.Parse("every.yaml", []byte(everyKey))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"version":       `version: 2`,
		"mode":          `mode: on`,
		"on_error":      `on_error: flag`,
		"max_bytes":     `limits: {max_bytes: 0}`,
		"over_limit":    `limits: {over_limit: allow}`,
		"unknown key":   `rule: []`,
		"no id":         `rules: [{detect: {secrets: default}, action: redact}]`,
		"no action":     `rules: [{id: a, detect: {secrets: default}}]`,
		"action":        `rules: [{id: a, detect: {secrets: default}, action: remove}]`,
		"type's action": `rules: [{id: a, detect: {secrets: default}, action: {SECRET: remove}}]`,
		"type's name":   `rules: [{id: a, detect: {words: {bird: [heron]}}, action: redact}]`,
		"stage":         `rules: [{id: a, stages: [answer], detect: {secrets: default}, action: redact}]`,
		"no stages":     `rules: [{id: a, stages: [], detect: {secrets: default}, action: redact}]`,
		"window":        `rules: [{id: a, detect: {secrets: default}, action: redact, window: run}]`,
		"trust":         `rules: [{id: a, detect: {secrets: default}, action: redact, trust: some}]`,
		"secrets":       `rules: [{id: a, detect: {secrets: all}, action: redact}]`,
		"pii":           `rules: [{id: a, detect: {pii: [EMAIL]}, action: redact}]`,
		"words":         `rules: [{id: a, detect: {words: heron}, action: redact}]`,
		"regexp":        `rules: [{id: a, detect: {regexp: [a]}, action: redact}]`,
		"length":        `rules: [{id: a, detect: {length: {bytes: 0}}, action: block}]`,
		"scope":         `rules: [{id: a, scope: {app: 5}, detect: {secrets: default}, action: redact}]`,
		"other":         `rules: [{id: a, stages: [tool_args], tools: {deny: [x], other: flag}}]`,
		"test's stage":  `tests: [{name: a, stage: answer, text: b, want: allow}]`,
		"test's want":   `tests: [{name: a, stage: input, text: b, want: pass}]`,
		"test's name":   `tests: [{stage: input, text: b, want: allow}]`,
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, fit([]byte(text)))
			_, err := policy.Parse("p.yaml", []byte(text))
			require.Error(t, err)
		})
	}
}

// Every key says what it is.
func TestSchemaDescribes(t *testing.T) {
	s, err := policy.Schema()
	require.NoError(t, err)
	var described func(path string, s *jsonschema.Schema)
	described = func(path string, s *jsonschema.Schema) {
		if s == nil {
			return
		}
		for name, p := range s.Properties {
			require.NotEmpty(t, p.Description, path+name)
			described(path+name+".", p)
		}
		described(path, s.Items)
	}
	described("", s)
	require.NotEmpty(t, s.Properties["rules"].Items.Properties)
}
