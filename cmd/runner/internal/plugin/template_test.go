package plugin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the author of a plugin edits is short.
func TestTemplatesAreShort(t *testing.T) {
	for _, file := range []string{"template/go/plugin.go.tmpl", "template/node/plugin.mjs.tmpl", "template/python/plugin.py.tmpl"} {
		data, err := templates.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(data), "\n"), 40, file)
	}
}
