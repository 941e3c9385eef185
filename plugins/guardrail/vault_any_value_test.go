package guardrail_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/tool"
)

// A tool with the vault gets what the arguments said before anything in them was hidden, in
// whatever JSON, and in whatever layer of it.
func TestVaultOpensWhatItHid(t *testing.T) {
	c := with(
		t,
		`rules: [{id: s, detect: {secrets: default}, action: vault}, {id: p, detect: {pii: default}, action: vault}, {id: r, detect: {regexp: {V: 'a.?b'}}, action: vault}]`,
	)
	c.Key = []byte("a key of sixteen bytes, and more")
	p := quiet(t, c)
	v, err := guardrail.NewVault(c.Key)
	require.NoError(t, err)
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.ToValidUTF8(
			strings.Join(
				rapid.SliceOfN(rapid.OneOf(pieces, rapid.SampledFrom([]string{
					`"`,
					`\`,
					"a&b",
					"a\"b",
					"<",
					`a\b`,
					"{",
					"]",
				})), 0, 5).
					Draw(t, "pieces"),
				"",
			),
			"",
		)
	})
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			kind := rapid.SampledFrom([]string{"text", "text", "object", "list", "JSON"}).
				Draw(t, "kind")
			switch {
			case depth == 0 || kind == "text":
				return text.Draw(t, "text")
			case kind == "object":
				return map[string]any{"c": value(depth - 1), "d": value(depth - 1)}
			case kind == "list":
				return []any{value(depth - 1), value(depth - 1)}
			}
			return inJSON([]any{value(depth - 1)})
		}
		args := map[string]any{"x": value(4)}
		got, _ := offered(t, p, says("bot", &genai.Part{FunctionCall: call("send", args)}))
		var ran map[string]any
		_, err := v.Tool(&tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: "send"},
			Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
				ran = c.Args
				return nil, nil
			},
		}).
			Run(ctx, &tool.Call{Args: got.FunctionCalls()[0].Args})
		require.NoError(t, err)
		require.Equal(t, meant(args), meant(ran))
	})
}

// meant is a value with what is JSON in its texts as values, for there is more than one way to
// write it.
func meant(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for name, x := range v {
			all[name] = meant(x)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = meant(x)
		}
		return all
	case string:
		var list []any
		if json.Unmarshal([]byte(v), &list) == nil && list != nil {
			return meant(list)
		}
	}
	return value
}
