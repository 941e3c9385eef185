package guardrail_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// A number of nine digits is the shortest that is looked at: a social security number without its
// dashes.
func TestNumbersOfNineDigits(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {pii: [US_SSN]}, action: redact}]`))
	for _, number := range []any{536904399, int64(536904399), 536904399.0} {
		got, _ := offered(t, p, says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "f",
				Response: map[string]any{"ssn": number},
			},
		}))
		require.Equal(t, map[string]any{"ssn": "[US_SSN]"}, got.FunctionResponses()[0].Response,
			"%T", number)
	}
}

// Keys that become the same stay apart.
func TestKeysThatBecomeTheSame(t *testing.T) {
	p := quiet(t, with(t, herons))
	for _, c := range []struct{ was, want map[string]any }{
		{
			map[string]any{"heron": 1, "Heron": 2, "HERON": 3},
			map[string]any{"[WORD]": 3, "[WORD] 2": 2, "[WORD] 3": 1},
		},
		{map[string]any{"heron": 1, "[WORD]": 2}, map[string]any{"[WORD]": 2, "[WORD] 2": 1}},
	} {
		got, _ := offered(t, p, says("bot",
			&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f", Response: c.was}}))
		require.Equal(t, c.want, got.FunctionResponses()[0].Response)
	}
}

// What is JSON in a text stays it.
func TestJSONInTexts(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: r, detect: {pii: [CREDIT_CARD], words: [heron]}, action: {CREDIT_CARD: redact, WORD: replace}, with: "<\"bird\">"}]`,
	))
	for text, want := range map[string]string{
		`{"card": 4111111111111111, "n": 1}`:     `{"card": "[CREDIT_CARD]", "n": 1}`,
		`[ "a heron", true ]`:                    `[ "a <\"bird\">", true ]`,
		`{"a":"h\u0065ron \n x"}`:                `{"a":"<\"bird\"> \n x"}`,
		`{"a":["4111","1111","1111","1111"]}`:    `{"a":["4111","1111","1111","1111"]}`,
		`{"a":"4111 1111 1111 1111","heron":{}}`: `{"a":"[CREDIT_CARD]","<\"bird\">":{}}`,
		`a heron {`:                              `a <"bird"> {`,
		`"heron"`:                                `"<"bird">"`,
	} {
		got, _ := offered(t, p, says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "f",
				Response: map[string]any{"result": text},
			},
		}))
		require.Equal(t, want, got.FunctionResponses()[0].Response["result"])
	}
}

// What a cut divides in JSON, it takes whole: an escape, a number. Of an escape that it begins in
// it takes nothing.
func TestJSONIsNotDivided(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: r, detect: {regexp: {X: 'n x|411|0061'}}, action: redact}]`))
	for text, want := range map[string]string{
		`{"a":"a\n x"}`:       `{"a":"a\n[X]"}`,
		`{"a":"a\\n x"}`:      `{"a":"a\\n[X]"}`,
		`[14111222333, 4112]`: `["[X]", "[X]"]`,
		`{"a":"\u0061b"}`:     `{"a":"[X]b"}`,
	} {
		got, _ := offered(t, p, says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				Name:     "f",
				Response: map[string]any{"result": text},
			},
		}))
		require.Equal(t, want, got.FunctionResponses()[0].Response["result"])
	}
}

// Whatever JSON is in a text, and whatever is hidden in it, it stays JSON, and what it was to hide
// is not in it.
func TestJSONInTextsStaysIt(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"heron",
		"a heron.",
		"4111 1111 1111 1111",
		`say "heron"`,
		"\\",
		"\n",
		"é",
		"😀",
		"ann@example.com",
		"{",
		"]",
		"",
	})
	for _, action := range []string{"redact", "mask", "hash", "replace", "vault"} {
		c := with(
			t,
			`rules: [{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS], regexp: {BIRD: heron}}, action: `+action+map[bool]string{
				true: `, with: "\\\""`,
			}[action == "replace"]+`}]`,
		)
		c.Key = []byte("a key of sixteen bytes, and more")
		p := quiet(t, c)
		rapid.Check(t, func(r *rapid.T) {
			var value func(depth int) any
			value = func(depth int) any {
				switch k := rapid.IntRange(0, 5).Draw(r, "kind"); {
				case k == 0 && depth > 0:
					return map[string]any{
						pieces.Draw(r, "key"): value(depth - 1),
						"b":                   value(depth - 1),
					}
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
			got, _ := offered(r, p, says("bot", &genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name:     "f",
					Response: map[string]any{"result": text},
				},
			}))
			after := got.FunctionResponses()[0].Response["result"].(string)
			require.True(r, json.Valid([]byte(after)), "%s became %s", text, after)
			for _, was := range []string{"heron", "4111 1111", "4111111111111111", "ann@example"} {
				require.NotContains(r, after, was)
			}
		})
	}
}
