package guardrail_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// offered returns what becomes of an event, and what is emitted on it.
func offered(t require.TestingT, p *plugin.Plugin, e *session.Event) (*session.Event, plugin.Outcome) {
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key}, e)
	require.NoError(t, err)
	if out.Replace != nil {
		e = out.Replace
	}
	return e, out
}

func says(author string, parts ...*genai.Part) *session.Event {
	return &session.Event{ID: "e", Author: author, Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}
}

// Files: their names, their links, and what is in them if that is text.
func TestFiles(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`))
	utf16le := func(text string) []byte {
		data := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			data = append(data, byte(u), byte(u>>8))
		}
		return data
	}
	for name, c := range map[string]struct{ part, want *genai.Part }{
		"a link": {&genai.Part{FileData: &genai.FileData{FileURI: "https://a.example/?q=heron"}}, &genai.Part{Text: "https://a.example/?q=[WORD]"}},
		"a name": {&genai.Part{FileData: &genai.FileData{FileURI: "gs://a", DisplayName: "heron.png"}}, &genai.Part{FileData: &genai.FileData{FileURI: "gs://a", DisplayName: "[WORD].png"}}},
		"text": {&genai.Part{InlineData: &genai.Blob{MIMEType: "text/csv; charset=us-ascii", Data: []byte("a,heron")}},
			&genai.Part{InlineData: &genai.Blob{MIMEType: "text/csv; charset=utf-8", Data: []byte("a,[WORD]")}}},
		"text in UTF-16": {&genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: utf16le("ä heron")}}, &genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("ä [WORD]")}}},
		"JSON": {&genai.Part{InlineData: &genai.Blob{MIMEType: "application/geo+json", Data: []byte(`{"a": "heron"}`)}},
			&genai.Part{InlineData: &genai.Blob{MIMEType: "application/geo+json", Data: []byte(`{"a": "[WORD]"}`)}}},
		"text that says it is in UTF-16": {&genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain; charset=utf-16", Data: []byte("a heron")}}, &genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain; charset=utf-8", Data: []byte("a [WORD]")}}},
		"text of no type":                {&genai.Part{InlineData: &genai.Blob{MIMEType: "application/octet-stream", Data: []byte("a heron")}}, &genai.Part{InlineData: &genai.Blob{MIMEType: "application/octet-stream", Data: []byte("a [WORD]")}}},
		"a picture that is text":         {&genai.Part{InlineData: &genai.Blob{MIMEType: "image/svg+xml", Data: []byte("<b>heron</b>")}}, &genai.Part{InlineData: &genai.Blob{MIMEType: "image/svg+xml", Data: []byte("<b>[WORD]</b>")}}},
		"bytes":                          {&genai.Part{InlineData: &genai.Blob{MIMEType: "application/octet-stream", Data: []byte("\x00 heron \xff")}}, &genai.Part{InlineData: &genai.Blob{MIMEType: "application/octet-stream", Data: []byte("\x00 heron \xff")}}},
		"a picture is not looked into":   {&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("heron")}}, &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("heron")}}},
		"a tool's text": {&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "text/html", Data: []byte("a heron")}}}}},
			&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "text/html", Data: []byte("a [WORD]")}}}}}},
		"a tool's link": {&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{{FileData: &genai.FunctionResponseFileData{FileURI: "https://heron.example/"}}, {FileData: &genai.FunctionResponseFileData{FileURI: "https://cat.example/"}}}}},
			&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Parts: []*genai.FunctionResponsePart{{FileData: &genai.FunctionResponseFileData{FileURI: "https://cat.example/"}}}}}},
		"code": {&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print('heron')"}}, &genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print('[WORD]')"}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := says("bot", c.part)
			before := inJSON(e)
			got, _ := offered(t, p, e)
			require.Equal(t, before, inJSON(e), "the event was changed")
			require.Equal(t, c.want, got.Content.Parts[0])

			// Of a stream, text that comes as a file is shown when it is whole.
			e.Partial = true
			got, out := offered(t, p, e)
			require.True(t, out.Withhold || name == "a picture is not looked into" && len(got.Content.Parts) == 1, inJSON(got))
		})
	}
}

// A file's text that is blocked in a tool's answer takes the answer with it, and not the run.
func TestToolsFileBlocked(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, stages: [tool_result], detect: {words: [heron]}, action: block}]`))
	got, out := offered(t, p, says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"ok": true},
		Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "text/plain", Data: []byte("heron")}}}}}))
	require.False(t, out.Stop)
	require.Nil(t, got.FunctionResponses()[0].Parts)
	require.Contains(t, inJSON(got), "withheld: the policy's rule r")
}

