package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// declare returns a tool with parameters: a *genai.Schema, a JSON text, or anything else.
func declare(name string, parameters any) *tool.Tool {
	d := &genai.FunctionDeclaration{Name: name}
	switch p := parameters.(type) {
	case *genai.Schema:
		d.Parameters = p
	case string:
		d.ParametersJsonSchema = json.RawMessage(p)
	default:
		d.ParametersJsonSchema = p
	}
	return &tool.Tool{Declaration: d}
}

func object(t *testing.T, text string) map[string]any {
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestArgumentsAreChecked(t *testing.T) {
	weather := `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":7},"unit":{"enum":["celsius","fahrenheit"]}},"required":["city"],"additionalProperties":false}`
	nested := `{"type":"object","properties":{"stops":{"type":"array","maxItems":2,"items":{"$ref":"#/$defs/stop"}},"a/b":{"type":"boolean"}},"$defs":{"stop":{"type":"object","required":["at"],"properties":{"at":{"type":"string","pattern":"^[0-9]+$"},"then":{"$ref":"#/$defs/stop"}}}}}`
	choice := `{"type":"object","properties":{"x":{"anyOf":[{"type":"null"},{"type":"object","properties":{"n":{"type":"number"}}}]},"y":{"oneOf":[{"type":"string"},{"type":"number"}]},"z":{"allOf":[{"type":"string"},{"minLength":3}]}}}`
	old := `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/x","type":"object","properties":{"p":{"$ref":"#/definitions/p"},"t":{"type":"array","items":[{"type":"string"},{"type":"number"}]}},"definitions":{"p":{"type":"string"}}}`
	for _, c := range []struct{ schema, args, want string }{
		{weather, `{"city":"Oslo"}`, ""},
		{weather, `{"city":"Oslo","days":3,"unit":"celsius"}`, ""},
		{weather, `{"city":"Oslo","days":3.0}`, ""},
		{weather, `{}`, "/city: is missing"},
		{weather, `{"city":5}`, "/city: is of type integer, must be string"},
		{weather, `{"city":null}`, "/city: is of type null, must be string"},
		{weather, `{"city":"Oslo","days":"3"}`, "/days: is of type string, must be integer"},
		{weather, `{"city":"Oslo","days":1.5}`, "/days: is of type number, must be integer"},
		{weather, `{"city":"Oslo","days":9}`, "/days: maximum: 9 is greater than 7"},
		{weather, `{"city":"Oslo","unit":"kelvin"}`, "/unit: must be one of celsius fahrenheit"},
		{weather, `{"town":"Oslo"}`, "/town: is not known; known are city, days, unit"},
		{nested, `{"stops":[{"at":"1","then":{"at":"2"}}],"other":1}`, ""},
		{nested, `{"stops":[{"at":"1"},{"at":"2","then":{"at":"x"}}]}`, `/stops/*/then/at: pattern: "x" does not match regular expression "^[0-9]+$"`},
		{nested, `{"stops":[{},"1"]}`, "/stops/*/at: is missing"},
		{nested, `{"stops":[{"at":"1"},{"at":"1"},{"at":"1"}]}`, "/stops: maxItems: array length 3 is greater than 2"},
		{nested, `{"a/b":1}`, "/a~1b: is of type integer, must be boolean"},
		{choice, `{"x":null,"y":1,"z":"abc"}`, ""},
		{choice, `{"x":{"n":"1"}}`, "/x/n: is of type string, must be number"},
		{choice, `{"x":[]}`, "/x: fits none of the alternatives"},
		{choice, `{"y":{}}`, "/y: fits none of the alternatives, or more than one"},
		{choice, `{"z":"a"}`, `/z: minLength: "a" contains 1 Unicode code points, fewer than 3`},
		{old, `{"p":"x","t":["a",1]}`, ""},
		{old, `{"p":1}`, "/p: is of type integer, must be string"},
		{old, `{"t":["a","b"]}`, "/t/*: is of type string, must be number"},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, `{"a":1,"b":"x"}`, "/*: is of type string, must be number"},
		{`{"type":"object","additionalProperties":false}`, `{"a":1}`, "/a: is not known; nothing is to be here"},
		{`{"type":"object","minProperties":1}`, `{}`, "the whole: minProperties: object has 0 properties, less than 1"},
		{`{"type":"object","patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"x1":"a"}`, ""},
		{`{"type":"object","properties":{"a":{"const":1}}}`, `{"a":2}`, "/a: const: 2 does not equal 1"},
		// Of what the library cannot check, the rest is checked.
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`, `{"a":"x"}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"},"pattern":{"type":"string"}}}`, `{"a":1,"pattern":"y"}`, "/a: is of type integer, must be string"},
	} {
		check, err := declare("f", c.schema).Check()
		require.NoError(t, err, c.schema)
		err = check(t.Context(), object(t, c.args))
		if c.want == "" {
			require.NoError(t, err, "%s\n%s", c.schema, c.args)
		} else {
			require.EqualError(t, err, "the arguments do not fit: "+c.want, "%s\n%s", c.schema, c.args)
		}
	}
}

