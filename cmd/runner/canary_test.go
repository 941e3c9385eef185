package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/stretchr/testify/require"
)

// canaries are made up anew each time, so that nothing can know them: by what finds them.
func canaries() map[string]string {
	letters := func(n int) string { return strings.ToLower(rand.Text())[:n] }
	digits := func(n int) string {
		b := make([]byte, n)
		_, _ = rand.Read(b)
		for i := range b {
			b[i] = '0' + b[i]%10
		}
		return string(b)
	}
	card := "4" + digits(14)
	sum := 0
	for i, c := range card {
		d := int(c - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	card += fmt.Sprint((10 - sum%10) % 10)
	return map[string]string{
		"email":  letters(12) + "@" + letters(9) + ".example",
		"card":   card,
		"secret": "ghp_" + (rand.Text() + rand.Text())[:36],
		"word":   "heron" + letters(10),
		"number": "EMP-" + digits(9),
	}
}

const canaryRunner = `
app: desk
agent: {model: "script:script.yaml", instruction: Be brief., tools: [keep, look, broken], output_key: answer}
tools:
  - {name: keep, command: [sh, -c, "cat >> %[1]s/kept"], parameters: {type: object}}
  - {name: look, command: [cat, result.json]}
  - {name: broken, command: [sh, -c, "cat result.json >&2; exit 1"]}
artifacts: %[1]s
plugins:
  - guardrail: {file: policy.yaml, key_env: CANARY_KEY}
  - uploads:
  - audit: {path: %[1]s/audit.jsonl}
  - logger: {content: true}
`

const canaryPolicy = `
version: 1
rules:
  - {id: secrets, stages: [input, prompt, output, tool_args, tool_result, summary], detect: {secrets: default}, action: %[2]s}
  - {id: own, stages: [input, prompt, output, tool_args, tool_result, summary], detect: {words: [%[1]s], regexp: 'EMP-\d+'}, action: %[2]s}
  - {id: personal, stages: [input, prompt, output, tool_args, tool_result, summary], detect: {pii: [EMAIL_ADDRESS, CREDIT_CARD]}, action: %[2]s}
`

const canaryScript = `
- {response: keep, say: "Kept: %[1]s"}
- {response: look, say: "Seen: %[1]s", stream: 3}
- {response: broken, error: broken, say: "It failed: {{.response.broken.error}}"}
- {user: ^say, say: "So: %[1]s, and so on.", think: "I think of %[1]s.", stream: 3}
- {user: ^call, call: {name: keep, args: {text: "%[1]s", "%[1]s": [{deep: "%[1]s"}]}}, say: "Calling for %[1]s", stream: 5}
- {user: ^look, call: {name: look}}
- {user: ^broken, call: {name: broken}}
- {user: ^fail, say: "Half of %[1]s is", stream: 3, fail: {code: UNAVAILABLE, message: "no luck with %[1]s"}}
- {say: "You said: {{.user}}"}
`

// What a policy takes out or blocks is nowhere: in no output, log, error, record or store, and no tool is given it.
func TestCanary(t *testing.T) {
	for _, action := range []string{"redact", "hash", "vault", "block"} {
		t.Run(action, func(t *testing.T) {
			birds := canaries()
			key := rand.Text()
			t.Setenv("CANARY_KEY", key)
			src, out := t.TempDir(), t.TempDir()
			var all []string
			for _, bird := range birds {
				all = append(all, bird)
			}
			text := strings.Join(all, " and ")
			result, err := json.Marshal(
				map[string]any{"found": []any{text, map[string]any{text: text}}})
			require.NoError(t, err)
			for name, content := range map[string]string{
				"runner.yaml": fmt.Sprintf(canaryRunner, out), "script.yaml": fmt.Sprintf(canaryScript, text),
				"policy.yaml": fmt.Sprintf(canaryPolicy, birds["word"], action), "result.json": string(result), "notes.txt": text,
			} {
				require.NoError(t, os.WriteFile(filepath.Join(src, name), []byte(content), 0o600))
			}
			said := map[string]string{}
			run := func(want []int, stdin string, args ...string) {
				args = append(args, "--store", "sqlite:"+filepath.Join(out, "a.db"), "--app",
					"desk", "--config", filepath.Join(src, "runner.yaml"))
				code, stdout, stderr := clitest.RunLeakless(
					t,
					newRoot,
					strings.NewReader(stdin),
					args...)
				require.Contains(t, want, code, "%v: %s", args[:4], stderr)
				said[fmt.Sprintf("%d %q", len(said), args[:2])] = stdout + "\n" + stderr
			}
			ends := []int{exit.OK.Number, exit.Denied.Number, exit.Model.Number}
			worked := []int{exit.OK.Number}
			for i, input := range []string{"say", "call", "look", "broken", "fail", "my things are " + text} {
				for j, flags := range [][]string{{"--stream", "-v"}, {"--jsonl", "--stream"}, {"-q"}, {"-v", "--log-format", "json"}} {
					run(
						ends,
						input,
						append(
							[]string{
								"run",
								"-",
								"--session",
								fmt.Sprintf("s%d-%d", i, j),
								"--explain",
							},
							flags...)...)
				}
			}
			for bird := range birds { // alone, too
				run(ends, "", "run", "my "+bird+" is "+birds[bird], "--session", bird, "-v",
					"--explain")
			}
			run(
				ends,
				"",
				"run",
				"Read this",
				"--file",
				filepath.Join(src, "notes.txt"),
				"--session",
				"file",
				"-v",
				"--explain",
			)
			run(worked, "say\nmy things are "+text+"\ncall\nfail\n/show\n/state\n", "chat",
				"--session", "chat")
			run(worked, "", "session", "export", "--all")
			export := said[fmt.Sprintf("%d %q", len(said)-1, []string{"session", "export"})]
			require.Greater(t, strings.Count(export, "\n"), 50)
			run(worked, "", "session", "show", "s0-0")
			run(worked, "", "session", "list")

			files := 0
			require.NoError(
				t,
				filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					files++
					data, err := os.ReadFile(path)
					said[path] = string(data)
					return err
				}),
			)
			require.GreaterOrEqual(t, files, 2)
			for where, text := range said {
				for name, bird := range birds {
					sum := sha256.Sum256([]byte(bird))
					for _, form := range []string{bird, bird[:len(bird)*3/4], base64.StdEncoding.EncodeToString([]byte(bird)), hex.EncodeToString(sum[:])} {
						require.NotContains(t, text, form, "%s: %s", where, name)
					}
				}
				require.NotContains(t, text, key, where)
			}
			require.Contains(t, export, `"guardrail"`)
		})
	}
}
