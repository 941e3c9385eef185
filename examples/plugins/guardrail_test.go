//go:build unix

package plugins_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const guardPolicy = `
version: 1
rules:
  - {id: cards, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block, message: Please leave out card numbers.}
  - {id: birds, stages: [output], detect: {words: [heron]}, action: block}
  - {id: mails, detect: {pii: [EMAIL_ADDRESS]}, action: {EMAIL_ADDRESS: vault}}
  - {id: notes, detect: {words: [pond]}, action: flag}
  - {id: tools, stages: [tool_args], tools: {ask: [pay], deny: [drain]}}
`

const guardScript = `
- {response: pay, say: "Paid, says bob@example.com."}
- {response: [drain], error: "*", say: "It failed: {{.response.drain.error}}"}
- {response: [look], error: "*", say: "It failed: {{.response.look.error}}"}
- {user: pay, call: {name: pay, args: {to: bob@example.com}}, say: A moment.}
- {user: drain, call: {name: drain}}
- {user: look, call: {name: look}}
- {user: heron, say: "Look, in the pond. There is a heron in it, and it stands still.", stream: 5}
- {user: fail, say: "Half of bob@example.com", stream: 3, fail: {message: no luck with bob@example.com}}
- {say: "Write to bob@example.com, he knows of the pond.", think: "They want bob@example.com.", stream: 3}
`

const guardConfig = `
app: desk
agent: {model: "script:script.yaml", tools: [pay, drain, look]}
tools:
  - {name: pay, command: [echo, '{"paid": "by bob@example.com"}'], parameters: {type: object, properties: {to: {type: string}}}}
  - {name: drain, command: [echo, '{"drained": true}']}
  - {name: look, command: [sh, -c, 'echo nothing for bob@example.com >&2; exit 1']}
plugins:
`

// A conversation under the guardrail in process, and as a process: what callers get is the same,
// partial events too, and so is the log.
func TestGuardrail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runner := build(t, dir, "../../cmd/runner")
	build(t, filepath.Join(dir, "bin"), "./guardrail")
	for name, text := range map[string]string{
		"policy.yaml": guardPolicy, "script.yaml": guardScript,
		"here.yaml":    guardConfig + "  - guardrail: {file: policy.yaml, key_env: GUARD_KEY}\n",
		"process.yaml": guardConfig + "  - {command: [./bin/guardrail], env: [GUARD_KEY], timeout: 1m, start_timeout: 1m, config: {file: policy.yaml, key_env: GUARD_KEY}}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	talk := func(name string) (said []string) {
		for _, c := range []struct {
			args []string
			code int
		}{
			{[]string{"I am ann@example.com"}, 0},
			{[]string{"4111 1111 1111 1111"}, 3},
			{[]string{"heron"}, 3},
			{[]string{"pay"}, 7},
			{[]string{"--approve", "agent-1"}, 0},
			{[]string{"drain"}, 3},
			{[]string{"look"}, 0},
			{[]string{"fail"}, 5},
		} {
			cmd := exec.Command(
				runner,
				append(
					[]string{
						"run",
						"--stream",
						"--jsonl",
						"-q",
						"--config",
						name + ".yaml",
						"--store",
						"sqlite:" + name + ".db",
						"--session",
						"s",
					},
					c.args...)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(),
				"GUARD_KEY=a key of sixteen bytes, and more")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, _ := cmd.Output() // the exit code tells
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%s %v: %s%s", name, c.args, out,
				stderr.String())
			said = append(said, unstamped(t, string(out))...)
			said = append(said, stderr.String())
		}
		cmd := exec.Command(
			runner,
			"session",
			"export",
			"s",
			"--app",
			"desk",
			"--store",
			"sqlite:"+name+".db",
		)
		cmd.Dir = dir
		log, err := cmd.Output()
		require.NoError(t, err)
		return append(said, unstamped(t, string(log))...)
	}
	here := talk("here")
	require.Equal(t, strings.Join(here, "\n"), strings.Join(talk("process"), "\n"))
	all := strings.Join(here, "\n")
	require.Greater(t, strings.Count(all, `"partial":true`), 20)
	require.Contains(t, all, "[EMAIL_ADDRESS#")
	require.NotContains(t, all, "@example.com")
	require.NotContains(t, all, "4111")
	require.NotContains(t, strings.ReplaceAll(all, `"heron"`, ""),
		"heron") // but what the user said
}

// unstamped returns events, one a line, with their ids numbered and without their times.
func unstamped(t *testing.T, text string) (list []string) {
	ids := map[any]string{}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var e map[string]any
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		delete(e, "timestamp")
		if of, ok := e["session"].(map[string]any); ok { // of an export: its times
			delete(of, "createTime")
			delete(of, "lastUpdateTime")
		}
		for _, key := range []string{"id", "invocationId"} {
			if e[key] != nil && ids[e[key]] == "" {
				ids[e[key]] = fmt.Sprint(len(ids) + 1)
			}
			e[key] = ids[e[key]]
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		list = append(list, string(data))
	}
}