// Of several errors, the same one is told each time.
func TestFirstOfSeveralErrors(t *testing.T) {
	schema := `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"string"},
		"c":{"type":"object","required":["x","w"],"properties":{"x":{"type":"string"},"y":{"type":"string"}}},
		"d":{"type":"array","items":{"type":"object","properties":{"p":{"type":"string"},"q":{"type":"string"}}}}}}`
	check, err := declare("f", schema).Check()
	require.NoError(t, err)
	for args, want := range map[string]string{
		`{"a":1,"b":2,"c":3,"d":4}`:                          "/a: is of type integer, must be string",
		`{"b":2,"c":3,"d":4}`:                                "/b: is of type integer, must be string",
		`{"a":"","b":"","c":{"x":1,"y":2},"d":[]}`:           "/c/x: is of type integer, must be string",
		`{"a":"","b":"","c":{"y":"2"},"d":[1]}`:              "/c/w: is missing; /c/x: is missing",
		`{"a":"","b":"","d":[{"p":1},{"q":true,"p":false}]}`: "/d/*/p: is of type integer, must be string",
	} {
		for range 200 {
			require.EqualError(t, check(t.Context(), object(t, args)), "the arguments do not fit: "+want, args)
		}
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	check, err := declare(
		"f",
		`{"type":"object","additionalProperties":false,"properties":{"long":{"enum":["`+strings.Repeat(
			"é", 1000)+`"]}}}`,
	).Check()
	require.NoError(t, err)
	args := map[string]any{}
	for i := range 100 {
		args[strings.Repeat("k", i+1)] = i
	}
	err = check(t.Context(), args)
	require.True(t, strings.HasSuffix(err.Error(), "; and more"), err.Error())
	require.Equal(t, 8, strings.Count(err.Error(), "is not known"))
	err = check(t.Context(), map[string]any{"long": "x"})
	require.ErrorContains(t, err, "…")
	require.Less(t, len(err.Error()), 400)
}

func TestArgumentsOfEveryKindOfSchema(t *testing.T) {
	yes := true
	three := int64(3)
	for name, parameters := range map[string]any{
		"jsonschema": &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"n": {Type: "integer", Enum: []any{1, 2}}, "s": {Type: "string", MaxLength: jsonschema.Ptr(3)}, "o": {Types: []string{"string", "null"}}}, Required: []string{"n"}},
		"map":        map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer", "enum": []int{1, 2}}, "s": map[string]any{"type": "string", "maxLength": 3}, "o": map[string]any{"type": []string{"string", "null"}}}},
		"genai": &genai.Schema{Type: genai.TypeObject, Required: []string{"n"}, PropertyOrdering: []string{"s", "n"}, Properties: map[string]*genai.Schema{
			"n": {Type: genai.TypeInteger, Enum: []string{"1", "2"}}, "s": {Type: genai.TypeString, Format: "enum", MaxLength: &three}, "o": {Type: genai.TypeString, Nullable: &yes}}},
		"genai, alternatives": &genai.Schema{Type: genai.TypeObject, Required: []string{"n"}, Properties: map[string]*genai.Schema{
			"n": {Type: genai.TypeInteger, Enum: []string{"1", "2"}}, "s": {Type: genai.TypeString, MaxLength: &three}, "o": {AnyOf: []*genai.Schema{{Type: genai.TypeString}, {Type: genai.TypeNULL}}}}},
	} {
		check, err := declare("f", parameters).Check()
		require.NoError(t, err, name)
		require.NoError(t, check(t.Context(), object(t, `{"n":2,"s":"abc","o":null}`)), name)
		require.ErrorContains(t, check(t.Context(), object(t, `{"n":3}`)), "/n: must be one of 1 2",
			name)
		require.ErrorContains(t, check(t.Context(), object(t, `{"n":1,"s":"abcd"}`)),
			`/s: maxLength: "abcd"`, name)
		require.ErrorContains(t, check(t.Context(), object(t, `{"n":1,"o":1}`)), "/o: ", name)
		require.EqualError(t, check(t.Context(), nil), "the arguments do not fit: /n: is missing",
			name)
		require.NoError(t, check(t.Context(), map[string]any{"n": json.Number("1")}), name)
		require.ErrorContains(t,
			check(t.Context(), map[string]any{"n": json.Number("9007199254740993")}), "/n: must be",
			name)
	}
	check, err := declare("f", nil).Check()
	require.NoError(t, err)
	require.NoError(t, check(t.Context(), map[string]any{"made": "up"}))
}