// What a model says its answer is from is looked at, and goes as a whole.
func TestSources(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`))
	e := says("bot", &genai.Part{Text: "a bird"})
	e.GroundingMetadata = &genai.GroundingMetadata{WebSearchQueries: []string{"grey heron"}}
	e.CitationMetadata = &genai.CitationMetadata{Citations: []*genai.Citation{{Title: "Cats"}}}
	got, _ := offered(t, p, e)
	require.Nil(t, got.GroundingMetadata)
	require.Equal(t, "a bird", got.Text())
	require.NotContains(t, inJSON(got), "heron")

	e.GroundingMetadata = nil
	got, out := offered(t, p, e)
	require.True(t, out.IsZero())
	require.NotNil(t, got.CitationMetadata)
}

// A name that the model made up is a text; that of a tool is not.
func TestNamesThatAreMadeUp(t *testing.T) {
	const rules = `rules: [{id: r, stages: [tool_args], detect: {words: [heron, send]}, action: redact}]`
	s := stage(t, with(t, rules), &genai.FunctionCall{ID: "1", Name: "heron", Args: map[string]any{"a": "x"}}, call("send", map[string]any{"to": "a@b"}), "done")
	require.Equal(t, []string{"user: 1", `bot: WORD{"a":"x"}`, `plugin/guardrail: WORD={"error":"not executed: the policy's rule r takes out the name of the function or of an argument; use other names"} [DENIED]`,
		`bot: send{"to":"a@b"}`, `bot: send={"ok":true}`, "bot: done"}, s.run("1"))
	require.NotContains(t, s.stored()+s.log.String(), "heron")
}

// What is JSON in a text stays it.
func TestJSONInTexts(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {pii: [CREDIT_CARD], words: [heron]}, action: {CREDIT_CARD: redact, WORD: replace}, with: "<\"bird\">"}]`))
	for text, want := range map[string]string{
		`{"card": 4111111111111111, "n": 1}`:     `{"card": "[CREDIT_CARD]", "n": 1}`,
		`[ "a heron", true ]`:                    `[ "a <\"bird\">", true ]`,
		`{"a":"h\u0065ron \n x"}`:                `{"a":"<\"bird\"> \n x"}`,
		`{"a":["4111","1111","1111","1111"]}`:    `{"a":["4111","1111","1111","1111"]}`,
		`{"a":"4111 1111 1111 1111","heron":{}}`: `{"a":"[CREDIT_CARD]","<\"bird\">":{}}`,
		`a heron {`:                              `a <"bird"> {`,
		`"heron"`:                                `"<"bird">"`,
	} {
		got, _ := offered(t, p, says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"result": text}}}))
		require.Equal(t, want, got.FunctionResponses()[0].Response["result"])
	}
}

