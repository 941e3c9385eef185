package pattern_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		form, text string
		want       pattern.Match
	}{
		{"[a-z]{3}", "abc.", pattern.Match{End: 3, OK: true}},
		{"[a-z]{3}", "abc", pattern.Match{End: 3, OK: true, Open: true}},
		{"[a-z]{3}", "ab", pattern.Match{End: 2, Open: true}},
		{"[a-z]{3}", "abcd", pattern.Match{}},
		{"[a-z]{3}", "abc9", pattern.Match{}},
		{"[a-z]{3}", "ab.", pattern.Match{}},
		{"[a-z]{2,4}-[0-9]", "abc-1 ", pattern.Match{End: 5, OK: true}},
		{"[a-z]{2,4}-[0-9]", "abc-", pattern.Match{End: 4, Open: true}},
		{"[a-z]{2}[=]{0,2}", "ab", pattern.Match{End: 2, OK: true, Open: true}},
		{"[a-z]xyz", "axy", pattern.Match{Open: true}},
		{"[a-z-]{3}", "a-b-", pattern.Match{}},
	} {
		require.Equal(t, c.want, pattern.MustParse(c.form).Match(c.text, 0), "%s at %s", c.form,
			c.text)
	}
	require.True(t, pattern.MustParse("<uuid>").MatchAll("3f2504e0-4f89-41d3-9a0c-0305e82c3301"))
	require.False(t, pattern.MustParse("<uuid>").MatchAll("3f2504e0-4f89-41d3-9a0c-0305e82c3301."))
}

func TestFormsThatAreWrong(t *testing.T) {
	for _, form := range []string{"[a-z", "[a-z]{3", "[a-z]{x}", "[a-z]{3,x}", "[a-z]{4,3}"} {
		require.Panics(t, func() { pattern.MustParse(form) }, form)
	}
}
