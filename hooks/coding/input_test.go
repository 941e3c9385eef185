package coding_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/hooks/coding"
	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A told is a call of a shell as an agent tells it: the event, and a payload with gaps for the command and the time.
type told struct{ agent, event, payload string }

var shells = []told{
	{"claude", "PreToolUse", `{"hook_event_name":"PreToolUse","transcript_path":"/t","permission_mode":"default","session_id":"s","cwd":"/w","timestamp":"TIME","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"COMMAND","n":{"id":[9007199254740993,1e2]}}}`},
	{"codex", "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","timestamp":"TIME","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"COMMAND","n":{"id":[9007199254740993,1e2]}}}`},
	{"copilot", "preToolUse", `{"sessionId":"s","cwd":"/w","timestamp":"TIME","toolName":"bash","toolArgs":{"command":"COMMAND","n":{"id":[9007199254740993,1e2]}}}`},
	{"cursor", "preToolUse", `{"hook_event_name":"preToolUse","conversation_id":"s","workspace_roots":["/w"],"timestamp":"TIME","tool_name":"Shell","tool_use_id":"t","tool_input":{"command":"COMMAND","n":{"id":[9007199254740993,1e2]}}}`},
	{"gemini", "BeforeTool", `{"hook_event_name":"BeforeTool","session_id":"s","cwd":"/w","timestamp":"TIME","tool_name":"run_shell_command","tool_input":{"command":"COMMAND","n":{"id":[9007199254740993,1e2]}}}`},
}

func (c told) input(command, now string) coding.Input {
	payload := strings.NewReplacer("COMMAND", command, "TIME", now).Replace(c.payload)
	return coding.Input{Agent: c.agent, Event: c.event, Payload: []byte(payload)}
}

const now = "2026-11-01T10:00:00Z"

// Input that nobody can read is refused in the agent's own form, and nothing of it is in a log.
func TestBrokenInput(t *testing.T) {
	for _, c := range shells {
		h := host(t, policy())
		whole := c.input("ls", now).Payload
		want := coding.Refuse(coding.Input{Agent: c.agent, Event: c.event, Payload: []byte("{")})
		assert.Equal(t, 2, want.Exit, c.agent)
		assert.NotEmpty(t, want.Stderr, "%s: an empty line lets the call pass in some agents", c.agent)

		inputs := [][]byte{nil, []byte("null"), []byte("[]"), append(bytes.Clone(whole), whole...), []byte("\x00\xff")}
		for i := 1; i < len(whole); i += 7 {
			inputs = append(inputs, whole[:i])
		}
		twice := bytes.Replace(whole, []byte(`{"`), []byte(`{"cwd":"/a","cwd":"/b","`), 1)
		deep := bytes.Replace(whole, []byte(`1e2`), []byte(strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), 1)
		inputs = append(inputs, twice, deep, c.input(strings.Repeat("x", dialect.MaxInput), now).Payload)
		for _, payload := range inputs {
			reply, err := h.Answer(context.Background(), coding.Input{Agent: c.agent, Event: c.event, Payload: payload})
			require.ErrorIs(t, err, dialect.ErrInput, "%s %.80q", c.agent, payload)
			assert.Equal(t, want, reply, "%s %.80q", c.agent, payload)
		}
		for s, err := range h.Sessions.List(context.Background(), coding.App, "ada") {
			require.NoError(t, err)
			t.Errorf("%s: there is a session %s", c.agent, s.ID)
		}
	}
}

// Input that is strange and whole is judged: 10 MB, lone surrogates, a clock that is wrong.
func TestStrangeInput(t *testing.T) {
	for i, c := range shells {
		large := []int{9 << 20, 1 << 20}[min(i, 1)] // one agent is enough for the largest
		h := host(t, policy())
		allowed, err := h.Answer(context.Background(), c.input("ls", now))
		require.NoError(t, err)
		for command, when := range map[string]string{
			strings.Repeat("x", large): now,
			`echo \ud800 \udc00\ud800`: now,
			"echo early":               "0001-01-01T00:00:00Z",
			"echo late":                "9999-12-31T23:59:59Z",
			"echo never":               "yesterday",
		} {
			again := c
			again.payload = strings.Replace(c.payload, `_id":"t"`, fmt.Sprintf(`_id":"%d"`, len(command)), 1)
			reply, err := h.Answer(context.Background(), again.input(command, when))
			require.NoError(t, err, "%s %.40s", c.agent, command)
			assert.Equal(t, allowed, reply, "%s %.40s", c.agent, command)
		}
		log := logOf(t, h, c.agent+"-s")
		assert.Len(t, log, 6)
		assert.Contains(t, strings.Join(log, "\n"), "echo \ufffd \ufffd\ufffd")
	}
}

// A hook that is told twice with an id is judged once, whatever its clock says. Without ids it may be another call.
func TestReplays(t *testing.T) {
	for _, c := range shells {
		h := host(t, policy())
		first, err := h.Answer(context.Background(), c.input("curl x", now))
		require.NoError(t, err)
		again, err := h.Answer(context.Background(), c.input("curl x", "2026-11-02T10:00:00Z"))
		require.NoError(t, err)
		assert.Equal(t, first, again, c.agent)
		calls := strings.Count(strings.Join(logOf(t, h, c.agent+"-s"), "\n"), "calls shell")
		want := map[bool]int{true: 1, false: 2}[strings.Contains(c.payload, "tool_use_id")]
		assert.Equal(t, want, calls, c.agent)
	}
}

// A change keeps long numbers, also inside of an argument that was changed; one that the agent cannot be told is a denial.
func TestChangedArguments(t *testing.T) {
	change := func(key string, to func(any) any) *plugin.Plugin {
		return &plugin.Plugin{
			Name: "changer",
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				if len(e.FunctionCalls()) == 0 {
					return plugin.Outcome{}, nil
				}
				e = e.Clone()
				args := e.FunctionCalls()[0].Args
				args[key] = to(args[key])
				return plugin.Outcome{Replace: e}, nil
			},
		}
	}
	longer := change("n", func(v any) any {
		m := v.(map[string]any)
		m["more"] = m["id"]
		return m
	})
	elsewhere := change("cwd", func(any) any { return "/elsewhere" })
	impossible := change("n", func(any) any { return make(chan int) })
	for _, c := range shells {
		reply, err := host(t, longer).Answer(context.Background(), c.input("ls", now))
		require.NoError(t, err)
		assert.Contains(t, string(reply.Stdout), `"n":{"id":[9007199254740993,100],"more":[9007199254740993,100]}`, c.agent)

		h := host(t, elsewhere)
		reply, err = h.Answer(context.Background(), c.input("ls", now))
		require.NoError(t, err)
		assert.Contains(t, string(reply.Stdout), "has changed the cwd of this call", c.agent)
		assert.NotContains(t, string(reply.Stdout), "/elsewhere", c.agent)

		reply, err = host(t, impossible).Answer(context.Background(), c.input("ls", now))
		assert.Error(t, err)
		assert.Equal(t, 2, reply.Exit, c.agent)
	}
}