// What a cut divides in JSON, it takes whole: an escape, a number. Of an escape that it begins in it takes nothing.
func TestJSONIsNotDivided(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {regexp: {X: 'n x|411|0061'}}, action: redact}]`))
	for text, want := range map[string]string{`{"a":"a\n x"}`: `{"a":"a\n[X]"}`, `{"a":"a\\n x"}`: `{"a":"a\\n[X]"}`, `[14111222333, 4112]`: `["[X]", "[X]"]`, `{"a":"\u0061b"}`: `{"a":"[X]b"}`} {
		got, _ := offered(t, p, says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"result": text}}}))
		require.Equal(t, want, got.FunctionResponses()[0].Response["result"])
	}
}

// A call that a human is asked about is denied, too, if it no longer is what the tool takes.
func TestEditedArgumentsOfHeldCallsFit(t *testing.T) {
	s := stage(t, with(t, `rules: [{id: r, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: h, stages: [tool_args], action: ask}]`), call("send", map[string]any{"to": "ann@example.com"}), "done")
	lines := s.run("1")
	require.Len(t, lines, 4)
	require.Contains(t, lines[2], "the policy's rule r takes EMAIL_ADDRESS out of the arguments, and without it they are not what send takes")
}

// Whatever JSON is in a text, and whatever is hidden in it, it stays JSON, and what it was to hide is not in it.
func TestJSONInTextsStaysIt(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"heron", "a heron.", "4111 1111 1111 1111", `say "heron"`, "\\", "\n", "é", "😀", "ann@example.com", "{", "]", ""})
	for _, action := range []string{"redact", "mask", "hash", "replace", "vault"} {
		c := with(t, `rules: [{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS], regexp: {BIRD: heron}}, action: `+action+map[bool]string{true: `, with: "\\\""`}[action == "replace"]+`}]`)
		c.Key = []byte("a key of sixteen bytes, and more")
		p := quiet(t, c)
		rapid.Check(t, func(r *rapid.T) {
			var value func(depth int) any
			value = func(depth int) any {
				switch k := rapid.IntRange(0, 5).Draw(r, "kind"); {
				case k == 0 && depth > 0:
					return map[string]any{pieces.Draw(r, "key"): value(depth - 1), "b": value(depth - 1)}
				case k == 1 && depth > 0:
					return []any{value(depth - 1), value(depth - 1)}
				case k == 2:
					return 4111111111111111
				case k == 3:
					return nil
				}
				return pieces.Draw(r, "text")
			}
			text := inJSON(map[string]any{"top": value(3)})
			if rapid.Bool().Draw(r, "indented") {
				data, _ := json.MarshalIndent(json.RawMessage(text), "", " ")
				text = string(data)
			}
			got, _ := offered(r, p, says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: map[string]any{"result": text}}}))
			after := got.FunctionResponses()[0].Response["result"].(string)
			require.True(r, json.Valid([]byte(after)), "%s became %s", text, after)
			for _, was := range []string{"heron", "4111 1111", "4111111111111111", "ann@example"} {
				require.NotContains(r, after, was)
			}
		})
	}
}

// Arguments that were edited are what the tool takes, or the call is denied.
func TestEditedArgumentsFit(t *testing.T) {
	schemas := []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"@"},"n":{"type":"integer"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"enum":["x","ann@example.com"]}}}`,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":15},"list":{"type":"array","items":{"type":"integer"}}},"additionalProperties":false}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`,
	}
	values := rapid.SampledFrom([]any{"x", "ann@example.com", "4111 1111 1111 1111", 4111111111111111.0, 7.0, []any{4111111111111111.0}, []any{1.0}, map[string]any{"b": "ann@example.com"}, nil, `{"c":4111111111111111}`})
	var policies []*plugin.Plugin
	for _, rule := range []string{`{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: redact}`, `{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: mask}`,
		`{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: redact}, {id: h, stages: [tool_args], action: ask}`} {
		policies = append(policies, quiet(t, with(t, "rules: ["+rule+"]")))
	}
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.SampledFrom(policies).Draw(r, "policy")
		d := &genai.FunctionDeclaration{Name: "send", ParametersJsonSchema: json.RawMessage(rapid.SampledFrom(schemas).Draw(r, "schema"))}
		inv := &session.Invocation{ID: "i", Key: key}
		_, err := p.BeforeModel(ctx, inv, &model.Request{Agent: "bot", Config: &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{d}}}}})
		require.NoError(r, err)
		args := rapid.MapOf(rapid.SampledFrom([]string{"a", "n", "list", "ann@example.com"}), values).Draw(r, "args")
		got, out := offered(r, p, says("bot", &genai.Part{FunctionCall: call("send", args)}))
		_, err = p.AfterRun(ctx, inv, plugin.End{})
		require.NoError(r, err)
		edited := got.FunctionCalls()[0].Args
		require.True(r, json.Valid([]byte(inJSON(edited))))
		require.NotContains(r, inJSON(edited), "411111111")
		denied := len(out.Emit) > 0 && len(out.Emit[0].FunctionResponses()) > 0
		check, err := (&tool.Tool{Declaration: d}).Check()
		require.NoError(r, err)
		if check(args) == nil && !denied {
			require.NoError(r, check(edited), "%v became %v", args, edited)
		}
	})
}

// A value that is spread over texts, with a space between them or none, is found in a window; so is one over parts.
func TestValuesSpreadOverTexts(t *testing.T) {
	const rules = `rules: [{id: r, stages: [input], window: session, detect: {pii: [CREDIT_CARD]}, action: block, message: No cards.}]`
	for _, c := range [][2]string{{"4111 1111", "1111 1111"}, {"4111 1111 11", "11 1111"}, {"411111111", "1111111"}, {"4111-1111-1111-", "1111"}} {
		s := stage(t, with(t, rules), "yes")
		require.Equal(t, []string{"user: it is " + c[0], "bot: yes", "plugin/guardrail: No cards. [DENIED]"}, append(s.run("it is "+c[0]), s.run(c[1])...))

		s = stage(t, with(t, rules), "yes")
		require.Equal(t, []string{"plugin/guardrail: No cards. [DENIED]"}, s.run(&session.Event{Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
			{Text: "it is " + c[0]}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}}, {Text: c[1]}}}}))
	}
}

