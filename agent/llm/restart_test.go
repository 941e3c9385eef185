//go:build unix

package llm_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/tool"
)

// firstLife names the store to the process that is killed.
const firstLife = "PLUGHOOK_FIRST_LIFE"

// ready is what that process writes when it can be killed.
const ready = "ready"

// life is one of two processes on one store.
type life struct {
	t     *testing.T
	path  string // the store's
	first bool   // it is killed
}

// model gives the answers of this life.
func (l *life) model(first, second []any) *fake {
	if l.first {
		return answers(first...)
	}
	return answers(second...)
}

// tool is one that notes each execution on disk. The first life is killed in it.
func (l *life) tool(name string) *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: name},
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			f, err := os.OpenFile(l.path+".executed", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			if _, err := fmt.Fprintln(f, name); err != nil {
				return nil, err
			}
			if err := f.Close(); err != nil {
				return nil, err
			}
			if l.first {
				l.toBeKilled()
			}
			return map[string]any{"ok": true}, nil
		},
	}
}

func (l *life) toBeKilled() {
	fmt.Println(ready)
	_, _ = io.Copy(io.Discard,
		os.Stdin) // until the other process has gone: then there is nobody to tell
	os.Exit(1)
}

// live runs inputs.
func (l *life) live(svc session.Service, c restart, inputs ...any) {
	b := &bench{l.t, c.agent(l), c.plugins, svc, session.RunConfig{Create: true}}
	for _, input := range inputs {
		if input == approve {
			input = session.Decision(true, held(b.live())...)
		}
		_, err := b.run(input)
		require.NoError(l.t, err)
	}
}

// approve is an input that says yes to all that is held.
const approve = "yes"