// A call in an event that nobody knows is denied, unless that is configured; a notice passes.
func TestUnknownEvents(t *testing.T) {
	for _, c := range shells {
		h := host(t, policy())
		in := c.input("ls", now)
		in.Event = "preToolUseNext"
		in.Payload = bytes.Replace(in.Payload, []byte(`_name":"`+c.event), []byte(`_name":"`+in.Event), 1)
		reply, err := h.Answer(context.Background(), in)
		require.NoError(t, err)
		assert.Contains(t, string(reply.Stdout)+reply.Stderr, "so the call of", c.agent)
		h.AllowUnknown = true
		allowed, err := h.Answer(context.Background(), in)
		require.NoError(t, err)
		assert.NotContains(t, string(allowed.Stdout)+allowed.Stderr, "so the call of", c.agent)

		in.Payload = bytes.Replace(in.Payload, []byte(`tool`), []byte(`other`), -1)
		h.AllowUnknown = false
		notice, err := h.Answer(context.Background(), in)
		require.NoError(t, err)
		assert.Equal(t, allowed, notice, c.agent)
	}
}

// A call with several paths hides none of them: a model may add one to be judged by, and the tool takes another.
func TestDecoys(t *testing.T) {
	saw := ""
	h := host(t, &plugin.Plugin{
		Name: "spy",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, call := range e.FunctionCalls() {
				saw = fmt.Sprint(call.Args["path"], " ", call.Args["paths"])
			}
			return plugin.Outcome{}, nil
		},
	})
	for args, want := range map[string]string{
		`"file_path":"/w/a"`:                             "/w/a <nil>",
		`"file_path":"/w/.env","path":"/w/a"`:            "/w/a [/w/.env /w/a]",
		`"path":"/w/a","notebook_path":".env"`:           "/w/a [/w/a .env]",
		`"file_path":"/w/.env","path":"/w/a","paths":[]`: "/w/a [/w/.env /w/a]",
		`"file_path":"/w/.env","paths":["/w/a"]`:         "/w/.env [/w/a]",
	} {
		payload := `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Write","tool_input":{"content":"x",` + args + `}}`
		tell(t, h, "claude", "PreToolUse", payload)
		assert.Equal(t, want, saw, args)
	}
}
