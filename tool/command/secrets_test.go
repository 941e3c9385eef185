//go:build unix

package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
)

func TestSecretsAreHidden(t *testing.T) {
	t.Setenv("PASSED_KEY", "sesame-street")
	given := func(env ...string) func(*command.Config) { return func(c *command.Config) { c.Env = env } }
	for name, tc := range map[string]struct {
		env    []string
		script string
		want   any
	}{
		"set":                               {[]string{"KEY=sesame"}, `echo "it is $KEY"`, "it is [KEY]"},
		"passed on":                         {[]string{"PASSED_KEY"}, `echo "it is $PASSED_KEY"`, "it is [PASSED_KEY]"},
		"in a JSON value":                   {[]string{"KEY=sesame"}, `printf '[{"a":"x %s"},{"%s":1}]' $KEY $KEY`, []any{map[string]any{"a": "x [KEY]"}, map[string]any{"[KEY]": 1.0}}},
		"a number":                          {[]string{"PIN=123456"}, `echo "[$PIN, 91234567, 12345]"`, []any{"[PIN]", "9[PIN]7", 12345.0}},
		"what JSON writes otherwise":        {[]string{`KEY=se"sa\me`}, `printf '["se\\"sa\\\\me"]'`, []any{"[KEY]"}},
		"that in a text":                    {[]string{`KEY=se"sa\me`}, `printf 'said "se\\"sa\\\\me"'`, `said "[KEY]"`},
		"in a URL":                          {[]string{"KEY=a&b/c+d"}, "echo 'http://x/?key=a%26b%2Fc%2Bd'", "http://x/?key=[KEY]"},
		"in a string with \\u0026":          {[]string{"KEY=p&ssword"}, `printf '%s' '{"a": p\u0026ssword'`, `{"a": [KEY]`},
		"in base64 and hex":                 {[]string{"KEY=sesame"}, `printf "user:$KEY" | base64; printf $KEY | od -An -tx1 | tr -d ' '`, "dXNlcj[KEY]\n[KEY]"},
		"a line of several":                 {[]string{"KEY=--begin\nc2VzYW1l\n--end\n"}, `echo "$KEY" | sed 's/^/> /'`, "> [KEY]\n> [KEY]\n> --end\n>"},
		"several lines":                     {[]string{"KEY=a\nb\nc\nd\n"}, `echo "$KEY"`, "[KEY]"},
		"the longer one of two":             {[]string{"A=sesame", "B=sesame-street", "C=sesame-s"}, `echo $C $B $A`, "[C] [B] [A]"},
		"a short one is no key":             {[]string{"CITY=Paris"}, `echo $CITY`, "Paris"},
		"nor is what is always passed on":   {[]string{"HOME=/home/sesame", "PATH"}, `echo $HOME`, "/home/sesame"},
		"one that is not set hides no text": {[]string{"NOT_SET_ANYWHERE", "EMPTY="}, "echo fine", "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := shell(t, tc.script, given(tc.env...)).Run(t.Context(), &tool.Call{})
			require.NoError(t, err)
			require.Equal(t, map[string]any{"result": tc.want}, out)
		})
	}
	t.Run("an object", func(t *testing.T) {
		out, err := shell(t, `printf '{"key":"%s","id":9007199254740993}' $KEY`,
			given("KEY=sesame")).Run(t.Context(), &tool.Call{})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"key": "[KEY]", "id": json.Number("9007199254740993")}, out)
	})
	t.Run("an error", func(t *testing.T) {
		_, err := shell(t, `echo "401 for $KEY" >&2; exit 1`,
			given("KEY=sesame")).Run(t.Context(), &tool.Call{})
		require.EqualError(t, err, "exit status 1: 401 for [KEY]")
	})
}

// What remains of a long standard error has no rest of a value, wherever it was cut.
func TestSecretsThatAreCut(t *testing.T) {
	key := "abcdef\n" + strings.Repeat("ghijklmnopqrstuvwxyz", 10)
	rapid.Check(t, func(r *rapid.T) {
		after := rapid.IntRange(1800, 2100).Draw(r, "after")
		made := shell(t,
			fmt.Sprintf(`exec >&2; printf '%%03000d%%s' 0 "$KEY"; printf '%%%dd' 1; exit 1`, after),
			func(c *command.Config) { c.Env = []string{"KEY=" + key} })
		_, err := made.Run(t.Context(), &tool.Call{})
		require.Regexp(t, `^exit status 1: 0*(\[KEY\])? *1$`, err.Error())
	})
}
