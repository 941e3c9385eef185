//go:build unix

package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "audit.jsonl")
	p, _ := audit.New(audit.Config{Path: path})
	inv := &session.Invocation{
		ID:       "i1",
		Key:      session.Key{App: "shop", User: "ann", ID: "s1"},
		Position: 1,
	}
	call := &session.Event{
		ID:           "e1",
		InvocationID: "i1",
		Author:       "desk",
		Timestamp:    time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
		Content: genai.NewContentFromFunctionCall("pay",
			map[string]any{"card": "4111 1111 1111 1111"}, "model"),
	}
	_, _ = p.OnEvent(context.Background(), inv, call)
	_, _ = p.AfterRun(context.Background(), inv,
		plugin.End{Kind: plugin.EndStopped, Plugin: "policy", Reason: "no payments"})
	_ = p.Close(context.Background())
	data, _ := os.ReadFile(path)
	fmt.Print(regexp.MustCompile(`[0-9a-f]{58}"`).ReplaceAllString(string(data), `…"`))
	// Output:
	// {"n":1,"prev":"","kind":"event","time":"2026-03-02T09:00:00Z","app":"shop","user":"ann","session":"s1","invocation":"i1","id":"e1","author":"desk","calls":[{"name":"pay","size":30}]}
	// {"n":2,"prev":"045c41…","kind":"end","app":"shop","user":"ann","session":"s1","invocation":"i1","position":1,"end":{"kind":"stopped","plugin":"policy","reason":"no payments"}}
}

// loaded returns an event that has a secret wherever one can be.
func loaded(secret string) *session.Event {
	object := map[string]any{secret: secret, "error": secret}
	e := &session.Event{
		ID:                 secret,
		Branch:             secret,
		ErrorCode:          secret,
		ErrorMessage:       secret,
		FinishReason:       genai.FinishReason(secret),
		ModelVersion:       secret,
		CustomMetadata:     map[string]any{"note": secret},
		LongRunningToolIDs: []string{secret},
		Output:             object,
		NodeInfo: &session.NodeInfo{
			Path:      secret,
			OutputFor: []string{secret},
			OutputOf:  secret,
			Ended:     true,
		},
		Content: &genai.Content{Role: "model", Parts: []*genai.Part{
			nil, {}, {Text: secret}, {Text: secret, Thought: true},
			{FunctionCall: &genai.FunctionCall{Name: secret, ID: secret, Args: object}},
			{FunctionResponse: &genai.FunctionResponse{Name: secret, ID: secret, Response: object}},
			{
				InlineData: &genai.Blob{
					MIMEType:    "text/plain; name=" + secret,
					Data:        []byte(secret),
					DisplayName: secret,
				},
			},
			{FileData: &genai.FileData{FileURI: secret, MIMEType: secret, DisplayName: secret}},
			{
				ExecutableCode: &genai.ExecutableCode{Code: secret},
			}, {CodeExecutionResult: &genai.CodeExecutionResult{Output: secret}}}},
		Actions: session.Actions{
			StateDelta:      object,
			ArtifactDelta:   map[string]int64{secret: 1},
			TransferToAgent: secret,
			Route:           []any{secret, true},
			StateIncrement:  map[string]float64{"app:" + secret: 1},
			RequestedToolConfirmations: map[string]session.Confirmation{
				secret: {Hint: secret, Payload: secret},
			},
		},
	}
	n := plugin.Notes{
		Unchecked: []plugin.Note{{Plugin: "guard", Hook: plugin.OnEvent, Reason: secret}},
	}
	return n.With(e)
}

func TestNothingThatWasSaidIsInIt(t *testing.T) {
	const secret = "the password is <hunter2>"
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("0123456789abcdef\n"), 0o600))
	for name, keyFile := range map[string]string{"without a key": "", "with a key": key} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			p := create(t, audit.Config{Path: path, KeyFile: keyFile})
			inv := &session.Invocation{
				ID:    secret,
				Key:   session.Key{App: "a", User: "u", ID: "s"},
				Input: loaded(secret),
				State: map[string]any{"x": secret},
			}
			_, err := p.OnEvent(t.Context(), inv, loaded(secret))
			require.NoError(t, err)
			_, err = p.BeforeRun(t.Context(), inv)
			require.NoError(t, err)
			_, err = p.AfterRun(t.Context(), inv, plugin.End{
				Kind: plugin.EndFailed,
				Err: &plugin.Error{
					Plugin: "guard",
					Hook:   plugin.OnEvent,
					Err:    errors.New(secret),
				},
			})
			require.NoError(t, err)
			text := read(t, path)
			require.Equal(t, 3, strings.Count(text, "\n"))
			for _, piece := range []string{"password", "hunter2", "0123456789abcdef"} {
				require.NotContains(t, text, piece)
			}
			require.Contains(t, text, `"calls":[{"name":"(25 bytes)","id":"(25 bytes)","size":`)
			require.Contains(t, text,
				`"node":"(25 bytes)","ended":true,"output":123,"route":["(25 bytes)","true"]`)
			require.Contains(t, text, `"unchecked":[{"plugin":"guard","hook":"OnEvent"}]`)
			require.Contains(t, text,
				`"end":{"kind":"failed","plugin":"guard","hook":"OnEvent","error":"error"}`)
			fingerprint, err := audit.Fingerprint([]byte("0123456789abcdef"), secret)
			require.NoError(t, err)
			require.Equal(t, keyFile != "",
				strings.Contains(text, `"fingerprint":"`+fingerprint+`"`))
		})
	}
}

