package plugintest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

const updateFlag = "update"

var update = func() *bool {
	if flag.Lookup(updateFlag) == nil {
		return flag.Bool(updateFlag, false, "write what comes out into the scripts of package plugintest")
	}
	return nil
}()

// updating reports whether go test got -update. The flag is this package's, or the test has
// defined one itself.
func updating() bool {
	if update != nil {
		return *update
	}
	return flag.Lookup(updateFlag).Value.String() == "true"
}

// Run plays each script that matches the pattern (see filepath.Glob), as a subtest: once with a
// plugin that create makes, and once with a second one whose calls are encoded as for a process
// of its own (remote.Loopback). Both must give the same output. Each script gets new plugins,
// because a plugin may remember what it has seen.
//
// go test -update writes the output into the scripts.
func Run(t *testing.T, create func() *plugin.Plugin, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no script matches %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			direct := output(t, file, data, create())
			looped := output(t, file, data, remote.Loopback(create()))
			if !bytes.Equal(looped, direct) {
				t.Fatalf("%s: through the wire the output is another one\n%s", file, firstDifference("in process", string(direct), "through the wire", string(looped)))
			}
			switch {
			case bytes.Equal(direct, data):
			case updating():
				if err := os.WriteFile(file, direct, 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s: %s\nIf that is meant: go test -update", file, Difference(data, direct))
			}
		})
	}
}

// Difference shows where a script and the output begin to differ.
func Difference(script, out []byte) string {
	return firstDifference("in the file", string(script), "what comes out", string(out))
}

// output plays a script and returns its output.
func output(t *testing.T, file string, data []byte, p *plugin.Plugin) []byte {
	t.Helper()
	out, err := Play(t.Context(), data, p)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}
