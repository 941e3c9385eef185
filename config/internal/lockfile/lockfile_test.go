package lockfile

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A lockfile that is not one is refused, and says which it is.
func TestBadLockfiles(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		`{"version":1,"plugins":{"p":{"sha256":"` + sum + `","files":{"a":"` + sum + `"}}}}`: "",
		`{"version":1,"plugins":null}`:     "",
		`{`:                                "EOF",
		`[]`:                               "array",
		`{"version":2,"plugins":{}}`:       "version 2",
		`{"version":1,"plugin":{}}`:        "plugin",
		`{"version":1,"plugins":{"p":{}}}`: "sha256 of plugin p",
		`{"version":1,"plugins":{"p":{"sha256":"` + sum + `","files":{"a.js":"ab"}}}}`: "digest of a.js of plugin p",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/c.lock.json", []byte(text), 0o600))
		lock, err := Read(t.Context(), dir+"/c.yaml")
		if want == "" {
			require.NoError(t, err, text)
			require.True(t, lock.exists)
			require.NotNil(t, lock.Plugins)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, dir+"/c.lock.json", text)
	}
}

// A difference is said if there is one, and only then; whichever way one looks.
func TestDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.Custom(func(t *rapid.T) Pins {
			sum := rapid.SampledFrom([]string{"aa", "bb"})
			files := rapid.MapOf(rapid.SampledFrom([]string{"a.js", "b.js", "c.js"}), sum)
			return Pins{SHA256: sum.Draw(t, "sha256"), Files: files.Draw(t, "files")}
		})
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		require.Empty(t, Differences(a, a))
		require.Equal(t, a.SHA256 == b.SHA256 && maps.Equal(a.Files, b.Files),
			len(Differences(a, b)) == 0)
		require.Len(t, Differences(b, a), len(Differences(a, b)))
	})
}
