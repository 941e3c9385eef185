package detect

import (
	"embed"
	"fmt"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
)

// The words, forms and numbers that detectors know are in these files, each of which explains
// itself. They are read when the first detector that needs them is made.
//
//go:embed data/*.txt
var dataFiles embed.FS

// rowsOf returns the rows of a data file.
func rowsOf(name string, columns ...string) ([]table.Row, error) {
	return table.Read(dataFiles, "data/"+name, columns...)
}

// listsOf returns the lists of words in a file whose rows are the name of a list and its words.
// The error says if a list is there twice, or is none of those that are wanted, or is missing.
func listsOf(name string, wanted ...string) (map[string][]string, error) {
	rows, err := rowsOf(name, "list", "words")
	if err != nil {
		return nil, err
	}
	lists := make(map[string][]string, len(wanted))
	for _, list := range wanted {
		lists[list] = nil
	}
	for _, row := range rows {
		words, known := lists[row.Cells[0]]
		if !known {
			return nil, row.Errorf("there is no list %q; those there are: %s",
				row.Cells[0], strings.Join(wanted, ", "))
		}
		if words != nil {
			return nil, row.Errorf("the list %q is there twice", row.Cells[0])
		}
		lists[row.Cells[0]] = table.List(row.Cells[1])
	}
	for _, list := range wanted {
		if lists[list] == nil {
			return nil, fmt.Errorf("data/%s: the list %q is missing", name, list)
		}
	}
	return lists, nil
}

// must returns a value that was made of data files. It panics if they are wrong, which the tests
// would have shown.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