func TestDeclarationsThatModelsRefuse(t *testing.T) {
	fine := `{"type":"object"}`
	both := declare("both", fine)
	both.Declaration.Parameters = &genai.Schema{Type: genai.TypeObject}
	for want, bad := range map[string]*tool.Tool{
		"has no Declaration":               {},
		`tool "":`:                         declare("", fine),
		`tool "has space":`:                declare("has space", fine),
		`tool "1st":`:                      declare("1st", fine),
		`tool "` + strings.Repeat("x", 65): declare(strings.Repeat("x", 65), fine),
		"tool both: it has both":           both,
		"tool text: parameters: ":          declare("text", json.RawMessage("no JSON")),
		"tool list: parameters: not a JSON schema: the whole is neither":      declare("list", `[]`),
		`tool str: parameters: the schema's type is not "object"`:             declare("str", `{"type":"string"}`),
		`tool any: parameters: the schema's type is not "object"`:             declare("any", `true`),
		"tool upper: parameters: the whole is of type OBJECT":                 declare("upper", `{"type":"OBJECT"}`),
		"tool prop: parameters: not a JSON schema: /properties/a":             declare("prop", `{"type":"object","properties":{"a":"string"}}`),
		"tool req: parameters: not a JSON schema":                             declare("req", `{"type":"object","required":"a"}`),
		"tool nil: parameters: not a JSON schema: /properties/a":              declare("nil", &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"a": nil}}),
		"tool away: parameters: /properties/a refers to":                      declare("away", `{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`),
		"tool lost: parameters: not a JSON schema: JSON Pointer \"/$defs/a\"": declare("lost", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`),
		"tool func: parameters: not a JSON schema: json: unsupported":         declare("func", func() {}),
		// The library would never come back from these.
		"tool me: parameters: a $ref leads back to itself": declare("me", `{"type":"object","$ref":"#"}`),
		"tool ring: parameters: ":                          declare("ring", `{"type":"object","allOf":[{"anyOf":[{"$ref":"#/$defs/a"}]}],"$defs":{"a":{"not":{"$ref":"#/allOf/0"}}}}`),
		"tool dynamic: parameters: ":                       declare("dynamic", `{"type":"object","$dynamicRef":"#a","$dynamicAnchor":"a"}`),
		"tool id: parameters: /$defs/a has a $id":          declare("id", `{"type":"object","$defs":{"a":{"$id":"x","$ref":"#"}}}`),
	} {
		_, err := bad.Check()
		require.ErrorContains(t, err, want)
	}
	for _, good := range []string{"f", "_f", "get.weather", "get-weather_2", strings.Repeat("x", 64)} {
		_, err := declare(good, fine).Check()
		require.NoError(t, err)
	}
}

func TestSchema(t *testing.T) {
	fits, err := tool.Schema(json.RawMessage(`{"type":"array","items":{"type":"integer"}}`))
	require.NoError(t, err)
	require.NoError(t, fits(t.Context(), []any{1.0, 2.0}))
	require.Error(t, fits(t.Context(), []any{"1"}))
	require.Error(t, fits(t.Context(), map[string]any{}))
	_, err = tool.Schema(json.RawMessage(`{"type":"arr"}`))
	require.ErrorContains(t, err, "arr")
	_, err = tool.Schema(nil)
	require.Error(t, err)
}

func FuzzSchema(f *testing.F) {
	f.Add(
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":["string","null"]}}}`,
		`{"a":"x"}`,
	)
	f.Add(
		`{"type":"object","allOf":[{"$ref":"#/properties/x"}],"properties":{"x":{"items":[{"pattern":"("}]}}}`,
		`{"x":[1]}`,
	)
	f.Add(
		`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"not":{}}}}`,
		`{"a":1,"c":null}`,
	)
	f.Fuzz(func(t *testing.T, schema, args string) {
		var value map[string]any
		if json.Unmarshal([]byte(args), &value) != nil {
			return
		}
		check, err := declare("f", schema).Check()
		if err != nil {
			return
		}
		fits, err := tool.Schema(json.RawMessage(schema))
		require.NoError(t, err)
		if value == nil {
			value = map[string]any{}
		}
		verdict := fits(t.Context(), value)
		err = check(t.Context(), value)
		require.Equal(t, verdict == nil, err == nil)
		if err != nil {
			require.NotEmpty(t, strings.TrimPrefix(err.Error(), "the arguments do not fit: "))
		}
	})
}
