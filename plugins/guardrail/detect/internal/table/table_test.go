package table_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

func read(text string) ([]table.Row, error) {
	return table.Read(fstest.MapFS{"x.txt": {Data: []byte(text)}}, "x.txt", "name", "words")
}

func TestRowsOfAFile(t *testing.T) {
	rows, err := read("# name, words\n\na\tb, c,\n\td\n# more\nx\t\t-\n")
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, []string{"a", "b, c, d"}, rows[0].Cells)
	require.Equal(t, []string{"x", ""}, rows[1].Cells)
	require.EqualError(t, rows[1].Errorf("no %s", "good"), "x.txt:6: no good")
}

func TestFilesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "x.txt:1: the file does not begin with a comment",
		"a\tb\n":           "x.txt:1: the file does not begin with a comment",
		"# x\na\n":         "x.txt:2: the row has 1 cells in place of 2 (name, words)",
		"# x\n\na\tb\tc\n": "x.txt:3: the row has 3 cells in place of 2",
		"# x\n\tb\n":       "x.txt:2: the line begins with a tab",
		"# x\na\t\xff\n":   "not UTF-8",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err := table.Read(fstest.MapFS{}, "none.txt")
	require.ErrorContains(t, err, "none.txt")
}

func TestLists(t *testing.T) {
	require.Equal(t, []string{"a b", "c"}, table.List("a b, c"))
	require.Equal(t, []string{"a ", "b"}, table.List(`"a ", b`))
	require.Equal(t, []string{"a, b", `"c"`}, table.ListBy(`a, b | "c"`, " | "))
	require.Empty(t, table.List(""))
}

func TestNumbers(t *testing.T) {
	rows, err := read("# x\na\t12\nb\t1x\n")
	require.NoError(t, err)
	n, err := rows[0].Int(1)
	require.NoError(t, err)
	require.Equal(t, 12, n)
	_, err = rows[1].Int(1)
	require.EqualError(t, err, `x.txt:3: "1x" is not a whole number`)
}
