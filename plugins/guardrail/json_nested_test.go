package guardrail_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// What stands in JSON that is a text begins and ends where its escapes do, in up to two layers of
// them.
func TestEscapesAreNoLetters(t *testing.T) {
	p := parse(
		t,
		`rules: [{id: p, detect: {pii: [CREDIT_CARD, IBAN_CODE, US_SSN, IP_ADDRESS]}, action: redact}, {id: s, detect: {secrets: default}, action: redact}]`,
	)
	for _, value := range []string{
		"4111111111111111",
		"DE89370400440532013000",
		"536-22-8726",
		"192.168.10.12",
		"gh\\u0070_" + token[4:],
	} {
		for _, escape := range []string{`\n`, `\t`, `\r\n`, `\b`, `\f`, `\/`, `\"`, `\\n`, `\\\"`} {
			text := `{"a":"pay` + escape + value + escape + `thanks"}`
			require.Equal(t, policy.Redact, p.Judge(policy.ToolArgs, policy.Scope{}, text).Action,
				text)
		}
	}
	two := `{"b":"{\"password\":\"x8Qm2ZtR5vKd9LwY3nBf7\"}"}`
	require.NotContains(t, p.Judge(policy.Output, policy.Scope{}, two).Text, "x8Qm2Zt")
	require.Equal(t, policy.Allow,
		p.Judge(policy.Output, policy.Scope{}, `C:\new\table \nu \beta \\server\share "\"`).Action)
}

// However deep JSON is in strings of JSON, all of it stays JSON, with the same shape, and nothing
// of what was to be hidden.
func TestNestedJSON(t *testing.T) {
	for _, action := range []string{"redact", "mask", "hash", "vault"} {
		c := with(
			t,
			`rules: [{id: h, detect: {regexp: {HERON: heron}}, action: `+action+`}, {id: p, detect: {pii: [CREDIT_CARD]}, action: redact}, {id: u, detect: {urls: {schemes: [https]}}, action: redact}]`,
		)
		c.Key = []byte("a key of sixteen bytes, and more")
		p := quiet(t, c)
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.Custom(func(t *rapid.T) string {
				return strings.Join(
					rapid.SliceOfN(rapid.SampledFrom([]string{
						"heron",
						"a",
						" ",
						"\"",
						"\\",
						"\n",
						"é",
						"😀",
						"<",
						"https://u:p@a.example/x",
						"4",
						"{",
						"]",
						"\x1b",
						"\u200b",
					}), 0, 6).
						Draw(t, "text"),
					"",
				)
			})
			var value func(depth int) any
			value = func(depth int) any {
				switch rapid.SampledFrom([]string{
					"text",
					"text",
					"number",
					"object",
					"list",
					"JSON",
				}).Draw(t, "kind") {
				case "number":
					return 4111111111111111.0
				case "object":
					if depth > 0 {
						return map[string]any{"k " + text.Draw(t, "key"): value(depth - 1)}
					}
				case "list":
					if depth > 0 {
						return []any{value(depth - 1), value(depth - 1)}
					}
				case "JSON":
					if depth > 0 {
						return inJSON([]any{value(depth - 1)})
					}
				}
				return text.Draw(t, "text")
			}
			args := map[string]any{"a": value(5)}
			got, _ := offered(t, p, says("bot", &genai.Part{FunctionCall: call("send", args)}))
			after := got.FunctionCalls()[0].Args
			sameShape(t, args, after)
			require.NotContains(t, inJSON(after), "heron")
			require.NotContains(t, inJSON(after), "411111111111")
		})
	}
}

// sameShape requires that objects, lists and JSON in texts are what they were.
func sameShape(t require.TestingT, was, is any) {
	switch was := was.(type) {
	case map[string]any:
		require.IsType(t, was, is)
		require.Len(t, is, len(was))
		for _, x := range was {
			for _, y := range is.(map[string]any) {
				sameShape(t, x, y)
			}
		}
	case []any:
		require.IsType(t, was, is)
		require.Len(t, is, len(was))
		for i := range was {
			sameShape(t, was[i], is.([]any)[i])
		}
	case string:
		var in, out []any
		if json.Unmarshal([]byte(was), &in) == nil && in != nil {
			require.NoError(t, json.Unmarshal([]byte(is.(string)), &out), "%s\n%s", was, is)
			sameShape(t, in, out)
		}
	}
}

