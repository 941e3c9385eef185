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

// updating reports whether go test -update was said, be the flag this package's or the test's own.
func updating() bool {
	if update != nil {
		return *update
	}
	return flag.Lookup(updateFlag).Value.String() == "true"
}

// Run plays each script that the pattern (as filepath.Glob's) names, as a subtest: once with a plugin that
// create makes, and once with another one through the encoding of package remote, which must come to the same.
// A script needs a plugin of its own, because a plugin may remember; hence create, and not a plugin.
//
// go test -update writes what comes out into the scripts.
func Run(t *testing.T, create func() *plugin.Plugin, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no script is called %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			direct := output(t, file, data, create())
			if far := output(t, file, data, remote.Loopback(create())); !bytes.Equal(far, direct) {
				t.Fatalf("%s: through the wire it comes to something else\n%s", file, firstDifference("in process", string(direct), "through the wire", string(far)))
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

// Difference shows where a script and what comes out begin to differ.
func Difference(script, out []byte) string {
	return firstDifference("in the file", string(script), "what comes out", string(out))
}

func output(t *testing.T, file string, data []byte, p *plugin.Plugin) []byte {
	t.Helper()
	out, err := Play(t.Context(), data, p)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}