// held returns the ids of the calls that are.
func held(events []*session.Event) (ids []string) {
	for _, c := range session.Calls(events) {
		if c.Response == nil && c.Held != nil && c.Decision == nil {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// kill runs this test in a process of its own, which lives the first life, until it is ready, and
// kills it.
func kill(t *testing.T, path string) {
	names := strings.Split(t.Name(), "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(names, "/"))
	cmd.Env = append(os.Environ(), firstLife+"="+path)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	var said []string
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != ready; {
		said = append(said, lines.Text())
	}
	_ = cmd.Process.Kill() // it has ended if that fails, which Wait tells
	_ = cmd.Wait()
	require.False(t, cmd.ProcessState.Exited(), "it ended before it could be killed: %v %s", said,
		&stderr)
}

// restart is a conversation in two lives.
type restart struct {
	agent   func(l *life) agent.Agent
	plugins []*plugin.Plugin
	first   []any // inputs; the process is killed after them, or in a tool
	second  any
	log     []string // that the store has in the end
}

// deny answers calls of a function.
func deny(name string) *plugin.Plugin {
	return onEvent("deny", func(e *session.Event) (out plugin.Outcome) {
		for _, c := range session.Calls([]*session.Event{e}) {
			if c.Name == name {
				no := session.Respond(c.FunctionCall, map[string]any{"error": "not allowed"})
				no.ErrorCode = session.Denied
				out.Emit = append(out.Emit, no)
			}
		}
		return out
	})
}

func TestKilledAndStartedAgain(t *testing.T) {
	const interrupted = `{"error":"interrupted: the run ended before the function had answered; it may or may not have had its effects","interrupted":true}`
	pays := func(l *life) *fake { return l.model([]any{calls("pay", "")}, []any{"settled"}) }
	alone := func(l *life) agent.Agent {
		return build(l.t, llm.Config{Model: pays(l), Tools: []*tool.Tool{l.tool("pay")}})
	}
	caller := func(l *life) agent.Agent {
		return build(l.t, llm.Config{
			Model: l.model([]any{calls("expert", `{"request":"pay"}`)}, []any{"done"}),
			AgentTools: []agent.Agent{
				build(l.t, llm.Config{
					Name:  "expert",
					Model: pays(l),
					Tools: []*tool.Tool{l.tool("pay")},
				})},
		})
	}
	front := func(l *life) agent.Agent {
		return build(l.t, llm.Config{
			Name:  "front",
			Model: l.model([]any{to("books")}, nil),
			SubAgents: []agent.Agent{
				build(l.t, llm.Config{
					Name:  "books",
					Model: pays(l),
					Tools: []*tool.Tool{l.tool("pay")},
				})},
		})
	}
	told := func(req *model.Request) any {
		return "I was told: " + strings.Join(partsLine(req.Contents[len(req.Contents)-1].Parts),
			" ")
	}
	asks := []*plugin.Plugin{ask("pay")}
	for name, c := range map[string]restart{
		"of two calls one is denied, and one approved in another process": {
			agent: func(l *life) agent.Agent {
				return build(l.t, llm.Config{Model: l.model([]any{calls("delete", "", "pay", "")}, []any{told}), Tools: []*tool.Tool{l.tool("delete"), l.tool("pay")}})
			},
			plugins: []*plugin.Plugin{deny("delete"), ask("pay")}, first: []any{"go"}, second: approve,
			log: []string{"user: go", "bot: delete(null) pay(null)", `plugin/deny: delete={"error":"not allowed"} !DENIED`, "plugin/ask: confirm(sure? false)",
				"user: confirm( true)", `bot: pay={"ok":true}`, `bot: I was told: delete={"error":"not allowed"} pay={"ok":true}`}},
		"a callee's call is approved": {agent: caller, plugins: asks, first: []any{"go"}, second: approve,
			log: []string{"user: go", `bot: expert({"request":"pay"})`, "bot|expert@c1: pay", "expert|expert@c1: pay(null)", "plugin/ask|expert@c1: confirm(sure? false)", "bot: later[c1]",
				"user: confirm( true)", `expert|expert@c1: pay={"ok":true}`, "expert|expert@c1: settled", `bot: expert={"result":"settled"}`, "bot: done"}},
		"a sub-agent's call is approved": {agent: front, plugins: asks, first: []any{"go"}, second: approve,
			log: []string{"user: go", `front: transfer_to_agent({"agent_name":"books"})`, `front: transfer_to_agent={"result":"handed over to books"} →books`, "books: pay(null)", "plugin/ask: confirm(sure? false)",
				"user: confirm( true)", `books: pay={"ok":true}`, "books: settled"}},
		"killed in a tool": {agent: alone, first: []any{"go"}, second: "and?",
			log: []string{"user: go", "bot: pay(null)", "user: and?", "bot: pay=" + interrupted, "bot: settled"}},
		"killed in a callee's tool": {agent: caller, first: []any{"go"}, second: "and?",
			log: []string{"user: go", `bot: expert({"request":"pay"})`, "bot|expert@c1: pay", "expert|expert@c1: pay(null)",
				"user: and?", "bot: expert=" + interrupted, "expert|expert@c1: pay=" + interrupted, "bot: done"}},
		"killed in a sub-agent's tool": {agent: front, first: []any{"go"}, second: "and?",
			log: []string{"user: go", `front: transfer_to_agent({"agent_name":"books"})`, `front: transfer_to_agent={"result":"handed over to books"} →books`, "books: pay(null)",
				"user: and?", "books: pay=" + interrupted, "books: settled"}},
		"killed in a tool that was approved": {agent: alone, plugins: asks, first: []any{"go", approve}, second: "and?",
			log: []string{"user: go", "bot: pay(null)", "plugin/ask: confirm(sure? false)", "user: confirm( true)",
				"user: and?", "bot: pay=" + interrupted, "bot: settled"}},
		"killed in a tool beside a call that is held": {
			agent: func(l *life) agent.Agent {
				send := echo(l.t, "send")
				return build(l.t, llm.Config{Model: l.model([]any{calls("pay", "", "send", `{"text":"x"}`)}, []any{told}), Tools: []*tool.Tool{l.tool("pay"), send}})
			},
			plugins: []*plugin.Plugin{ask("send")}, first: []any{"go"}, second: approve,
			log: []string{"user: go", `bot: pay(null) send({"text":"x"})`, "plugin/ask: confirm(sure? false)",
				"user: confirm( true)", "bot: pay=" + interrupted, `bot: send={"result":"send x"}`,
				"bot: I was told: pay=" + interrupted + ` send={"result":"send x"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if path := os.Getenv(firstLife); path != "" {
				l := &life{t, path, true}
				svc, err := sqlite.Open(ctx, path)
				require.NoError(t, err)
				l.live(svc, c, c.first...)
				l.toBeKilled()
			}
			t.Parallel() // who is killed in a turn holds it for some seconds
			path := filepath.Join(t.TempDir(), "sessions.db")
			kill(t, path)
			svc, err := sqlite.Open(ctx, path)
			require.NoError(t, err)
			defer func() { require.NoError(t, svc.Close()) }()
			(&life{t, path, false}).live(svc, c, c.second)
			require.Equal(t, strings.Join(c.log, "\n"), strings.Join(log(t, svc), "\n"))
			executed, err := os.ReadFile(path + ".executed")
			require.NoError(t, err)
			require.Equal(t, "pay\n", string(executed), "once, in one of the two lives")
			require.Equal(t, file(t, svc), replayed(t, svc), "played again, the log is the same")
		})
	}
}

// asked is the id in a line of what a human is asked, or has answered.
var asked = regexp.MustCompile(`confirm\(\S+ `)

// log is what a store has, as lines.
func log(t *testing.T, svc session.Service) (lines []string) {
	for e, err := range svc.Read(ctx, key, session.Selection{}) {
		require.NoError(t, err)
		lines = append(lines, asked.ReplaceAllString(line(e), "confirm("))
	}
	return lines
}

// sessionTimes are the times in a session file that are the store's.
var sessionTimes = regexp.MustCompile(`,"createTime":"[^"]*","lastUpdateTime":"[^"]*"`)

// file is the session file of what a store has, without the session's times.
func file(t *testing.T, svc session.Service) string {
	var b strings.Builder
	require.NoError(t, session.Export(ctx, svc, key, &b))
	return sessionTimes.ReplaceAllString(b.String(), "")
}

// replayed plays what a store has into another one, and returns the session file of that.
func replayed(t *testing.T, svc session.Service) string {
	fresh := memory.New()
	for rec, err := range session.ReadRecordings("session", strings.NewReader(file(t, svc))) {
		require.NoError(t, err)
		player, err := replay.New("agent", rec)
		require.NoError(t, err)
		_, err = fresh.Create(ctx, rec.Key, rec.State)
		require.NoError(t, err)
		r, err := runner.New(runner.Options{Agent: player, Sessions: fresh, Restore: true})
		require.NoError(t, err)
		for input := range player.Inputs(rec.Key) {
			for _, err := range r.Run(ctx, rec.Key, input, session.RunConfig{}) {
				require.NoError(t, err)
			}
		}
		require.NoError(t, r.Close(ctx))
	}
	return file(t, fresh)
}