// What is found behind an escape begins behind it: the escape stays one, and the value is the one
// that it is elsewhere.
func TestFindingsDivideNoEscape(t *testing.T) {
	c := with(t, `rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: hash}]`)
	p := quiet(t, c)
	hidden := func(text string) string {
		got, _ := offered(t, p, says("bot", &genai.Part{Text: text}))
		return got.Text()
	}
	mark := hidden("ann@example.com")
	require.NotContains(t, mark, "ann")
	for _, escape := range []string{
		`\n`,
		`\t`,
		`\r\n`,
		`\b`,
		`\f`,
		`\"`,
		`\\`,
		`\/`,
		`\u003a`,
		`\u003C`,
		`\\n`,
		`\\\n`,
	} {
		for _, before := range []string{"", "x", "x "} {
			text := `{"a":"` + before + escape + `ann@example.com` + escape + `x"}`
			require.Equal(t, strings.Replace(text, "ann@example.com", mark, 1), hidden(text), text)
		}
	}
}

// A value has the fingerprint that it has alone, wherever it stands, and what reaches over strings
// of JSON is cut from each.
func TestValuesInJSON(t *testing.T) {
	marks := func(answer map[string]any) []string {
		c := with(
			t,
			`rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: w, detect: {regexp: {THING: 'aaa.*bbb'}}, action: redact}]`,
		)
		c.Key = []byte("a key of sixteen bytes, and more")
		got, _ := offered(t, quiet(t, c), says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				ID:       "1",
				Name:     "fetch",
				Response: answer,
			},
		}))
		note, ok := guardrail.NoteOf(got)
		require.True(t, ok)
		require.NotContains(t, inJSON(got.FunctionResponses()[0].Response), "ann@b.example")
		return note.Records[0].Fingerprints
	}
	alone := marks(map[string]any{"a": "ann@b.example"})
	require.Len(t, alone, 1)
	for _, text := range []string{
		`{"a":"hello ann@b.example"}`,
		`{"a long name":["x","\u0061nn@b.example, or ann@b.example"]}`,
		`"[\"ann@b.example\"]"`,
		`["{\"a\":\"hello ann@b.example\"}"]`,
	} {
		require.Contains(t, marks(map[string]any{"a": text}), alone[0], text)
	}
	over := `["some longer text before it, aaa","x","y bbb"]`
	require.Len(t, marks(map[string]any{"a": over}), 1)
}

// JSON Lines stay JSON Lines: in a text, in a file, in a string of JSON.
func TestJSONLines(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: c, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: redact}]`))
	const was = "{\"n\":4111111111111111,\"ann@b.example\":1,\"bob@b.example\":2}\r\n\n[4111111111111111,{\"a\":\"\\u0061nn@b.example\"}]\n{}\n"
	const is = "{\"n\":\"[CREDIT_CARD]\",\"[EMAIL_ADDRESS]\":1,\"[EMAIL_ADDRESS] 2\":2}\r\n\n[\"[CREDIT_CARD]\",{\"a\":\"[EMAIL_ADDRESS]\"}]\n{}\n"
	file := &genai.FunctionResponsePart{
		InlineData: &genai.FunctionResponseBlob{
			MIMEType: "application/x-ndjson",
			Data:     []byte(was),
		},
	}
	got, _ := offered(
		t,
		p,
		says("bot", &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "fetch",
			Response: map[string]any{
				"a": was,
				"b": inJSON([]any{was}),
				"c": "{} 4111111111111111 {}",
				"d": "{} {4111111111111111}",
			}, Parts: []*genai.FunctionResponsePart{file}}}),
	)
	r := got.FunctionResponses()[0]
	require.Equal(
		t,
		map[string]any{
			"a": is,
			"b": inJSON([]any{is}),
			"c": "{} [CREDIT_CARD] {}",
			"d": "{} {[CREDIT_CARD]}",
		},
		r.Response,
	)
	require.Equal(t, is, string(r.Parts[0].InlineData.Data))
}
