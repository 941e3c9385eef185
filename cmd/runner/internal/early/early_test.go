package early

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Neither this package nor the one it needs has an import behind which Go initialises most others.
func TestEarly(t *testing.T) {
	few := []string{"errors", "io", "strconv", "syscall", "time", "github.com/plughook/plughook/hooks/forward"}
	files := 0
	for _, dir := range []string{".", "../../../../hooks/forward"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
			require.NoError(t, err)
			for _, i := range parsed.Imports {
				needed, err := strconv.Unquote(i.Path.Value)
				require.NoError(t, err)
				assert.Contains(t, few, needed, name)
			}
		}
	}
	require.GreaterOrEqual(t, files, 5)
}

// Only what agents' settings have is answered here.
func TestHookOf(t *testing.T) {
	for line, want := range map[string]string{
		"runner hook claude --event Stop":              "claude Stop",
		"runner hook codex --event Stop --config a b":  "",
		"runner hook codex --event Stop --config a":    "codex Stop",
		"runner hook codex --event Stop --socket a":    "",
		"runner hook codex --event":                    "",
		"runner hook doctor":                           "",
		"runner session list --event x":                "",
		"runner":                                       "",
		"runner hook claude --event Stop --x --config": "",
	} {
		agent, event, ok := hookOf(strings.Fields(line))
		assert.Equal(t, want, strings.TrimSpace(agent+" "+event), line)
		assert.Equal(t, want != "", ok, line)
	}
}
