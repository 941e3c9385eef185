package plughook_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/plughook/plughook"

// house lists the packages from the ground up; a package may import those above its own line only, and
// its own parent. A path stands for everything below it too, unless that has a line of its own.
var house = [][]string{
	{"session", "yamlfile", "internal/pgtest", "internal/geminitest", "internal/input", "internal/debuglog"},
	{"internal/soak"},
	{"session/sqlite", "session/postgres", "session/sessiontest", "model", "artifact"},
	{"tool"},
	{"agent"},
	{"plugin"},
	{"internal/eventtext"},
	{"plugin/remote"},
	{"plugins"},
	{"runner"},
	{"plugin/plugintest"}, // it runs plugins, directly and through the wire
	{"config"},
	{"server"},
	{"examples"},
	{"cmd"}, // runner demo runs examples/demo
}

func floor(pkg string) (n int, room string) {
	n = -1
	for i, rooms := range house {
		for _, r := range rooms {
			if (pkg == r || strings.HasPrefix(pkg, r+"/")) && len(r) > len(room) {
				n, room = i, r
			}
		}
	}
	return n, room
}

// samePlugin reports whether two packages belong to one plugin: plugins/NAME/….
func samePlugin(a, b string) bool {
	first, second := strings.Split(a, "/"), strings.Split(b, "/")
	return len(first) > 1 && len(second) > 1 && first[0] == "plugins" && second[0] == "plugins" && first[1] == second[1]
}

func list(t *testing.T, args ...string) []string {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestImportsPointDown(t *testing.T) {
	for _, line := range list(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(fields[0], module), "/")
		if pkg == "" {
			continue
		}
		from, room := floor(pkg)
		require.GreaterOrEqual(t, from, 0, "package %s has no place in the house; give it one in this test and in doc.go", pkg)
		for _, imp := range fields[1:] {
			imp, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			to, other := floor(imp)
			if room == other { // within a room, children may use their parents
				require.True(t, strings.HasPrefix(pkg, imp+"/") || strings.HasPrefix(imp, pkg+"/") || room == "examples" || room == "cmd" || samePlugin(pkg, imp), "%s imports %s: neither is the other's parent", pkg, imp)
				continue
			}
			require.Less(t, to, from, "%s imports %s: that arrow points up", pkg, imp)
		}
	}
}

// Who embeds the runner links no database, no plugin process and no command line.
func TestTheCoreIsLean(t *testing.T) {
	deps := list(t, "-deps", "./runner", "./plugin", "./agent/...")
	for _, heavy := range []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/hashicorp/go-plugin", "github.com/spf13/cobra", "github.com/goccy/go-yaml", "github.com/stretchr/testify/require",
		"github.com/openai/openai-go/v3", "github.com/modelcontextprotocol/go-sdk/mcp"} {
		require.False(t, slices.Contains(deps, heavy), "the core links %s", heavy)
	}
}
