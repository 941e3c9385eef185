package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
)

const clientDirectory = "../../clients/typescript"

const deskOfClients = `
app: desk
store: "sqlite:s.db"
artifacts: files
tools:
  - {name: book, description: Books a table., command: [echo, booked], confirm: A table costs 5 EUR.}
agent: {model: "script:script.yaml", tools: [book]}
`

const scriptOfClients = `
- user: ^tell$
  say: Once upon a time there was a lighthouse keeper, who could not sleep. €
  stream: 6
  delay: 800ms
- user: ^long$
  say: It took a while.
  delay: 600s
- response: book
  say: '{{if index .response.book "result"}}Booked.{{else}}Not booked.{{end}}'
- user: ^book$
  call: {name: book, args: {}}
- say: I do not know.
`

// The client for TypeScript, in Node.js, and its example do with a server what their page says.
func TestTheTypeScriptClient(t *testing.T) {
	t.Parallel()
	clitest.NeedNode(t)
	command := inDir(t, map[string]string{"runner.yaml": deskOfClients, "script.yaml": scriptOfClients})
	makeToken := command("serve", "token", "--user", "ada")
	var lines bytes.Buffer
	makeToken.Stderr = &lines
	token, err := makeToken.Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(makeToken.Dir, "tokens.yaml"),
		append([]byte("tokens:\n"), lines.Bytes()...), 0o600))
	s := startServe(t, command("serve", "--addr", "127.0.0.1:0", "--tokens", "tokens.yaml"))
	node := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = clientDirectory
		cmd.Env = append(os.Environ(), "PLUGHOOK_URL="+s.url, "PLUGHOOK_TOKEN="+string(token),
			"RUNNER_TOKEN="+string(token))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	node("--test", "test/client.test.mjs")
	require.Regexp(t, `(?s)user: book
\(cut off; it goes on\)
book is called: {}
\(waiting\)
A table costs 5 EUR. Yes.
book: .*
agent: Booked.
\(done\)
The session \S+ has: book / Booked.
`, node("examples/chat.mjs", s.url, "book"))
}

// The files with types are what the server's document and the client's comments say, and the compiler finds
// what is wrong in a program that uses them.
func TestTheTypesOfTheTypeScriptClient(t *testing.T) {
	t.Parallel()
	clitest.NeedNode(t)
	check := exec.CommandContext(t.Context(), "node", "types.mjs", "--check")
	check.Dir = clientDirectory
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)

	tsc, err := filepath.Abs(clientDirectory + "/node_modules/.bin/tsc")
	require.NoError(t, err)
	if _, err := os.Stat(tsc); err != nil {
		why := "TypeScript is not installed: run npm ci in clients/typescript"
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	compile := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), tsc, args...)
		cmd.Dir = clientDirectory
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	dir := t.TempDir()
	compile("--outDir", dir)
	fresh, err := os.ReadFile(filepath.Join(dir, "plughook.d.ts"))
	require.NoError(t, err)
	old, err := os.ReadFile(clientDirectory + "/plughook.d.ts")
	require.NoError(t, err)
	require.Equal(t, string(fresh), string(old), "run npm run build in clients/typescript")
	compile("-p", "test")
}
