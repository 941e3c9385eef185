package table_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

func read(text string) []table.Row {
	return table.Read(fstest.MapFS{"x.txt": {Data: []byte(text)}}, "x.txt", "name", "words")
}

func TestRowsOfAFile(t *testing.T) {
	rows := read("# name, words\n\na\tb, c,\n\td\n# more\nx\t\t-\n")
	require.Len(t, rows, 2)
	require.Equal(t, []string{"a", "b, c, d"}, rows[0].Cells)
	require.Equal(t, []string{"x", ""}, rows[1].Cells)
	require.PanicsWithValue(t, "x.txt:6: no good", func() { rows[1].Fail("no %s", "good") })
}

func TestFilesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "x.txt:1: the file is not UTF-8 that begins with a comment",
		"a\tb\n":           "x.txt:1: the file is not UTF-8 that begins with a comment",
		"# x\na\n":         "x.txt:2: the row has 1 cells in place of 2 (name, words)",
		"# x\n\na\tb\tc\n": "x.txt:3: the row has 3 cells in place of 2",
		"# x\n\tb\n":       "x.txt:2: the line begins with a tab",
		"# x\na\t\xff\n":   "x.txt:1: the file is not UTF-8",
	} {
		func() {
			defer func() {
				message, _ := recover().(string)
				require.Contains(t, message, want, "%q", text)
			}()
			read(text)
		}()
	}
	require.Panics(t, func() { table.Read(fstest.MapFS{}, "none.txt") })
}

func TestLists(t *testing.T) {
	require.Equal(t, []string{"a b", "c"}, table.List("a b, c"))
	require.Equal(t, []string{"a ", "b"}, table.List(`"a ", b`))
	require.Equal(t, []string{"a, b", `"c"`}, table.ListBy(`a, b | "c"`, " | "))
	require.Empty(t, table.List(""))
}

func TestNumbers(t *testing.T) {
	rows := read("# x\na\t12\nb\t1x\nc\t1, 3-5\n")
	require.Equal(t, 12, rows[0].Int(1))
	require.PanicsWithValue(t, `x.txt:3: "1x" is not a whole number`, func() { rows[1].Int(1) })
	require.Equal(t, [][2]int{{1, 1}, {3, 5}}, rows[2].Ranges(1))
}
