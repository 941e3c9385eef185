package plan

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
)

// Differences returns the sentences and values that a summary takes up, and those of the summary before that
// it leaves out.
func Differences(summaryBefore, summaryAfter string) (added, left []string) {
	before := statements(summaryBefore)
	after := statements(summaryAfter)
	for _, s := range after {
		if !slices.Contains(before, s) {
			added = append(added, s)
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) {
			left = append(left, s)
		}
	}
	return added, left
}

// statements cuts a summary into what it says: first lines of what was kept, sentences with the first letter
// of their author, since the name may be abbreviated, single values, and records of values.
func statements(text string) []string {
	list, text := SplitFirstLines(text)
	prose, ledger := extract.Split(text)
	for row := range strings.SplitSeq(prose, "\n") {
		isDay := strings.HasPrefix(row, "[") && strings.HasSuffix(row, "]")
		if isDay {
			continue
		}
		author, rest, named := strings.Cut(row, ": ")
		if !named {
			author = ""
			rest = row
		}
		for _, sentence := range extract.Statements(rest) {
			list = append(list, strings.TrimPrefix(author[:extract.Prefix(author, 1)]+": "+sentence, ": "))
		}
	}
	for row := range strings.SplitSeq(ledger, "\n") {
		name, values, _ := strings.Cut(row, ": ")
		switch {
		case name == "said" || name == "pasted":
			list = append(list, strings.Split(values, ", ")...)
		case values != "":
			list = append(list, row)
		}
	}
	return list
}
