package openai_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

const ok = `{"model":"tiny","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`

func content(role string, parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: role, Parts: parts}
}

func called(id, name string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
}

func answered(id, name string, response map[string]any) *genai.Part {
	return &genai.Part{
		FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: response},
	}
}

func text(s string) *genai.Part { return &genai.Part{Text: s} }

func tools(d ...*genai.FunctionDeclaration) []*genai.Tool {
	return []*genai.Tool{{FunctionDeclarations: d}}
}

func choose(mode genai.FunctionCallingConfigMode, allowed ...string) *genai.ToolConfig {
	return &genai.ToolConfig{
		FunctionCallingConfig: &genai.FunctionCallingConfig{
			Mode:                 mode,
			AllowedFunctionNames: allowed,
		},
	}
}

// What is said is sent as messages.
func TestMessages(t *testing.T) {
	long := "plughook-0190b7f2-7c1e-7d3a-9f1b-0123456789ab" // longer than OpenAI takes
	for name, c := range map[string]struct {
		contents []*genai.Content
		want     string
	}{
		"a text":             {genai.Text("hi <b>"), `[{"role":"user","content":"hi <b>"}]`},
		"a role is the user": {[]*genai.Content{content("", text("hi"))}, `[{"role":"user","content":"hi"}]`},
		"texts are one, and those of contents on end": {
			[]*genai.Content{content("user", text("a"), nil, text("b")), nil, content("user", text("c"))}, `[{"role":"user","content":"a\n\nb\n\nc"}]`},
		"turns": {
			[]*genai.Content{content("user", text("a")), content("model", text("b"), text("c")), content("user", text("d"))},
			`[{"role":"user","content":"a"},{"role":"assistant","content":"bc"},{"role":"user","content":"d"}]`},
		"thoughts are left out, and what has nothing else": {
			[]*genai.Content{content("user", text("a"), &genai.Part{Text: "hm", Thought: true}), content("model", &genai.Part{Text: "hm", Thought: true}, text("b")),
				content("model", &genai.Part{Text: "hm", Thought: true}, &genai.Part{ThoughtSignature: []byte("s")}), content("user", text("c"))},
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`},
		"an image": {
			[]*genai.Content{content("user", text("what is it?"), genai.NewPartFromBytes([]byte("png"), "image/png"))},
			`[{"role":"user","content":[{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`},
		"an image at an address": {
			[]*genai.Content{content("user", genai.NewPartFromURI("https://example.com/a.png", "image/png"))},
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]`},
		"text alone is one text, also after an image": {
			[]*genai.Content{content("user", genai.NewPartFromURI("http://a/b", "IMAGE/PNG")), content("model", text("b")), content("user", text("c"))},
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://a/b"}}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`},
		"a response stays behind what was said before it": {
			[]*genai.Content{content("model", called("x", "f", nil)), content("user", text("and?")), content("user", answered("x", "f", nil))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},
			  {"role":"user","content":"and?"},{"role":"tool","tool_call_id":"x","content":"{}"}]`},
		"calls and responses keep their ids": {
			[]*genai.Content{content("user", text("a")), content("model", text("I look."), called("x", "f", map[string]any{"n": json.Number("9007199254740993"), "s": "<"}), called("y", "g", nil)),
				content("user", answered("y", "g", nil), answered("x", "f", map[string]any{"result": "<1>"}))},
			`[{"role":"user","content":"a"},
			  {"role":"assistant","content":"I look.","tool_calls":[
			    {"id":"x","type":"function","function":{"name":"f","arguments":"{\"n\":9007199254740993,\"s\":\"<\"}"}},
			    {"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"y","content":"{}"},
			  {"role":"tool","tool_call_id":"x","content":"{\"result\":\"<1>\"}"}]`},
		"calls without ids get some, by name and order": {
			[]*genai.Content{content("model", called("", "f", nil), called("", "g", nil), called("", "f", nil)),
				content("user", answered("", "f", map[string]any{"n": 1}), answered("", "f", map[string]any{"n": 2}), answered("", "g", nil))},
			`[{"role":"assistant","content":null,"tool_calls":[
			    {"id":"plughook-1","type":"function","function":{"name":"f","arguments":"{}"}},
			    {"id":"plughook-2","type":"function","function":{"name":"g","arguments":"{}"}},
			    {"id":"plughook-3","type":"function","function":{"name":"f","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"plughook-1","content":"{\"n\":1}"},
			  {"role":"tool","tool_call_id":"plughook-3","content":"{\"n\":2}"},
			  {"role":"tool","tool_call_id":"plughook-2","content":"{}"}]`},
		"an id that is too long is shortened": {
			[]*genai.Content{content("model", called(long, "f", nil)), content("user", answered(long, "f", nil))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"call_929d1ebf9d3fb0883cacb4554ca332936ea","type":"function","function":{"name":"f","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"call_929d1ebf9d3fb0883cacb4554ca332936ea","content":"{}"}]`},
		"responses come before what is said beside them": {
			[]*genai.Content{content("model", called("x", "f", nil)), content("user", text("and?"), answered("x", "f", nil))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"x","content":"{}"},{"role":"user","content":"and?"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, sends(ok))
			before := inJSON(t, c.contents)
			_, _, err := ask(t, srv.model(t), &model.Request{Contents: c.contents})
			require.NoError(t, err)
			var sent struct{ Messages json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(srv.bodies[0]), &sent))
			require.JSONEq(t, c.want, string(sent.Messages))
			require.Equal(t, before, inJSON(t, c.contents), "contents are shared")
		})
	}
}

// What a configuration says is sent.
func TestConfig(t *testing.T) {
	type config = genai.GenerateContentConfig
	weather := &genai.FunctionDeclaration{
		Name:        "weather",
		Description: "the weather",
		ParametersJsonSchema: json.RawMessage(
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","maximum":9007199254740993}},"required":["z"]}`,
		),
	}
	none := &genai.FunctionDeclaration{
		Name:               "none",
		ResponseJsonSchema: map[string]any{"type": "string"},
	}
	inferred, err := jsonschema.For[struct{}](nil)
	require.NoError(t, err)
	const weatherSent = `{"type":"function","function":{"name":"weather","description":"the weather","parameters":
		{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","maximum":9007199254740993}},"required":["z"]}}}`
	const noneSent = `{"type":"function","function":{"name":"none","parameters":{"type":"object","properties":{}}}}`
	for name, c := range map[string]struct {
		config *config
		want   string // beside the model and the messages
	}{
		"nothing": {&config{}, `{}`},
		"hints are left out": {&config{ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true}, Labels: map[string]string{"a": "b"},
			MediaResolution: genai.MediaResolutionLow, SafetySettings: []*genai.SafetySetting{}, ResponseModalities: []string{"TEXT"}, CandidateCount: 1}, `{}`},
		"sampling": {&config{Temperature: genai.Ptr[float32](0.7), TopP: genai.Ptr[float32](0.95), TopK: genai.Ptr[float32](40), MaxOutputTokens: 100,
			StopSequences: []string{"END", "."}, Seed: genai.Ptr[int32](7), PresencePenalty: genai.Ptr[float32](-0.1), FrequencyPenalty: genai.Ptr[float32](0)},
			`{"temperature":0.7,"top_p":0.95,"top_k":40,"max_tokens":100,"stop":["END","."],"seed":7,"presence_penalty":-0.1,"frequency_penalty":0}`},
		"JSON": {&config{ResponseMIMEType: "application/json"}, `{"response_format":{"type":"json_object"}}`},
		"text": {&config{ResponseMIMEType: "text/plain"}, `{}`},
		"JSON of a schema": {&config{ResponseMIMEType: "application/json", ResponseJsonSchema: map[string]any{"type": "array"}},
			`{"response_format":{"type":"json_schema","json_schema":{"name":"response","schema":{"type":"array"}}}}`},
		"JSON of Google's schema": {&config{ResponseSchema: &genai.Schema{Type: genai.TypeBoolean}},
			`{"response_format":{"type":"json_schema","json_schema":{"name":"response","schema":{"type":"boolean"}}}}`},
		"functions": {&config{Tools: tools(weather, none), ToolConfig: choose("AUTO")}, `{"tools":[` + weatherSent + `,` + noneSent + `]}`},
		"a function without properties": {&config{Tools: tools(&genai.FunctionDeclaration{Name: "f", ParametersJsonSchema: inferred})},
			`{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"additionalProperties":false}}}]}`},
		"a function must be called":   {&config{Tools: tools(weather, none), ToolConfig: choose("ANY")}, `{"tools":[` + weatherSent + `,` + noneSent + `],"tool_choice":"required"}`},
		"one of these must":           {&config{Tools: tools(weather, none), ToolConfig: choose("ANY", "none")}, `{"tools":[` + noneSent + `],"tool_choice":"required"}`},
		"none can be called":          {&config{Tools: tools(none), ToolConfig: choose("NONE")}, `{"tools":[` + noneSent + `],"tool_choice":"none"}`},
		"none can, and there is none": {&config{ToolConfig: choose("NONE")}, `{}`},
		"Google's schema": {&config{Tools: tools(&genai.FunctionDeclaration{Name: "f", Parameters: &genai.Schema{
			Type: genai.TypeObject, Required: []string{"type"}, PropertyOrdering: []string{"type", "list"},
			Properties: map[string]*genai.Schema{
				"type": {Type: genai.TypeString, Format: "enum", Enum: []string{"STRING", "b"}, Nullable: genai.Ptr(true), Description: "d", Title: "t", Default: "b", Example: "b"},
				"list": {Type: genai.TypeArray, MinItems: genai.Ptr[int64](1), MaxItems: genai.Ptr[int64](2), Items: &genai.Schema{
					Type: genai.TypeInteger, Format: "int64", Enum: []string{"1", "9007199254740993", "many"}, Minimum: genai.Ptr(1.0)}},
				"null": {Type: genai.TypeNULL, Nullable: genai.Ptr(true)},
				"any":  {Nullable: genai.Ptr(true), AnyOf: []*genai.Schema{{Type: genai.TypeNumber}, {Type: genai.TypeString, MaxLength: genai.Ptr[int64](3), Pattern: "^a"}}},
			}}})},
			`{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["type"],"properties":{
				"type":{"type":["string","null"],"enum":["STRING","b",null],"description":"d","title":"t","default":"b","examples":["b"]},
				"list":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"integer","format":"int64","enum":[1,9007199254740993,"many"],"minimum":1}},
				"null":{"type":"null"},
				"any":{"anyOf":[{"type":"number"},{"type":"string","maxLength":3,"pattern":"^a"},{"type":"null"}]}}}}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, sends(ok))
			before := inJSON(t, c.config)
			_, _, err := ask(t, srv.model(t),
				&model.Request{Contents: genai.Text("hi"), Config: c.config})
			require.NoError(t, err)
			want := strings.Replace(c.want, "{",
				`{"model":"tiny","messages":[{"role":"user","content":"hi"}],`, 1)
			require.JSONEq(t, strings.Replace(want, ",}", "}", 1), srv.bodies[0])
			require.Equal(t, before, inJSON(t, c.config), "the configuration is shared")
		})
	}
}

// Models answer in the order of the properties, so it is kept; so are long numbers.
func TestOrderOfProperties(t *testing.T) {
	srv := serve(t, sends(ok))
	for _, d := range []*genai.FunctionDeclaration{
		{Name: "f", ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}}`)},
		{Name: "f", Parameters: &genai.Schema{Type: genai.TypeObject, PropertyOrdering: []string{"z", "a"}, Properties: map[string]*genai.Schema{"a": {}, "z": {Type: genai.TypeInteger, Enum: []string{"9007199254740993"}}}}},
	} {
		_, _, err := ask(t, srv.model(t), &model.Request{
			Contents: genai.Text("hi"),
			Config:   &genai.GenerateContentConfig{Tools: tools(d)},
		})
		require.NoError(t, err)
		sent := srv.bodies[len(srv.bodies)-1]
		require.Less(t, strings.Index(sent, `"z"`), strings.Index(sent, `"a"`), sent)
		require.Contains(t, sent, "9007199254740993", "to the digit")
	}
}

func TestSystemInstructionAndModelName(t *testing.T) {
	srv := serve(t, sends(ok))
	_, _, err := ask(t, srv.model(t), &model.Request{
		Model:    "large",
		Contents: genai.Text("hi"),
		Stream:   true,
		Config: &genai.GenerateContentConfig{
			SystemInstruction: content("user", text("Be brief."), nil,
				&genai.Part{Text: "hm", Thought: true}, text("Be kind."))},
	})
	require.NoError(t, err)
	require.JSONEq(
		t,
		`{"model":"large","stream":true,"stream_options":{"include_usage":true},"messages":[
		{"role":"system","content":"Be brief.\n\nBe kind."},{"role":"user","content":"hi"}]}`,
		srv.bodies[0],
	)
	require.Equal(t, "Bearer "+key, srv.headers[0].Get("Authorization"))
}

// What cannot be sent is an error that names it, and nothing is sent.
func TestWhatCannotBeSent(t *testing.T) {
	type config = genai.GenerateContentConfig
	say := func(parts ...*genai.Part) *model.Request {
		return &model.Request{Contents: []*genai.Content{content("user", parts...)}}
	}
	with := func(c config) *model.Request { return &model.Request{Contents: genai.Text("hi"), Config: &c} }
	f := &genai.FunctionDeclaration{Name: "f"}
	for want, req := range map[string]*model.Request{
		"the request has no contents":                        {},
		"has no contents, so":                                {Contents: []*genai.Content{content("model", &genai.Part{Text: "hm", Thought: true})}},
		`a content's role is "system"`:                       {Contents: []*genai.Content{content("system", text("a"))}},
		`inline data of type "application/pdf"`:              say(text("a"), genai.NewPartFromBytes([]byte("x"), "application/pdf")),
		`the file of type "image/png"`:                       say(genai.NewPartFromURI("gs://bucket/a.png", "image/png")),
		`the file of type "text/plain"`:                      say(genai.NewPartFromURI("https://example.com/a.txt", "text/plain")),
		"a part has executableCode":                          say(&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "x"}}),
		"a part has codeExecutionResult":                     {Contents: []*genai.Content{content("model", &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{}})}},
		"the call of f has the role user":                    say(called("x", "f", nil)),
		"the response of f has the role model":               {Contents: []*genai.Content{content("model", answered("x", "f", nil))}},
		"the response of f has no id":                        say(answered("", "f", nil)),
		"the response of f has media":                        say(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "x", Name: "f", Parts: []*genai.FunctionResponsePart{{}}}}),
		"the response of f: json":                            say(answered("x", "f", map[string]any{"n": math.NaN()})),
		"the arguments of the call of f":                     {Contents: []*genai.Content{content("model", called("x", "f", map[string]any{"n": math.Inf(1)}))}},
		"a model's turn has inline data":                     {Contents: []*genai.Content{content("model", genai.NewPartFromBytes([]byte("x"), "image/png"))}},
		"the system instruction has more than text":          with(config{SystemInstruction: content("user", genai.NewPartFromBytes([]byte("x"), "image/png"))}),
		"the system instruction has more than":               with(config{SystemInstruction: content("user", &genai.Part{ExecutableCode: &genai.ExecutableCode{}})}),
		"a tool has googleSearch, codeExecution":             with(config{Tools: []*genai.Tool{nil, {GoogleSearch: &genai.GoogleSearch{}, CodeExecution: &genai.ToolCodeExecution{}}}}),
		"the configuration has safetySettings":               with(config{SafetySettings: []*genai.SafetySetting{{}}}),
		"the configuration has cachedContent":                with(config{CachedContent: "c"}),
		"the configuration has responseLogprobs":             with(config{ResponseLogprobs: true}),
		"the configuration has httpOptions":                  with(config{HTTPOptions: &genai.HTTPOptions{}}),
		"the tool configuration has retrievalConfig":         with(config{ToolConfig: &genai.ToolConfig{RetrievalConfig: &genai.RetrievalConfig{}}}),
		"candidateCount is 2":                                with(config{CandidateCount: 2}),
		"the response modality IMAGE":                        with(config{ResponseModalities: []string{"TEXT", "IMAGE"}}),
		"temperature is NaN":                                 with(config{Temperature: genai.Ptr(float32(math.NaN()))}),
		"topK is 1.5":                                        with(config{TopK: genai.Ptr[float32](1.5)}),
		`responseMimeType is "text/x.enum"`:                  with(config{ResponseMIMEType: "text/x.enum"}),
		`responseMimeType is "text/plain"; it`:               with(config{ResponseMIMEType: "text/plain", ResponseJsonSchema: true}),
		"the response's schema: it is given twice":           with(config{ResponseJsonSchema: true, ResponseSchema: &genai.Schema{}}),
		"the response's schema: json":                        with(config{ResponseJsonSchema: func() {}}),
		"function f: its parameters: it is given twice":      with(config{Tools: tools(&genai.FunctionDeclaration{Name: "f", ParametersJsonSchema: true, Parameters: &genai.Schema{}})}),
		"function f: its parameters: the schema is not an":   with(config{Tools: tools(&genai.FunctionDeclaration{Name: "f", ParametersJsonSchema: true})}),
		"function g is allowed, but not declared":            with(config{Tools: tools(f), ToolConfig: choose("ANY", "g")}),
		"the mode of function calling is ANY, but there are": with(config{ToolConfig: choose("ANY")}),
		"the mode of function calling is SOME":               with(config{Tools: tools(f), ToolConfig: choose("SOME")}),
	} {
		t.Run(want, func(t *testing.T) {
			srv := serve(t, sends(ok))
			_, _, err := ask(t, srv.model(t), req)
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, "INVALID_ARGUMENT", coded.Code)
			require.ErrorContains(t, err, want)
			require.Empty(t, srv.bodies)
		})
	}
}

func limit(tokens int32) *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{MaxOutputTokens: tokens}
}
