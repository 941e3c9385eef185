package escape_test

import (
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/escape"
)

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		``:                              ``,
		`{"a":"é 日本 😀 \u001b"}` + "\n":  `{"a":"é 日本 😀 \u001b"}` + "\n",
		"\"\u009b31m\u007f\u0085\"":     `"\u009b31m\u007f\u0085"`,
		"\"\u202ered\u2066\u200e\u061c": `"\u202ered\u2066\u200e\u061c`,
		"{\"\u202ea\":1}\n[\"\u009b\"]": `{"\u202ea":1}` + "\n" + `["\u009b"]`,
		"\"\\\\\u009b\"":                `"\\\u009b"`,
		"\"\x9b\xff\"":                  `"\ufffd\ufffd"`,
		"\"\ufffd\"":                    "\"\ufffd\"",
	} {
		require.Equal(t, want, string(escape.JSON([]byte(text))))
	}
}

func TestTheValueStays(t *testing.T) {
	chars := rapid.SampledFrom([]rune(
		"ab\"\\\n\t\x1b\x7f\u0080\u009b\u009f\u00a0\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028日😀\ufffd",
	))
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.MapOf(rapid.StringOf(chars), rapid.SliceOf(rapid.StringOf(chars))).
			Draw(r, "value")
		text, err := json.Marshal(value)
		require.NoError(r, err)
		escaped := escape.JSON(text)
		require.True(r, utf8.Valid(escaped))
		for _, c := range string(escaped) {
			require.False(r, unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c), "%q", c)
		}
		var got map[string][]string
		require.NoError(r, json.Unmarshal(escaped, &got))
		require.Equal(r, value, got)
		require.Equal(r, string(escaped), string(escape.JSON(escaped)))
	})
}
