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

// envGRPC, if it is set, makes the plugins of tests use gRPC's stream, which plugins in other languages have.
const envGRPC = "PLUGHOOK_TEST_GRPC"

// It is set before any init: some of those are the main of a plugin.
var _ = func() (none struct{}) {
	withoutFrames = os.Getenv(envGRPC) != ""
	return none
}()

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asPlugin {
		processes[os.Args[2]]()
		return
	}
	goleak.VerifyTestMain(m)
}
