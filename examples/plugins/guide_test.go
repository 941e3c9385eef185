//go:build unix

package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/remote/python"
)

const guide = "../../docs/plugins.md"

// files returns the blocks of the guide that are files, by their names.
func files(t *testing.T) map[string]string {
	doc, err := os.ReadFile(guide)
	require.NoError(t, err)
	all := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$").FindAllStringSubmatch(string(doc), -1) {
		if m[2] == "" {
			require.NotEqual(t, "go", m[1],
				"nobody compiles this block, for it has no file name:\n%s", m[3])
			continue
		}
		require.NotContains(t, all, m[2], "the guide has the file twice")
		all[m[2]] = m[3]
	}
	return all
}

// The files of the guide, written out: they compile, pass their tests, run as a process, and do
// what the guide says.
func TestTheGuidesPlugin(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range files(t) {
		if name == "runner.yaml" { // machines can be busy
			text = strings.Replace(text, "    config:",
				"    timeout: 1m\n    start_timeout: 1m\n    config:", 1)
		}
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	_, required, _ := strings.Cut(string(ours), "\n")
	mod := "module example.com/calls\n" + required + "\nrequire github.com/plughook/plughook v0.0.0\nreplace github.com/plughook/plughook => " + root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}

	run("go", "vet", "./...")
	run("go", "test", "./...", "-update")
	run("go", "test", "./...")
	script, err := os.ReadFile(filepath.Join(dir, "testdata", "budget.txtar"))
	require.NoError(t, err)
	doc, err := os.ReadFile(guide)
	require.NoError(t, err)
	_, log, _ := strings.Cut(string(script), "\n6 bot")
	log, _, _ = strings.Cut("6 bot"+log, "\n8 bot")
	require.Contains(t, string(doc), "\n    "+strings.ReplaceAll(log, "\n", "\n    ")+"\n",
		"the guide shows another log")

	run("go", "build", "-o", "bin/", "./calls")
	runner := theRunner(t)
	require.Equal(t, "It is fine.\n", run(runner, "run", "-q", "What is the weather?"))

	if _, err := exec.LookPath("node"); err != nil {
		require.Empty(t, os.Getenv("PLUGHOOK_TEST_ALL"), "node is not in PATH")
		t.Skip("node is not in PATH: the plugin in JavaScript was not tried; install Node.js")
	}
	verified := func(lang, file string) {
		t.Helper()
		run(runner, "plugin", "new", "--lang", lang, "--dir", lang, "calls")
		require.NoError(t, os.Rename(filepath.Join(dir, file), filepath.Join(dir, lang, file)))
		out := run(runner, "plugin", "verify", "--settings", `{"max":2}`, "--scripts", "testdata/*.txtar", lang)
		require.Contains(t, out, "\nok    script    testdata/budget.txtar")
	}
	verified("node", "plugin.mjs")
	if _, err := python.Interpreter(dir); err != nil {
		require.Empty(t, os.Getenv("PLUGHOOK_TEST_ALL"), err)
		t.Skipf("the plugin in Python was not tried: %v", err)
	}
	verified("python", "plugin.py")
}

// Every link of the guide leads to a file of this repository, or to a heading of the guide.
func TestTheGuidesLinks(t *testing.T) {
	doc, err := os.ReadFile(guide)
	require.NoError(t, err)
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(doc), -1) {
		words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		headings["#"+strings.ReplaceAll(words, " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(doc), -1)
	require.NotEmpty(t, links)
	for _, m := range links {
		switch {
		case strings.HasPrefix(m[1], "https://"):
		case strings.HasPrefix(m[1], "#"):
			require.True(t, headings[m[1]], "there is no heading %s", m[1])
		default:
			require.FileExists(t, filepath.Join("../../docs", m[1]))
		}
	}
}
