package hooks_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/hooks.md names every example, with the file that it is in, and no other.
func TestTheDocumentNamesTheExamples(t *testing.T) {
	doc, err := os.ReadFile("../../docs/hooks.md")
	require.NoError(t, err)
	named := map[string]string{}
	for _, m := range regexp.MustCompile(`\[(Example_\w+)\]\(\.\./examples/hooks/(\w+\.go)\)`).FindAllStringSubmatch(string(doc), -1) {
		named[m[1]] = m[2]
	}
	for _, name := range regexp.MustCompile(`Example_\w+`).FindAllString(string(doc), -1) {
		require.Contains(t, named, name, "it is no link to examples/hooks")
	}

	there := map[string]string{}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Example_\w+)\(\) \{(?s:.*?)^\}`).FindAllStringSubmatch(string(source), -1) {
			require.Regexp(t, `// Output:.*\n`, m[0], "%s is not run: it has no output", m[1])
			there[m[1]] = file
		}
	}
	require.NotEmpty(t, there)
	require.Equal(t, there, named)
}

// Every link of docs/hooks.md to a file of this repository leads to one.
func TestTheLinksOfTheDocumentLeadSomewhere(t *testing.T) {
	doc, err := os.ReadFile("../../docs/hooks.md")
	require.NoError(t, err)
	links := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(string(doc), -1)
	require.NotEmpty(t, links)
	for _, m := range links {
		require.FileExists(t, filepath.Join("../../docs", m[1]))
	}
}
