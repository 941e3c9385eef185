//go:build unix

package remote

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asPlugin is the first argument with which this binary is not tests, but the process that the second
// names.
const asPlugin = "as-plugin"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asPlugin {
		processes[os.Args[2]]()
		return
	}
	goleak.VerifyTestMain(m)
}