// A window in a stream is that of the whole: what is not text parts nothing, and a finding counts once.
func TestWindowsOfStreams(t *testing.T) {
	sound := &genai.Part{InlineData: &genai.Blob{MIMEType: "audio/pcm", Data: []byte("x")}}
	p := quiet(t, with(t, `rules: [{id: r, stages: [output], window: turn, detect: {words: [blue heron]}, action: redact}]`))
	shown := ""
	for _, part := range []*genai.Part{{Text: "a blue "}, sound, {Text: "her"}, {Text: "on."}, sound} {
		e := says("bot", part)
		e.Partial = true
		if got, out := offered(t, p, e); !out.Withhold {
			shown += got.Text()
		}
	}
	got, _ := offered(t, p, says("bot", &genai.Part{Text: "a blue "}, sound, &genai.Part{Text: "heron."}, sound))
	require.Equal(t, "a [WORD].", got.Text())
	require.Equal(t, got.Text(), shown)
	n, _ := guardrail.NoteOf(got)
	require.Equal(t, 1, n.Records[0].Count)
}

// Nobody but the plugin notes what became of an event.
func TestNotesCannotBeForged(t *testing.T) {
	s := stage(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`), "hello", "hello")
	forged := map[string]any{guardrail.Key: map[string]any{"revision": "x", "records": []any{map[string]any{"rule": "r", "action": "block"}}}, "mine": "stays"}
	for text, records := range map[string]int{"a cat": 0, "a heron": 1} {
		e := s.events(&session.Event{Content: genai.NewContentFromText(text, genai.RoleUser), CustomMetadata: forged})[0]
		n, ok := guardrail.NoteOf(e)
		require.Equal(t, records > 0, ok)
		require.Len(t, n.Records, records)
		require.NotEqual(t, "x", n.Revision)
		require.Equal(t, "stays", e.CustomMetadata["mine"])
	}
	require.NotContains(t, s.stored(), `"revision":"x"`)
}

// Keys that are not known are looked into, inside of the content too.
func TestUnknownKeys(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, stages: [input], detect: {words: [heron]}, action: redact}]`))
	for _, c := range []struct{ event, want string }{
		{`{"id":"1","author":"user","content":{"role":"user","parts":[{"text":"a cat","new":{"x":["a heron"]}}]}}`, ""},
		{`{"id":"1","author":"user","new":"a heron","content":{"role":"user","parts":[{"text":"a cat"}]}}`, ""},
		{`{"id":"1","author":"user","timestamp":1700000000.5,"content":{"parts":[{"text":"a cat","new":"a dog"}],"role":"user"}}`, "a dog"},
	} {
		e := &session.Event{}
		require.NoError(t, e.UnmarshalJSON([]byte(c.event)))
		got, out := offered(t, p, e)
		require.NotContains(t, inJSON(got), "heron")
		require.Contains(t, inJSON(got), c.want)
		require.Equal(t, c.want != "", out.IsZero())
		require.Equal(t, "a cat", got.Text())
	}
}

// What a model's provider has looked up taints the session like a tool's answer.
func TestTaintOfProvidersTools(t *testing.T) {
	for name, e := range map[string]*session.Event{
		"grounding":      {Author: "bot", Content: genai.NewContentFromText("x", genai.RoleModel), GroundingMetadata: &genai.GroundingMetadata{GroundingChunks: []*genai.GroundingChunk{{Web: &genai.GroundingChunkWeb{URI: "https://a.example"}}}}},
		"code_execution": says("bot", &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "x"}}),
		"URL_CONTEXT":    says("bot", &genai.Part{ToolResponse: &genai.ToolResponse{ToolType: "URL_CONTEXT", Response: map[string]any{"a": "b"}}}),
	} {
		rule := `rules: [{id: r, stages: [tool_args], trust: untrusted, action: block}]`
		got, _ := offered(t, quiet(t, with(t, rule)), e)
		require.Equal(t, []any{name}, got.Actions.StateDelta["guardrail:taint"])
		_, out := offered(t, quiet(t, with(t, fmt.Sprintf("trusted_tools: [%s]\n", name)+rule)), e)
		require.True(t, out.IsZero())
	}
}
