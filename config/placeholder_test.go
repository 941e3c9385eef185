package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// What comes to a node, and the state, are put into the texts of a file; alone in a text, a value
// keeps its type.
func TestPlaceholders(t *testing.T) {
	v := values{
		output: map[string]any{"city": "Paris", "days": 3.0, "of": []any{"tea", "milk"}},
		state: map[string]any{
			"n":         2.0,
			"user:name": "ada",
			"said":      `{"mood":"glad"}`,
			"none":      nil,
			"a.b":       "dotted",
		},
	}
	for text, want := range map[string]any{
		"{output.city}":           "Paris",
		"{output.days}":           3.0,
		"{output.of.1}":           "milk",
		"to {output.city}":        "to Paris",
		"{n}":                     2.0,
		"{n} for {user:name}":     "2 for ada",
		"{said.mood}":             "glad",
		"{a.b}":                   "dotted",
		"{gone?}":                 nil,
		"<{gone?}{none}>":         "<>",
		"{output.of}":             []any{"tea", "milk"},
		"of {output.of}":          `of ["tea","milk"]`,
		"{not one} {} {1}":        "{not one} {} {1}",
		`{"json": {output.days}}`: `{"json": 3}`,
	} {
		got, err := v.fill(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	got, err := v.fill(map[string]any{
		"a": []any{"{n}", 1, true},
		"b": map[string]any{"c": "{output.city}"},
		"d": "{gone?}",
		"e": nil,
	})
	require.NoError(t, err)
	require.Equal(t,
		map[string]any{"a": []any{2.0, 1, true}, "b": map[string]any{"c": "Paris"}, "e": nil}, got)

	message, err := values{output: session.Message("hello").Content}.fill("{output}")
	require.NoError(t, err)
	require.Equal(t, "hello", message)

	for text, want := range map[string]string{
		"{gone}":           `{gone} is missing: the state has no key "gone"; there are a.b, n, none, said, user:name; write {gone?} if it may be missing`,
		"to {output.town}": `{output.town} is missing: there is no "town"; there are city, days, of`,
		"{output.of.2}":    `{output.of.2} is missing: there is no "2" in a list of 2, which are counted from 0`,
		"{n.x}":            `{n.x} is missing: there is no "x", since what should have it is no object`,
	} {
		_, err := v.fill(text)
		require.EqualError(t, err, want)
	}
	_, err = values{}.fill("{gone}")
	require.ErrorContains(t, err, `the state has no key "gone", nor any other; write`)
}
