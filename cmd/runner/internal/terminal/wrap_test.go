package terminal_test

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/cmd/runner/internal/terminal"
)

func TestWrapper(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		columns, indent  int
	}{
		{"words", "one two three", "one two\nthree", 8, 0},
		{"exactly", "one two", "one two", 7, 0},
		{"a break stays", "one\n\n  two three", "one\n\n  two\nthree", 8, 0},
		{"a long word", "to https://example.com/long it", "to\nhttps://example.com/long\nit", 10, 0},
		{"wide characters", "今日は良い天気", "今日は\n良い天\n気", 6, 0},
		{"indented", "one two three", "one two\n  three", 8, 2},
		{"no terminal", "one two three", "one two three", 0, 0},
	} {
		w := terminal.Wrapper{Columns: c.columns, Indent: c.indent}
		require.Equal(t, c.want, w.Add(c.text)+w.End(), c.name)
	}
}

// However text is cut into pieces, it is wrapped alike; nothing but blanks is lost; and only a word that is longer than
// a line is.
func TestWrapperOfPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("ab 今\n")))).Draw(t, "pieces")
		columns := rapid.IntRange(4, 12).Draw(t, "columns")
		whole := terminal.Wrapper{Columns: columns}
		text := strings.Join(pieces, "")
		want := whole.Add(text) + whole.End()
		inPieces := terminal.Wrapper{Columns: columns}
		got := ""
		for _, p := range pieces {
			got += inPieces.Add(p)
		}
		got += inPieces.End()
		require.Equal(t, want, got)
		require.Equal(t, strings.Join(strings.Fields(text), ""), strings.Join(strings.Fields(got), ""))
		for line := range strings.Lines(got) {
			if words := strings.Fields(line); len(words) > 1 {
				require.LessOrEqual(t, runewidth.StringWidth(strings.TrimSpace(line)), columns)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	require.Equal(t, `Flags:
  -q, --quiet   write only errors to
                standard error
  /compact [ANY-LENGTH-THAT-THERE-IS]
    says it
`, terminal.Wrap(`Flags:
  -q, --quiet   write only errors to standard error
  /compact [ANY-LENGTH-THAT-THERE-IS]  says it
`, 40))
	require.Equal(t, "one two three\nfour five six\nseven\n\nnine\nten\n",
		terminal.Wrap("one two three four five\nsix seven\n\nnine\nten\n", 14))
	require.Equal(t, "one two\nthree", terminal.Wrap("one two three", 8))
}
