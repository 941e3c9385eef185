package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// A card's number is found however its groups are joined, and wherever it is cut in a stream.
func TestCardsHoweverTheirGroupsAreJoined(t *testing.T) {
	p := quiet(t, with(t, "rules: [{id: c, detect: {pii: [CREDIT_CARD]}, action: redact}]"))
	for _, number := range []string{
		"4111+1111+1111+1111",
		"4111 - 1111 - 1111 - 1111",
		"4111111111111111.0",
		"4111111111111111.00",
		strings.Join(strings.Split("4111111111111111", ""), " "),
	} {
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.SampledFrom([]string{"", "a, ", "paid\nwith "}).
				Draw(t, "before") +
				number + rapid.SampledFrom([]string{"", ", b", "\nthanks"}).
				Draw(t, "after")
			cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
			_, whole := streamed(t, p, text[:cut], text[cut:])
			require.Contains(t, whole, "[CREDIT_CARD]")
			require.NotContains(t, whole, "1111")
		})
	}
}

// A key that says nothing of what stands under it, such as value, has the name of the object around
// it.
func TestKeysOneObjectFurtherOut(t *testing.T) {
	p := quiet(t, guardrail.Config{Key: []byte("a key of sixteen bytes, and more")})
	for _, args := range []map[string]any{
		{
			"password": map[string]any{"value": "Tr0ub4dor3"},
		}, {
			"passwords": []any{"Tr0ub4dor3"},
		}, {"passwords": map[string]any{"values": []any{"Tr0ub4dor3"}}},
	} {
		e := says("bot",
			&genai.Part{FunctionCall: &genai.FunctionCall{ID: "1", Name: "save", Args: args}})
		got, _ := offered(t, p, e)
		require.NotContains(t, string(mustJSON(t, got)), "Tr0ub4dor3")
	}
}

// What is shown backwards, and what stands unseen beside letters, is read as it is meant.
func TestUnseenAndBackwards(t *testing.T) {
	p := parse(t, "rules: [{id: w, detect: {words: [blue heron]}, action: redact}]")
	tags := func(s string) string {
		return strings.Map(func(r rune) rune { return 0xe0000 + r }, s)
	}
	for _, text := range []string{
		"hi" + tags("blue heron"), "a " + tags("blue heron") + " b", "x \u202enoreh eulb\u202c y", "\u202enoreh eulb", "\u202enoreh eulb\nmore",
	} {
		require.Equal(t, policy.Redact, p.Judge(policy.Output, policy.Scope{}, text).Action, "%q",
			text)
		hooks := quiet(t,
			with(t, "rules: [{id: w, detect: {words: [blue heron]}, action: redact}]"))
		for cut := range len(text) {
			streamed(t, hooks, text[:cut], text[cut:])
		}
	}
}

func mustJSON(t *testing.T, e *session.Event) []byte {
	data, err := e.MarshalJSON()
	require.NoError(t, err)
	return data
}
