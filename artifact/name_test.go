package artifact_test

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/session"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "report.csv", "charts/q3.png", "user:a", "user:charts/q3.png", "a b", "…", ".a", "a.", "...", "~", "user", "app:a", strings.Repeat("a", 512), "user:" + strings.Repeat("a", 512)} {
		require.NoError(t, artifact.CheckName(name), name)
	}
	for name, why := range map[string]string{
		"": "it is empty", "user:": "it is empty", "/a": "an element of it is empty", "a/": "an element of it is empty", "a//b": "an element of it is empty", "user:/a": "an element of it is empty",
		".": "an element of it is .", "..": "an element of it is ..", "a/../b": "an element of it is ..", "user:..": "an element of it is ..", "a/.": "an element of it is .",
		`a\b`: "it has a backslash", `C:\fakepath\a.png`: "it has a backslash", "a\nb": "it has a control character", "a\x00": "it has a control character", "\u202ea": "it has a control character",
		"\xff": "it is not UTF-8", strings.Repeat("a", 513): "513 bytes", "user:" + strings.Repeat("a", 513): "513 bytes",
	} {
		err := artifact.CheckName(name)
		require.ErrorIs(t, err, artifact.ErrName, "%q", name)
		require.ErrorContains(t, err, why)
		require.NotContains(t, err.Error(), "\x00")
		require.Less(t, len(err.Error()), 200)
	}
}

func TestURI(t *testing.T) {
	require.Equal(t, "artifact:charts/q3.png?version=2", artifact.URI("charts/q3.png", 2))
	require.Equal(t, "artifact:user:a%20b%3F%23%25.png?version=0",
		artifact.URI("user:a b?#%.png", 0))
	for _, uri := range []string{"", "artifact:", "artifact:a", "artifact:a?version=", "artifact:a?version=-1", "artifact:a?version=01", "artifact:a?version=1&b=c", "artifact:a?version=99999999999999999999",
		"artifact:?version=1", "artifact:..?version=1", "artifact:%2e%2e/a?version=1", "artifact:/a?version=1", "artifact:a%zz?version=1", "artifact:a%00?version=1", "gs://a?version=1", "Artifact:a?version=1", "artifact:a#b?version=1#c"} {
		_, _, err := artifact.ParseURI(uri)
		require.ErrorIs(t, err, artifact.ErrURI, uri)
		require.ErrorContains(t, err, "artifact:NAME?version=N")
	}
}

func ExampleURI() {
	uri := artifact.URI("charts/third quarter.png", 2)
	name, version, err := artifact.ParseURI(uri)
	fmt.Println(uri)
	fmt.Println(name, version, err)
	// Output:
	// artifact:charts/third%20quarter.png?version=2
	// charts/third quarter.png 2 <nil>
}

// What ParseURI takes is a name and a version, whose URI says the same.
func FuzzParseURI(f *testing.F) {
	f.Add("artifact:charts/q3.png?version=2")
	f.Add("artifact:user:a%20b%3F%23?version=0")
	f.Add("artifact:a#b?version=1")
	f.Fuzz(func(t *testing.T, uri string) {
		name, version, err := artifact.ParseURI(uri)
		if err != nil {
			require.ErrorIs(t, err, artifact.ErrURI)
			return
		}
		require.NoError(t, artifact.CheckName(name))
		u, err := url.Parse(artifact.URI(name, version))
		require.NoError(t, err)
		require.True(t, u.Scheme == "artifact" && u.Fragment == "" && len(u.Query()) == 1, u)
		again, v, err := artifact.ParseURI(u.String())
		require.NoError(t, err)
		require.Equal(t, name, again)
		require.Equal(t, version, v)
	})
}

// element is what every file system takes as it is, and tells from others that are not the same.
var element = regexp.MustCompile(`^[a-z0-9%_@-]([a-z0-9%._@~-]*[a-z0-9%_@-])?$`)

// reserved are Windows' names for devices.
var reserved = regexp.MustCompile(`^(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// Any name is refused by both stores, and leaves no file, or is kept by both, in a place of its own whose
// name every file system can have. So is any key.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"a", "A", "a/b", "user:a", "..", "con", "con.txt", "a~1", "ä", "a\u0308", "\xff", "a\x00", `a\b`, strings.Repeat("A", 512)} {
		f.Add(name, "b")
		f.Add(name, strings.ToUpper(name))
		f.Add("a", name)
	}
	f.Fuzz(func(t *testing.T, one, two string) { placed(t, one, two) })
}

func TestPlaces(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(user:)?[aA./~%é ]{1,6}`),
		rapid.StringMatching(`[aA]{60,90}[aA%]{1,9}`))
	rapid.Check(t, func(rt *rapid.T) { placed(t, text.Draw(rt, "one"), text.Draw(rt, "two")) })
}

func placed(t *testing.T, one, two string) {
	dir := t.TempDir()
	s, err := artifact.Open(dir)
	require.NoError(t, err)
	defer s.Close()
	mem, kept := artifact.NewMemory(), 0
	for _, name := range []string{one, two} {
		for _, k := range []session.Key{key, {App: name, User: "u", ID: "s"}, {App: "a", User: name, ID: "s"}, {App: "a", User: "u", ID: name}} {
			at := name
			if k != key {
				at = "a"
			}
			data := genai.NewPartFromText(k.String() + at)
			got, err := s.Save(ctx, k, at, data)
			want, other := mem.Save(ctx, k, at, data)
			require.Equal(t, other, err)
			require.Equal(t, want, got, "as many versions as of what is the same")
			if err != nil {
				require.Equal(t, k == key, errors.Is(err, artifact.ErrName), err)
				continue
			}
			kept++
		}
		if artifact.CheckName(name) == nil {
			list, err := s.List(ctx, key)
			require.NoError(t, err)
			require.Contains(t, list, name)
		}
	}
	seen, versions := map[string]bool{}, 0
	for _, path := range files(t, dir) {
		base := filepath.Base(path)
		require.Regexp(t, element, base)
		require.NotRegexp(t, reserved, base)
		require.LessOrEqual(t, len(base), 200)
		require.False(t, seen[path])
		seen[path] = true
		if base == "data" && seen[filepath.Dir(path)+"/about.json"] {
			versions++
		}
	}
	require.Equal(t, kept, versions, "%q", files(t, dir))
}
