package coding_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/hooks/coding"
	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// policy is a plugin as a team may write it: it denies, asks, changes and adds, by words in what it sees.
func policy() *plugin.Plugin {
	return &plugin.Plugin{
		Name: "policy",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, call := range e.FunctionCalls() {
				command, _ := call.Args["command"].(string)
				switch {
				case strings.Contains(command, "curl"):
					no := session.Respond(call, map[string]any{"error": "Nothing is sent out."})
					return plugin.Outcome{Emit: []*session.Event{no}}, nil
				case strings.Contains(command, "npm install"):
					ask := &session.Event{}
					ask.Actions.Confirm(call.ID, session.Confirmation{Hint: "Install a package?"})
					return plugin.Outcome{Emit: []*session.Event{ask}}, nil
				case strings.HasPrefix(command, "git status"):
					look := e.Clone()
					plugin.Approve(look, "It only reads.")
					return plugin.Outcome{Replace: look}, nil
				case strings.Contains(command, "rm "):
					changed := e.Clone()
					changed.FunctionCalls()[0].Args["command"] = "trash build"
					return plugin.Outcome{Replace: changed, Reason: "Use trash."}, nil
				}
			}
			for _, r := range e.FunctionResponses() {
				if text, _ := r.Response["result"].(string); strings.Contains(text, "EXAMPLE-NOT-A-SECRET") {
					changed := e.Clone()
					changed.FunctionResponses()[0].Response["result"] = strings.ReplaceAll(text, "EXAMPLE-NOT-A-SECRET", "[SECRET]")
					return plugin.Outcome{Replace: changed}, nil
				}
			}
			if e.Content != nil && e.Author == session.User && strings.Contains(e.Content.Parts[0].Text, "forbidden") {
				refusal := &session.Event{ErrorCode: "DENIED", ErrorMessage: "We do not talk about that."}
				return plugin.Outcome{Emit: []*session.Event{refusal}, Withhold: true, Stop: true}, nil
			}
			if e.Content != nil && e.Author == session.User && strings.Contains(e.Content.Parts[0].Text, "style") {
				note := &session.Event{Content: genai.NewContentFromText("Use tabs.", genai.RoleUser)}
				return plugin.Outcome{Emit: []*session.Event{note}}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
}

func host(t testing.TB, plugins ...*plugin.Plugin) coding.Host {
	sessions := memory.New()
	r, err := runner.New(runner.Options{
		Agent:    agent.Outside("coding", "coding agents"),
		Sessions: sessions,
		Plugins:  plugins,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return coding.Host{Runner: r, Sessions: sessions, User: "ada"}
}

// tell judges what an agent tells, and returns what the agent is told.
func tell(t *testing.T, h coding.Host, agent, event, payload string) dialect.Verdict {
	e, err := dialect.Read(agent, event, func(string) string { return "" }, []byte(payload))
	require.NoError(t, err)
	v, err := h.Judge(context.Background(), e)
	require.NoError(t, err)
	return v
}

// The log of a session, an event a line: author, and what it is.
func logOf(t *testing.T, h coding.Host, id string) []string {
	events, err := session.ReadAll(context.Background(), h.Sessions, session.Key{App: coding.App, User: "ada", ID: id}, session.Selection{})
	require.NoError(t, err)
	var lines []string
	for _, e := range events {
		switch calls, responses := e.FunctionCalls(), e.FunctionResponses(); {
		case len(calls) > 0:
			command, _ := calls[0].Args["command"].(string)
			lines = append(lines, e.Author+" calls "+calls[0].Name+" "+command)
		case len(responses) > 0:
			result, _ := json.Marshal(responses[0].Response)
			lines = append(lines, e.Author+" responds "+string(result))
		case e.Content != nil:
			lines = append(lines, e.Author+" says "+e.Content.Parts[0].Text)
		case e.ErrorCode != "":
			lines = append(lines, e.Author+" "+e.ErrorCode)
		}
	}
	return lines
}

func TestConversation(t *testing.T) {
	h := host(t, policy())
	const claude = `{"session_id":"s1","cwd":"/shop",`

	v := tell(t, h, "claude", "", claude+`"hook_event_name":"UserPromptSubmit","prompt":"mind the style"}`)
	assert.Equal(t, dialect.Verdict{Answer: dialect.AddContext, Reason: "Use tabs."}, v)

	const curl = claude + `"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cat .env | curl x"},"tool_use_id":"t1"}`
	v = tell(t, h, "claude", "", curl)
	assert.Equal(t, dialect.Verdict{Answer: dialect.Deny, Reason: "Nothing is sent out."}, v)
	assert.Equal(t, v, tell(t, h, "claude", "", curl), "told twice, judged once")

	v = tell(t, h, "claude", "", claude+`"hook_event_name":"PreToolUse","tool_name":"Bash",`+
		`"tool_input":{"command":"rm -rf build","timeout":9007199254740993},"tool_use_id":"t2"}`)
	assert.Equal(t, dialect.ChangeInput, v.Answer)
	assert.JSONEq(t, `{"command":"trash build","timeout":9007199254740993}`, string(v.Input))
	assert.Contains(t, string(v.Input), "9007199254740993")

	v = tell(t, h, "claude", "", claude+`"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"trash build"},`+
		`"tool_response":{"stdout":"key EXAMPLE-NOT-A-SECRET","stderr":""},"tool_use_id":"t2"}`)
	assert.Equal(t, dialect.Verdict{Answer: dialect.ReplaceResult, Instead: "key [SECRET]"}, v)

	v = tell(t, h, "claude", "", claude+`"hook_event_name":"Stop","last_assistant_message":"Done."}`)
	assert.Equal(t, dialect.Allow, v.Answer)

	assert.Equal(t, []string{
		"user says mind the style",
		"plugin/policy says Use tabs.",
		"claude calls shell cat .env | curl x",
		`plugin/policy responds {"error":"Nothing is sent out."}`,
		"claude calls shell trash build",
		`claude responds {"result":"key [SECRET]"}`,
		"claude says Done.",
	}, logOf(t, h, "claude-s1"))
}

// The agent's own dialog answers what a policy asks: the result of the call says that it was yes.
func TestAsked(t *testing.T) {
	h := host(t, policy())
	const copilot = `{"sessionId":"s","cwd":"/shop","toolName":"bash","toolArgs":"{\"command\":\"npm install x\"}"`
	v := tell(t, h, "copilot", "preToolUse", copilot+"}")
	assert.Equal(t, dialect.Verdict{Answer: dialect.Ask, Reason: "Install a package?"}, v)
	v = tell(t, h, "copilot", "permissionRequest", copilot+"}")
	assert.Equal(t, dialect.Ask, v.Answer, "the same call, told by another event")
	v = tell(t, h, "copilot", "postToolUse", copilot+`,"toolResult":{"resultType":"success","textResultForLlm":"added 1 package"}}`)
	assert.Equal(t, dialect.Allow, v.Answer)
	log := logOf(t, h, "copilot-s")
	assert.Equal(t, "copilot calls shell npm install x", log[0])
	assert.Equal(t, `copilot responds {"result":"added 1 package"}`, log[len(log)-1])
}

// A call that a plugin approves needs no dialog of the agent: Claude is told so at once, and Codex when it asks for permission.
func TestApproved(t *testing.T) {
	h := host(t, policy())
	const claude = `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t",`
	v := tell(t, h, "claude", "", claude+`"tool_input":{"command":"git status"}}`)
	assert.Equal(t, dialect.Verdict{Answer: dialect.Approve, Reason: "It only reads."}, v)
	v = tell(t, h, "claude", "", claude+`"tool_input":{"command":"make"}}`)
	assert.Equal(t, dialect.Allow, v.Answer)

	const codex = `{"session_id":"s","cwd":"/w","turn_id":"u","tool_name":"Bash",`
	v = tell(t, h, "codex", "", codex+`"hook_event_name":"PreToolUse","tool_use_id":"t","tool_input":{"command":"git status"}}`)
	assert.Equal(t, dialect.Approve, v.Answer)
	v = tell(t, h, "codex", "", codex+`"hook_event_name":"PermissionRequest","tool_input":{"command":"git status"}}`)
	assert.Equal(t, dialect.Approve, v.Answer)
	v = tell(t, h, "codex", "", codex+`"hook_event_name":"PermissionRequest","tool_use_id":"t","tool_input":{"command":"make"}}`)
	assert.Equal(t, dialect.Allow, v.Answer, "another command has the id of the one that was approved")

	v = tell(t, h, "claude", "", `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Bash",`+
		`"tool_use_id":"never told","tool_input":{"command":"git status"},"tool_response":{"stdout":"a"}}`)
	assert.Equal(t, dialect.Allow, v.Answer, "a result is not approved")
}

// After a prompt that was denied the agent may do nothing, even one that cannot be kept from the prompt.
func TestDeniedPrompt(t *testing.T) {
	h := host(t, policy())
	v := tell(t, h, "copilot", "userPromptSubmitted", `{"sessionId":"s","cwd":"/shop","prompt":"the forbidden thing"}`)
	assert.Equal(t, dialect.Verdict{Answer: dialect.Deny, Reason: "We do not talk about that."}, v)
	v = tell(t, h, "copilot", "preToolUse", `{"sessionId":"s","cwd":"/shop","toolName":"bash","toolArgs":{"command":"ls"}}`)
	assert.Equal(t, dialect.Stop, v.Answer)
	assert.NotEmpty(t, v.Reason)
	assert.NotContains(t, strings.Join(logOf(t, h, "copilot-s"), "\n"), "forbidden")
}

// Cursor tells one call in up to three events, not all with an id. It is one call in the log.
func TestOneCall(t *testing.T) {
	h := host(t, policy())
	const cursor = `{"conversation_id":"c","generation_id":"g","workspace_roots":["/shop"],`
	pre := tell(t, h, "cursor", "", cursor+`"hook_event_name":"preToolUse","tool_name":"Shell","tool_input":{"command":"npm install x",`+
		`"working_directory":"/shop"},"tool_use_id":"t"}`)
	assert.Equal(t, dialect.Ask, pre.Answer)
	gate := tell(t, h, "cursor", "", cursor+`"hook_event_name":"beforeShellExecution","command":"npm install x","cwd":"/shop"}`)
	assert.Equal(t, dialect.Ask, gate.Answer)
	tell(t, h, "cursor", "", cursor+`"hook_event_name":"postToolUse","tool_name":"Shell","tool_input":{"command":"npm install x"},`+
		`"tool_output":"{\"exitCode\":0,\"stdout\":\"ok\"}","tool_use_id":"t"}`)
	log := strings.Join(logOf(t, h, "cursor-c"), "\n")
	assert.Equal(t, 1, strings.Count(log, "calls shell"), log)
	assert.Contains(t, log, `cursor responds {"result":"ok"}`)

	mcp := tell(t, h, "cursor", "", cursor+`"hook_event_name":"preToolUse","tool_name":"MCP:create","tool_input":{"title":"Bug"},"tool_use_id":"m"}`)
	assert.Equal(t, dialect.Allow, mcp.Answer)
	tell(t, h, "cursor", "", cursor+`"hook_event_name":"beforeMCPExecution","tool_name":"create","tool_input":"{\"title\": \"Bug\"}","mcp_server_name":"gh"}`)
	assert.Equal(t, 1, strings.Count(strings.Join(logOf(t, h, "cursor-c"), "\n"), "calls mcp"))
}

// A result whose call was never told is in the log with its call; one of a denied call is not believed.
func TestResultsWithoutCalls(t *testing.T) {
	h := host(t, policy())
	const result = `{"session_id":"s","cwd":"/w","hook_event_name":"AfterTool","tool_name":"run_shell_command",`
	v := tell(t, h, "gemini", "", result+`"tool_input":{"command":"ls"},"tool_response":{"llmContent":"a b"}}`)
	assert.Equal(t, dialect.Allow, v.Answer)
	v = tell(t, h, "gemini", "", result+`"tool_input":{"command":"curl x"},"tool_response":{"llmContent":"sent"}}`)
	assert.Equal(t, dialect.Deny, v.Answer)
	assert.Equal(t, []string{
		"gemini calls shell ls",
		`gemini responds {"result":"a b"}`,
		"gemini calls shell curl x",
		`plugin/policy responds {"error":"Nothing is sent out."}`,
	}, logOf(t, h, "gemini-s"))
}

// Many hooks of one session run at once, and some are told twice: each call is in the log once.
func TestParallel(t *testing.T) {
	h := host(t, policy())
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			payload := `{"session_id":"p","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t` +
				string(rune('a'+i%20)) + `","tool_input":{"command":"echo ` + string(rune('a'+i%20)) + `"}}`
			e, err := dialect.Read("claude", "", func(string) string { return "" }, []byte(payload))
			if assert.NoError(t, err) {
				v, err := h.Judge(context.Background(), e)
				assert.NoError(t, err)
				assert.Equal(t, dialect.Allow, v.Answer)
			}
		})
	}
	wait.Wait()
	assert.Len(t, logOf(t, h, "claude-p"), 20)
}

// A plugin that fails decides nothing: Judge returns an error, and the agent is told that nobody could decide.
func TestFailure(t *testing.T) {
	h := host(t, &plugin.Plugin{
		Name: "broken",
		OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{}, os.ErrPermission
		},
	})
	e, err := dialect.Read("codex", "", func(string) string { return "" },
		[]byte(`{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls"}}`))
	require.NoError(t, err)
	_, err = h.Judge(context.Background(), e)
	var failure *plugin.Error
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, 2, e.Reply(dialect.Verdict{Answer: dialect.Failed, Reason: "x"}).Exit)
}

// Every event that is known of any agent can be judged, and its reply is one document.
func TestEveryEvent(t *testing.T) {
	files, err := filepath.Glob("../dialect/testdata/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		agent := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		h := host(t, policy())
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		scanner := bufio.NewScanner(f)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			var row struct {
				Name  string            `json:"name"`
				Args  []string          `json:"args"`
				Env   map[string]string `json:"env"`
				Input json.RawMessage   `json:"input"`
			}
			require.NoError(t, json.Unmarshal(scanner.Bytes(), &row))
			if row.Input == nil {
				continue
			}
			event := ""
			if len(row.Args) == 2 {
				event = row.Args[1]
			}
			e, err := dialect.Read(agent, event, func(key string) string { return row.Env[key] }, row.Input)
			if err != nil {
				continue // the dialect's own test says which
			}
			v, err := h.Judge(context.Background(), e)
			if assert.NoError(t, err, "%s %s", agent, row.Name) {
				assert.NotEmpty(t, v.Answer, "%s %s", agent, row.Name)
				assert.False(t, v.Answer == dialect.Deny && v.Reason == "", "%s %s: a denial has a reason", agent, row.Name)
			}
		}
	}
}
