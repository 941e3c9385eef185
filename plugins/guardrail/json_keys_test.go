package guardrail_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// Of keys that become the same, each stays one of its own, in answers and in what is JSON in their
// texts, however deep.
func TestKeysInJSON(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}]`))
	hidden := func(answer map[string]any) map[string]any {
		got, _ := offered(t, p, says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				ID:       "1",
				Name:     "fetch",
				Response: answer,
			},
		}))
		return got.FunctionResponses()[0].Response
	}
	for was, is := range map[string]string{
		`{"ann@b.example":1,"bob@b.example":2}`:                                                  `{"[EMAIL_ADDRESS]":1,"[EMAIL_ADDRESS] 2":2}`,
		`{"ann@b.example" : {"ann@b.example":[1,"x:"],"bob@b.example":{}}, "bob@b.example"	: 2}`: `{"[EMAIL_ADDRESS]" : {"[EMAIL_ADDRESS]":[1,"x:"],"[EMAIL_ADDRESS] 2":{}}, "[EMAIL_ADDRESS] 2"	: 2}`,
		`{"ann@b.example":1,"[EMAIL_ADDRESS]":2,"bob@b.example":3,"[EMAIL_ADDRESS] 2":4}`:        `{"[EMAIL_ADDRESS] 3":1,"[EMAIL_ADDRESS]":2,"[EMAIL_ADDRESS] 4":3,"[EMAIL_ADDRESS] 2":4}`,
		`{"ann@b.example":1,"\u005bEMAIL_ADDRESS\u005d":2}`:                                      `{"[EMAIL_ADDRESS] 2":1,"\u005bEMAIL_ADDRESS\u005d":2}`,
		`[{"ann@b.example":1},{"bob@b.example":2}]`:                                              `[{"[EMAIL_ADDRESS]":1},{"[EMAIL_ADDRESS]":2}]`,
		`["ann@b.example","bob@b.example",{"a":"ann@b.example","b":"bob@b.example"}]`:            `["[EMAIL_ADDRESS]","[EMAIL_ADDRESS]",{"a":"[EMAIL_ADDRESS]","b":"[EMAIL_ADDRESS]"}]`,
		`{"a":1,"a":"ann@b.example"}`:                                                            `{"a":1,"a":"[EMAIL_ADDRESS]"}`,
		`{"a":"{\"ann@b.example\":1,\"bob@b.example\":2}"}`:                                      `{"a":"{\"[EMAIL_ADDRESS]\":1,\"[EMAIL_ADDRESS] 2\":2}"}`,
		`{"a":"[{\"{}\":\"{\\\"ann@b.example\\\":1,\\\"bob@b.example\\\":2}\"}]"}`:               `{"a":"[{\"{}\":\"{\\\"[EMAIL_ADDRESS]\\\":1,\\\"[EMAIL_ADDRESS] 2\\\":2}\"}]"}`,
	} {
		require.Equal(t, is, hidden(map[string]any{"a": was})["a"], was)
	}
}

// An object has as many keys after something in it was hidden as before, whatever they are: as a
// value, and as a text.
func TestNoKeyIsLost(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: n, detect: {regexp: {N: '\d+'}}, action: replace, with: "2"}]`,
	))
	keys := rapid.SampledFrom([]string{
		"ann@b.example",
		"bob@b.example",
		"to ann@b.example",
		"[EMAIL_ADDRESS]",
		"[EMAIL_ADDRESS] 2",
		"[EMAIL_ADDRESS] 2 2",
		"a",
		"a\u2028\"",
		"1",
		"2",
		"2 2",
		"3 2",
		"2 3",
	})
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			object := map[string]any{}
			for _, key := range rapid.SliceOfNDistinct(keys, 0, 13, rapid.ID).Draw(t, "keys") {
				object[key] = "x"
				if depth > 0 {
					object[key] = value(depth - 1)
				}
			}
			if rapid.Bool().Draw(t, "JSON") {
				return inJSON(object)
			}
			return object
		}
		answer := map[string]any{"a": []any{value(2)}}
		got, _ := offered(t, p, says("bot", &genai.Part{
			FunctionResponse: &genai.FunctionResponse{
				ID:       "1",
				Name:     "fetch",
				Response: answer,
			},
		}))
		require.Equal(t, sizes(t, answer), sizes(t, got.FunctionResponses()[0].Response))
		require.NotContains(t, inJSON(got), "ann@")
	})
}

// sizes counts the objects in a value, and in what is JSON in its texts, by how many keys they
// have.
func sizes(t require.TestingT, value any) map[int]int {
	counts := map[int]int{}
	var count func(any)
	count = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			counts[len(v)]++
			for _, x := range v {
				count(x)
			}
		case []any:
			for _, x := range v {
				count(x)
			}
		case string:
			if v != "" && v[0] == '{' {
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(v), &object), v)
				count(object)
			}
		}
	}
	count(value)
	return counts
}
