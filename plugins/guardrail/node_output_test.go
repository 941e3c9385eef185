package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// ended returns the event that ends a node's run with an output.
func ended(output any) *session.Event {
	return &session.Event{
		Author:   "desk",
		Output:   output,
		NodeInfo: &session.NodeInfo{Path: "desk@i/sort@1", Ended: true},
	}
}

// The output of a workflow's node is judged by the rules about agents' texts and by those about
// tools' answers. What is left has the shape that it had, and the event still ends the run.
func TestOutputOfANode(t *testing.T) {
	const card = "4111111111111111"
	for _, stage := range []string{"output", "tool_result"} {
		p := quiet(t, with(t,
			`rules: [{id: c, stages: [`+stage+`], detect: {pii: [CREDIT_CARD]}, action: redact}]`))
		for name, c := range map[string]struct{ output, want any }{
			"a text": {"pay with " + card, "pay with [CREDIT_CARD]"},
			"a list": {
				[]any{1.0, nil, []any{card, true}},
				[]any{1.0, nil, []any{"[CREDIT_CARD]", true}},
			},
			"an object": {map[string]any{"a": map[string]any{"b": card, "n": 0.0}, "c": []any{}},
				map[string]any{"a": map[string]any{"b": "[CREDIT_CARD]", "n": 0.0}, "c": []any{}}},
		} {
			e := ended(c.output)
			e.Actions.Route = "next"
			got, out := offered(t, p, e)
			require.NotNil(t, out.Replace, "%s: %s", stage, name)
			require.Equal(t, c.want, got.Output, "%s: %s", stage, name)
			require.Equal(t, e.NodeInfo, got.NodeInfo)
			require.Equal(t, "next", got.Actions.Route)
		}
		for _, output := range []any{0.0, "", false, []any{}, map[string]any{}, "fine"} {
			_, out := offered(t, p, ended(output))
			require.Nil(t, out.Replace, "%s: %v", stage, output)
		}

		// A blocked output is no output: a refusal takes the place of the event.
		p = quiet(t, with(t,
			`rules: [{id: c, stages: [`+stage+`], detect: {pii: [CREDIT_CARD]}, action: block}]`))
		_, out := offered(t, p, ended([]any{card}))
		require.True(t, out.Withhold && out.Stop, stage)
		require.Nil(t, out.Emit[0].NodeInfo)
		require.NotContains(t, inJSON(out.Emit[0]), card)
	}

	// Rules of other stages are not about it.
	p := quiet(t, with(
		t,
		`rules: [{id: c, stages: [input, tool_args, summary], detect: {pii: [CREDIT_CARD]}, action: block}]`,
	))
	_, out := offered(t, p, ended(card))
	require.False(t, out.Withhold)
}
