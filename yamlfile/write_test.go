package yamlfile_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// oddTexts are what people, programs and attackers write, and what YAML takes for something else.
var oddTexts = []string{
	"", " ", "\t", "\n", "\r", "\n\n", "a", "yes", "N", "null", "~", "1.0", "1e3", "1e-7", "012", "08",
	"0x1f", "1_000", "12:30:45", ".inf", "2024-01-01",
	"- a", "# x", "a: b", "a:", "a #b", "'q'", `"q"`, "{a: 1}", "[x]", "&a", "*a", "!t", "|", "> x",
	"%x", "@x", "`x`", "? x", "<<", "=", ",",
	" lead", "trail ", "two  blanks", "a\tb", "a\nb", "\ta\n\tb", "  a\n b", "a\n", "a\r\nb", "a\rb",
	"--- x", "---\nx", "...\nx", `\n`, `\`, "{{.user}}", "${HOME}",
	"a\u2028b", "a\u2029b", "a\u0085b", "\ufeffx", "\u200b", "\x00", "\x1b[31mred", "\x7f", "\ufffe",
	"\U0001f600", "é", "\u202eabc", "x\u00a0", "What is it?",
}

// values makes JSON values of odd texts and numbers.
func values() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.SampledFrom(oddTexts), rapid.String())
	numbers := []json.Number{
		"0", "-1", "1e-7", "1E+21", "1.5e300", "5e-324", "0.1",
		"100000000000000000000", "9007199254740993", "-9223372036854775809",
	}
	leaf := rapid.OneOf(rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom(numbers), func(n json.Number) any { return n }),
		rapid.SampledFrom([]any{true, false, nil}))
	v := leaf
	for range 3 {
		v = rapid.OneOf(leaf, v,
			rapid.Map(rapid.SliceOfN(v, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(text, v, 0, 3), func(m map[string]any) any { return m }))
	}
	return v
}

// What Write writes, Read reads to the same values.
func TestWriteIsRead(t *testing.T) {
	holds := func(t require.TestingT, v any) {
		file, err := yamlfile.Write(map[string]any{"v": v})
		require.NoError(t, err)
		var back struct {
			V any `yaml:"v" json:"v"`
		}
		_, err = yamlfile.Read("f.yaml", file, &back)
		require.NoError(t, err, "%s", file)
		plain := func(v any) any {
			data, err := json.Marshal(v)
			require.NoError(t, err)
			v, err = session.DecodeValue(data)
			require.NoError(t, err)
			return v
		}
		require.Equal(t, plain(v), plain(back.V), "%s", file)
	}
	for _, text := range oddTexts {
		holds(t, []any{text, map[string]any{text: text}})
	}
	rapid.Check(t, func(t *rapid.T) { holds(t, values().Draw(t, "value")) })
}

func TestWrite(t *testing.T) {
	file, err := yamlfile.Write([]any{
		map[string]any{"a": []any{1, []any{"x", "y: z"}, map[string]any{}}, "b": map[string]any{"c": []any{}}}, nil, 1e-7,
	})
	require.NoError(t, err)
	require.Equal(t, `- a:
    - 1
    - - x
      - "y: z"
    - {}
  b:
    c: []
- null
- 1.0e-7
`, string(file))
}
