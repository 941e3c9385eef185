package guardrail_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A call with a key that was taken out is denied, whatever else of it was.
func TestKeyAndValueTakenOut(t *testing.T) {
	p := quiet(t, with(t, herons))
	for _, args := range []map[string]any{
		{"heron": "x"},
		{"heron": "a heron"},
		{"heron": 1, "z": "a heron"},
		{"a": "a heron", "heron": 1},
	} {
		_, out := offered(t, p, says("bot", &genai.Part{FunctionCall: call("fetch", args)}))
		require.Len(t, out.Emit, 1, "%v", args)
		require.Contains(t, inJSON(out.Emit[0]),
			"takes out the name of the function or of an argument", "%v", args)
	}
}

// Arguments that were wrong before they were edited are the tool's to refuse: the policy is not to
// blame.
func TestArgumentsThatNeverFit(t *testing.T) {
	for name, c := range map[string]struct {
		args   map[string]any
		denied bool
	}{
		"wrong before":   {map[string]any{"text": "a heron"}, false},
		"right before":   {map[string]any{"to": "a@b", "text": "a heron"}, false},
		"wrong by it":    {map[string]any{"to": "ann@example.com"}, true},
		"wrong for both": {map[string]any{"to": 1, "text": "ann@example.com"}, false},
	} {
		s := stage(
			t,
			with(
				t,
				`rules: [{id: r, stages: [tool_args], detect: {words: [heron], pii: [EMAIL_ADDRESS]}, action: redact}]`,
			),
			call("send", c.args),
			"done",
		)
		lines := strings.Join(s.run("1"), "\n")
		require.Equal(t, c.denied, strings.Contains(lines, "the policy's rule"), "%s: %s", name,
			lines)
	}
}

// A call that a human is asked about is denied, too, if it no longer is what the tool takes.
func TestEditedArgumentsOfHeldCallsFit(t *testing.T) {
	s := stage(
		t,
		with(
			t,
			`rules: [{id: r, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: h, stages: [tool_args], action: ask}]`,
		),
		call("send", map[string]any{"to": "ann@example.com"}),
		"done",
	)
	lines := s.run("1")
	require.Len(t, lines, 4)
	require.Contains(
		t,
		lines[2],
		"the policy's rule r takes EMAIL_ADDRESS out of the arguments, and without it they are not what send takes",
	)
}

// Arguments that were edited are what the tool takes, or the call is denied.
func TestEditedArgumentsFit(t *testing.T) {
	schemas := []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"@"},"n":{"type":"integer"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"enum":["x","ann@example.com"]}}}`,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":15},"list":{"type":"array","items":{"type":"integer"}}},"additionalProperties":false}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`,
	}
	values := rapid.SampledFrom([]any{
		"x",
		"ann@example.com",
		"4111 1111 1111 1111",
		4111111111111111.0,
		7.0,
		[]any{4111111111111111.0},
		[]any{1.0},
		map[string]any{"b": "ann@example.com"},
		nil,
		`{"c":4111111111111111}`,
	})
	var policies []*plugin.Plugin
	for _, rule := range []string{
		`{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: redact}`,
		`{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: mask}`,
		`{id: r, detect: {pii: [CREDIT_CARD, EMAIL_ADDRESS]}, action: redact}, {id: h, stages: [tool_args], action: ask}`,
	} {
		policies = append(policies, quiet(t, with(t, "rules: ["+rule+"]")))
	}
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.SampledFrom(policies).Draw(r, "policy")
		d := &genai.FunctionDeclaration{
			Name:                 "send",
			ParametersJsonSchema: json.RawMessage(rapid.SampledFrom(schemas).Draw(r, "schema")),
		}
		inv := &session.Invocation{ID: "i", Key: key}
		_, err := p.BeforeModel(ctx, inv, &model.Request{
			Agent: "bot",
			Config: &genai.GenerateContentConfig{
				Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{d}}},
			},
		})
		require.NoError(r, err)
		args := rapid.MapOf(rapid.SampledFrom([]string{
			"a",
			"n",
			"list",
			"ann@example.com",
		}), values).
			Draw(r, "args")
		got, out := offered(r, p, says("bot", &genai.Part{FunctionCall: call("send", args)}))
		_, err = p.AfterRun(ctx, inv, plugin.End{})
		require.NoError(r, err)
		edited := got.FunctionCalls()[0].Args
		require.True(r, json.Valid([]byte(inJSON(edited))))
		require.NotContains(r, inJSON(edited), "411111111")
		denied := len(out.Emit) > 0 && len(out.Emit[0].FunctionResponses()) > 0
		check, err := (&tool.Tool{Declaration: d}).Check()
		require.NoError(r, err)
		if check(ctx, args) == nil && !denied {
			require.NoError(r, check(ctx, edited), "%v became %v", args, edited)
		}
	})
}
