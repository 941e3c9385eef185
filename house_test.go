package plughook_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/plughook/plughook"

// house returns the floors of the picture in README.md, from the ground up. Each has the packages of one
// line. A package stands for everything below it, too, unless that has a place of its own.
func house(t *testing.T) [][]string {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(readme), "## The house")
	require.True(t, found, "README.md has no section \"The house\"")
	_, after, found = strings.Cut(after, "```\n")
	require.True(t, found, "the section \"The house\" has no picture")
	picture, _, _ := strings.Cut(after, "```")
	var floors [][]string
	for _, line := range strings.Split(strings.TrimSpace(picture), "\n") {
		packages, text, found := strings.Cut(line, "  ")
		require.True(t, found && strings.TrimSpace(text) != "", "%q does not say what the packages are for", line)
		floors = append(floors, strings.Split(packages, ", "))
	}
	slices.Reverse(floors)
	return floors
}

// floorOf returns the floor of a package, and the package of the picture that stands for it.
func floorOf(floors [][]string, pkg string) (floor int, room string) {
	floor = -1
	for i, rooms := range floors {
		for _, r := range rooms {
			if (pkg == r || strings.HasPrefix(pkg, r+"/")) && len(r) > len(room) {
				floor = i
				room = r
			}
		}
	}
	return floor, room
}

// list runs go list and returns its lines.
func list(t *testing.T, args ...string) []string {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestImportsPointDown(t *testing.T) {
	floors := house(t)
	imports := map[string][]string{} // of our packages, by their paths in the module
	for _, line := range list(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(fields[0], module), "/")
		for _, imported := range fields[1:] {
			if imported, ours := strings.CutPrefix(imported, module+"/"); ours {
				imports[pkg] = append(imports[pkg], imported)
			}
		}
	}
	for pkg := range imports {
		if pkg == "" || ground(pkg) || ofTests(imports, pkg) {
			continue
		}
		from, room := floorOf(floors, pkg)
		require.GreaterOrEqual(t, from, 0, "package %s has no floor in the house: give it one in README.md", pkg)
		for imported := range reached(imports, pkg) {
			to, other := floorOf(floors, imported)
			if room != other {
				require.Less(t, to, from, "%s imports %s: that arrow points up", pkg, imported)
				continue
			}
			// Within a room, packages may import what is above or below them, those of one plugin each other, and a
			// room's internal packages are everybody's in it.
			family := strings.HasPrefix(pkg, imported+"/") || strings.HasPrefix(imported, pkg+"/") ||
				samePlugin(pkg, imported) || strings.Contains(imported, "/internal/") || strings.Contains(pkg, "/internal/")
			require.True(t, family || room == "examples" || room == "cmd/runner",
				"%s imports %s: neither is the other's parent", pkg, imported)
		}
	}
}

// ground reports whether a package stands in the module's own internal directory. Such packages are on no floor: who
// imports one is held to what it imports.
func ground(pkg string) bool { return strings.HasPrefix(pkg, "internal/") }

// ofTests reports whether a package is internal and only tests import it. It may use what those tests use.
func ofTests(imports map[string][]string, pkg string) bool {
	if !strings.Contains(pkg, "/internal/") {
		return false
	}
	for _, imported := range imports {
		if slices.Contains(imported, pkg) {
			return false
		}
	}
	return true
}

// reached returns what a package imports. In place of a package on the ground it has what that one imports.
func reached(imports map[string][]string, pkg string) map[string]bool {
	all := map[string]bool{}
	for _, imported := range imports[pkg] {
		if !ground(imported) {
			all[imported] = true
			continue
		}
		for below := range reached(imports, imported) {
			all[below] = true
		}
	}
	return all
}

// Every package of the picture is there.
func TestThePictureIsOfThisHouse(t *testing.T) {
	for _, rooms := range house(t) {
		for _, room := range rooms {
			require.DirExists(t, room)
		}
	}
}

// samePlugin reports whether two packages belong to one plugin: plugins/NAME/….
func samePlugin(a, b string) bool {
	first := strings.Split(a, "/")
	second := strings.Split(b, "/")
	return first[0] == "plugins" && second[0] == "plugins" && len(first) > 1 && len(second) > 1 && first[1] == second[1]
}

// Whoever embeds the runner links no database, no plugin process and no command line.
func TestTheCoreIsLean(t *testing.T) {
	linked := list(t, "-deps", "./runner", "./plugin", "./agent/...", "./session/memory")
	for _, heavy := range []string{
		"modernc.org/sqlite/lib",
		"github.com/jackc/pgx/v5",
		"github.com/hashicorp/go-plugin",
		"github.com/spf13/cobra",
		"github.com/goccy/go-yaml",
		"github.com/stretchr/testify/require",
		"github.com/modelcontextprotocol/go-sdk/mcp",
	} {
		require.False(t, slices.Contains(linked, heavy), "the core links %s", heavy)
	}
}

// The first command that a newcomer runs is built soon: it links no database, no plugin process and no command line.
func TestTheDemoIsLight(t *testing.T) {
	linked := list(t, "-deps", "./examples/demo")
	for _, heavy := range []string{
		"modernc.org/sqlite/lib",
		"github.com/jackc/pgx/v5",
		"github.com/hashicorp/go-plugin",
		"github.com/spf13/cobra",
		"github.com/modelcontextprotocol/go-sdk/mcp",
	} {
		require.False(t, slices.Contains(linked, heavy), "the demo links %s", heavy)
	}
}

// A plugin's program links what serves it, and nothing of the host that starts it.
func TestAPluginLinksNoHost(t *testing.T) {
	linked := list(t, "-deps", "./plugin/remote/serve")
	for _, host := range []string{"plugin/remote", "plugin/internal/caller", "plugin/internal/process", "plugin/internal/sandbox", "runner"} {
		require.False(t, slices.Contains(linked, module+"/"+host), "package serve links %s", host)
	}
}

// The server finds what plugins offer (plugin.Command) in the list of the runner's plugins. Only its tests' own server
// has plugins by name.
func TestTheServerNamesNoPlugin(t *testing.T) {
	for _, line := range list(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./server/...") {
		fields := strings.Fields(line)
		if strings.HasSuffix(fields[0], "/servertest") {
			continue
		}
		for _, imported := range fields[1:] {
			require.False(t, strings.HasPrefix(imported, module+"/plugins/"), line)
		}
	}
}