// The hostile event must not grow the line beyond bounds.
func TestListsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p := create(t, audit.Config{Path: path})
	e := &session.Event{Content: &genai.Content{}}
	for i := range 10_000 {
		e.Content.Parts = append(e.Content.Parts,
			genai.NewPartFromFunctionCall(fmt.Sprint("tool", i), nil))
	}
	require.NoError(t, offer(p, e, "e"))
	require.Less(t, len(read(t, path)), 20_000)
	require.Contains(t, read(t, path), `"more":9744`)
}

// fresh finds what is new in each run of a recording that has invocations without an input.
var fresh = regexp.MustCompile(
	`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|"prev":"[0-9a-f]{64}",`)

// In process, through the encoding, and as a process: the same file to the byte.
func TestTheSameFileEveryWay(t *testing.T) {
	for _, recording := range []string{"../../cmd/runner/testdata/rich.jsonl", "../../examples/support/conversation.jsonl"} {
		for _, key := range []string{"", `,"key_env":"AUDIT_KEY"`} {
			t.Run(filepath.Base(recording)+key, func(t *testing.T) {
				t.Setenv("AUDIT_KEY", "a key of enough bytes")
				dir := t.TempDir()
				config := func(name string) (c audit.Config) {
					require.NoError(t, json.Unmarshal([]byte(settings(dir, name, key)), &c))
					return c
				}
				direct, err := audit.New(config("direct"))
				require.NoError(t, err)
				play(t, recording, direct)
				encoded, err := audit.New(config("encoded"))
				require.NoError(t, err)
				play(t, recording, remote.Loopback(encoded))
				play(t, recording, process(t, settings(dir, "process", key), "AUDIT_KEY"))
				got := map[string]string{}
				for _, name := range []string{"direct", "encoded", "process"} {
					got[name] = read(t, filepath.Join(dir, name))
					if strings.Contains(
						recording,
						"rich",
					) { // it has invocations without an input, whose ids are new each time
						got[name] = fresh.ReplaceAllString(got[name], "")
					}
				}
				require.Greater(t, strings.Count(got["direct"], "\n"), 10)
				require.Equal(t, got["direct"], got["encoded"])
				require.Equal(t, got["direct"], got["process"])
			})
		}
	}
}

func settings(dir, name, more string) string {
	return fmt.Sprintf(`{"path":%q%s}`, filepath.Join(dir, name), more)
}

// What cannot be recorded does not happen.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "audit.jsonl")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	p, err := audit.New(audit.Config{Path: path})
	require.NoError(t, err)
	a := agent.New("a", "", func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "sub")))
			yield(session.Reply("unrecorded"), nil)
		}
	})
	mem := memory.New()
	r, err := runner.New(runner.Options{Agent: a, Sessions: mem, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	key := session.Key{App: "a", User: "u", ID: "s"}
	var last error
	for _, err := range r.Run(t.Context(), key, session.Message("hello"), session.RunConfig{Create: true}) {
		last = err
	}
	var failed *plugin.Error
	require.ErrorAs(t, last, &failed)
	require.Equal(t, "audit", failed.Plugin)
	for e, err := range mem.Read(t.Context(), key, session.Selection{}) {
		require.NoError(t, err)
		require.Equal(t, session.User, e.Author)
	}
	require.NoError(t, r.Close(t.Context()))
	require.ErrorIs(t, offer(p, session.Message("x"), "x"), os.ErrClosed)
}

// A line names the run of a workflow's node, its question and its route, as they are.
func TestNodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p := create(t, audit.Config{Path: path})
	e := &session.Event{
		Output: 0,
		NodeInfo: &session.NodeInfo{
			Path:  "desk@0192f0c1-2345-7abc-8def-0123456789ab/review@2",
			Ended: true,
		},
	}
	e.Actions.Route = "revise"
	e.Content = &genai.Content{
		Parts: []*genai.Part{
			{
				FunctionCall: &genai.FunctionCall{
					ID:   "desk@i/review@2#approve",
					Name: session.AskTool,
				},
			},
		},
	}
	require.NoError(t, offer(p, e, "e"))
	require.Contains(
		t,
		read(t, path),
		`"calls":[{"name":"adk_request_input","id":"desk@i/review@2#approve","size":0}],`+
			`"node":"desk@0192f0c1-2345-7abc-8def-0123456789ab/review@2","ended":true,"output":1,"route":["revise"]`,
	)
}
