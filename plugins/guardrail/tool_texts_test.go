package guardrail_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// asking lets a plugin see a request that offers tools, and returns what becomes of it.
func asking(
	t require.TestingT,
	p *plugin.Plugin,
	tools ...*genai.FunctionDeclaration,
) (*genai.GenerateContentConfig, plugin.Outcome) {
	req := &model.Request{
		Agent:    "bot",
		Contents: []*genai.Content{genai.NewContentFromText("hello", genai.RoleUser)},
		Config:   &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: tools}}},
	}
	before := inJSON(tools)
	out, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key}, req)
	require.NoError(t, err)
	require.Equal(t, before, inJSON(tools), "declarations are shared with the agent")
	return req.Config, out
}

// inSchema is a tool with a text at each place of its declaration that says something to a model.
// In the text, % stands for what a test puts there.
func inSchema(word string) []*genai.FunctionDeclaration {
	raw := strings.ReplaceAll(
		`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "%", "required": ["q"],
		"properties": {
			"q": {"type": "string", "description": "%", "default": "%", "examples": ["%"], "maximum": 9007199254740991},
			"description": {"enum": ["%", 1], "const": "%", "x-note": {"a": ["%"]}},
			"list": {"type": "array", "items": {"anyOf": [{"title": "%"}, {"additionalProperties": {"$comment": "%"}}]}}},
		"$defs": {"d": {"description": "%"}}}`,
		"%",
		word,
	)
	return []*genai.FunctionDeclaration{
		{
			Name:                 "one",
			Description:          word,
			ParametersJsonSchema: json.RawMessage(raw),
			ResponseJsonSchema:   map[string]any{"description": word},
		},
		{
			Name: "two",
			Parameters: &genai.Schema{
				Type:     genai.TypeObject,
				Title:    word,
				Required: []string{"p"},
				Properties: map[string]*genai.Schema{
					"p": {
						Type:        genai.TypeString,
						Description: word,
						Enum:        []string{word},
						Default:     word,
						Example:     word,
					},
				},
			},
			Response: &genai.Schema{Type: genai.TypeObject, Description: word},
		},
		{Name: "three", Description: "nothing"},
	}
}

// What a rule of the stage prompt finds in a tool's declaration is taken out, wherever it stands,
// and nothing else changes. It is so each time.
func TestDeclarationsAreEdited(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: redact}]`))
	clean := inSchema("[WORD]")
	for range 3 {
		config, out := asking(t, p, inSchema("heron")...)
		require.False(t, out.Stop)
		require.JSONEq(t, inJSON(clean), inJSON(config.Tools[0].FunctionDeclarations))
	}
	config, _ := asking(t, p, clean...)
	require.Same(t, clean[0], config.Tools[0].FunctionDeclarations[0])
}

// A declaration in which a key stands twice is not judged by the last one alone.
func TestDeclarationsWithAKeyTwice(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: r, stages: [prompt], detect: {words: [heron]}, action: redact}]`))
	req := &model.Request{
		Agent: "bot",
		Config: &genai.GenerateContentConfig{
			Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
				{
					Name: "one",
					ParametersJsonSchema: json.RawMessage(
						`{"description": "heron", "description": "a bird"}`),
				},
			}}},
		},
	}
	_, err := p.BeforeModel(ctx, &session.Invocation{ID: "i", Key: key}, req)
	require.ErrorContains(t, err, "the declaration of the tool one cannot be read")
}

// Rules that block end the run, and those that flag only note it.
func TestDeclarationsAreBlockedAndFlagged(t *testing.T) {
	for action, stops := range map[string]bool{"block": true, "flag": false} {
		s := stage(
			t,
			with(t,
				`rules: [{id: r, stages: [prompt], detect: {words: [send]}, action: `+action+`}]`),
			"hello",
			"hello",
		)
		lines := s.run("hi")
		require.Equal(t, stops, strings.Contains(strings.Join(lines, "\n"), "[DENIED]"), lines)
		require.Contains(t, s.log.String(), `"rule":"r","stage":"prompt"`)
		require.Contains(t, s.log.String(), `"action":"`+action+`"`)
	}
}

// A tool in whose structure something is to be hidden is not offered: without its names nobody
// could call it. What every schema has is no text.
func TestToolsWhoseNamesAreHidden(t *testing.T) {
	for name, d := range map[string]*genai.FunctionDeclaration{
		"of the tool": {Name: "send_heron"},
		"of a parameter": {
			Name:                 "send",
			ParametersJsonSchema: json.RawMessage(`{"properties": {"the heron": {}}}`),
		},
		"of a definition": {
			Name:                 "send",
			ParametersJsonSchema: json.RawMessage(`{"$defs": {"heron": {}}}`),
		},
		"that is needed": {
			Name:                 "send",
			ParametersJsonSchema: json.RawMessage(`{"required": ["heron"]}`),
		},
		"of a keyword": {
			Name:                 "send",
			ParametersJsonSchema: json.RawMessage(`{"properties": {"a": {"x-heron": true}}}`),
		},
		"of a type": {Name: "send", Parameters: &genai.Schema{Type: "HERON"}},
		"in a pattern": {
			Name:                 "send",
			ParametersJsonSchema: json.RawMessage(`{"properties": {"a": {"pattern": "heron"}}}`),
		},
	} {
		p := quiet(t, with(
			t,
			`rules: [{id: r, stages: [prompt], detect: {regexp: {BIRD: "(?i)heron"}}, action: redact}]`,
		))
		config, _ := asking(t, p, d, &genai.FunctionDeclaration{Name: "fetch"})
		require.JSONEq(t, `[{"functionDeclarations": [{"name": "fetch"}]}]`, inJSON(config.Tools),
			name)
		config, _ = asking(t, p, d)
		require.Empty(t, config.Tools, name)
	}
	p := quiet(t, with(
		t,
		`rules: [{id: r, stages: [prompt], detect: {words: [object, string, properties, maximum], pii: default, urls: {allow: [corp.example]}}, action: {"*": redact}}]`,
	))
	config, _ := asking(t, p, inSchema("x")...)
	require.Len(t, config.Tools[0].FunctionDeclarations, 3)
}

// A rule may be about some tools' declarations.
func TestDeclarationsOfSomeTools(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: r, stages: [prompt], scope: {tool: "web_*"}, detect: {words: [hello]}, action: redact}]`,
	))
	config, _ := asking(t, p, &genai.FunctionDeclaration{Name: "web_a", Description: "hello"},
		&genai.FunctionDeclaration{Name: "b", Description: "hello"})
	require.Equal(t, "[WORD]", config.Tools[0].FunctionDeclarations[0].Description)
	require.Equal(t, "hello", config.Tools[0].FunctionDeclarations[1].Description)
}
