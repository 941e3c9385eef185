//go:build unix

package plugins_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/remote/node"
)

// builds are the programs that tests share: linking one takes seconds.
var builds struct {
	dir string
	mu  sync.Mutex
	of  map[string]func() error // by package; builds it once
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plughook-programs-")
	if err != nil {
		panic(err)
	}
	if err := node.WriteWithTransport("toolpolicy/plughook", "../transport.mjs"); err != nil {
		panic(err)
	}
	builds.dir = dir
	builds.of = map[string]func() error{}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build puts the program of a package of this module into a directory: built without the race
// detector, as users do.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	name := filepath.Base(pkg)
	shared := filepath.Join(builds.dir, name)
	builds.mu.Lock()
	once := builds.of[pkg]
	if once == nil {
		once = sync.OnceValue(func() error {
			out, err := exec.Command("go", "build", "-o", shared, pkg).CombinedOutput()
			if err != nil {
				return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
			}
			return nil
		})
		builds.of[pkg] = once
	}
	builds.mu.Unlock()
	require.NoError(t, once())

	program := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	// Another process copies it: if this one had it open for writing, a test that starts a process
	// at that moment would hand the open file on, and nobody could execute it.
	out, err := exec.Command("cp", shared, program).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// theRunner returns the command runner.
func theRunner(t *testing.T) string {
	t.Helper()
	return build(t, t.TempDir(), "../../cmd/runner")
}
