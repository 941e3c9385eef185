package guardrail_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// What is not known here goes from an event with a value that is too deep, as from one that was
// edited.
func TestUnknownKeysOfADeepEvent(t *testing.T) {
	var deep any = "x"
	for range 1100 {
		deep = []any{deep}
	}
	p := quiet(t, with(t, herons))
	for value, kept := range map[string]bool{"deep": false, "flat": true} {
		e := says("bot", &genai.Part{Text: "a cat"})
		e.Extra = map[string]jsontext.Value{"new": jsontext.Value(`"x"`)}
		e.Actions.StateDelta = map[string]any{"k": map[string]any{"deep": deep, "flat": "x"}[value]}
		got, _ := offered(t, p, e)
		require.Equal(t, kept, got.Extra != nil, value)
		require.Equal(t, kept, !strings.Contains(inJSON(got.Actions.StateDelta), "TOO DEEP"), value)
	}
}

// Keys that are not known are looked into, inside of the content too.
func TestUnknownKeys(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: r, stages: [input], detect: {words: [heron]}, action: redact}]`))
	for _, c := range []struct{ event, want string }{
		{
			`{"id":"1","author":"user","content":{"role":"user","parts":[{"text":"a cat","new":{"x":["a heron"]}}]}}`,
			"",
		},
		{
			`{"id":"1","author":"user","new":"a heron","content":{"role":"user","parts":[{"text":"a cat"}]}}`,
			"",
		},
		{
			`{"id":"1","author":"user","timestamp":1700000000.5,"content":{"parts":[{"text":"a cat","new":"a dog"}],"role":"user"}}`,
			"a dog",
		},
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
