package detect

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// The words, forms and numbers that detectors know are in these files, each of which explains
// itself. They are read when the first detector that needs them is made.
//
//go:embed data/*.txt
var dataFiles embed.FS

// rowsOf returns the rows of a data file.
func rowsOf(name string, columns ...string) []table.Row {
	return table.Read(dataFiles, "data/"+name, columns...)
}

// listsOf returns the lists of words in a file whose rows are the name of a list and its words. It
// panics if a list is there twice, or is none of those that are wanted, or is missing.
func listsOf(name string, wanted ...string) map[string][]string {
	lists := make(map[string][]string, len(wanted))
	for _, row := range rowsOf(name, "list", "words") {
		list := row.Cells[0]
		if lists[list] != nil || !slices.Contains(wanted, list) {
			row.Fail("the list %q is there twice, or is none of %s", list, strings.Join(wanted, ", "))
		}
		lists[list] = table.List(row.Cells[1])
	}
	if len(lists) < len(wanted) {
		panic(fmt.Sprintf("data/%s: one of the lists %s is missing", name, strings.Join(wanted, ", ")))
	}
	return lists
}

// must returns a value that was made of data files. It panics if they are wrong, which the tests
// would have shown.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
