package server_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server/internal/servertest"
)

// The official clients of AG-UI and A2A, in Node.js, run against the server.
func TestOfficialClients(t *testing.T) {
	why := ""
	if _, err := exec.LookPath("node"); err != nil {
		why = "node is not in PATH: install Node.js 20 or later"
	} else if _, err := os.Stat("testdata/clients/node_modules/@ag-ui/client"); err != nil {
		why = "the clients are not installed: run npm ci in server/testdata/clients"
	}
	switch {
	case why == "":
	case os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
	for _, script := range []string{"agui.mjs", "a2a.mjs"} {
		t.Run(script, func(t *testing.T) {
			s := serve(t, servertest.Act, nil, servertest.Policy())
			node := exec.CommandContext(t.Context(), "node", script, s.URL)
			node.Dir = "testdata/clients"
			out, err := node.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
