package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// everything is a configuration with each kind of plugin that is no process.
const everything = `
agent: {model: "script:script.yaml", tools: [look]}
tools: [{name: look, command: ["false"]}]
artifacts: artifacts
plugins:
  - logger: {content: true}
  - earlyexit: {rules: [{text: opening hours, answer: From 8 to 20.}]}
  - retry: {}
  - rewind: {}
  - compaction: {events: 6}
  - uploads: {}
  - budget: {limits: [{name: runs, count: runs, max: 1000000, per: app}, {name: calls, count: tool_calls, max: 100, per: session}]}
  - guardrail: {file: policy.yaml}
  - audit: {path: audit.log, sync: rotate, max_bytes: 100000, keep: 1}
`

const everyRule = `
version: 1
trusted_tools: []
rules:
  - {id: mails, detect: {pii: [EMAIL_ADDRESS]}, action: redact}
  - {id: prompts, stages: [prompt], detect: {words: [heron]}, action: redact}
  - {id: window, stages: [input], window: session, detect: {words: [pond]}, action: flag}
  - {id: sinks, stages: [tool_args], trust: untrusted, scope: {tool: send}, action: block}
  - {id: judged, stages: [input, output], judge: {model: "script:judge.yaml", question: "Is this medical?", timeout: 1m, on_error: block}, action: block}
`

const everyAnswer = `
- {response: [look], error: "*", say: "It failed."}
- {user: look, call: {name: look}}
- {say: "You said: {{.user}}. Write to bob@example.com.", stream: 20}
`

// heap returns how many bytes of the heap are in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// Sessions that were deleted leave nothing in a host that runs on, whatever plugins it has.
// PLUGHOOK_SOAK=40 makes it more than 10,000.
func TestDeletedSessionsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"runner.yaml": everything,
		"policy.yaml": everyRule,
		"script.yaml": everyAnswer,
		"judge.yaml":  `- {say: '{"flagged": false, "score": 0.1}'}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ctx := t.Context()
	c, err := config.Load(ctx, filepath.Join(dir, "runner.yaml"))
	require.NoError(t, err)
	parts, err := c.Open(ctx, config.Options{})
	require.NoError(t, err)
	defer parts.Close(context.WithoutCancel(ctx))
	r, err := runner.New(runner.Options{
		Agent:     parts.Agent,
		Sessions:  parts.Sessions,
		Plugins:   parts.Plugins,
		KeptViews: 1 << 20, // full before the first look
	})
	require.NoError(t, err)
	defer r.Close(context.WithoutCancel(ctx))

	n := 0
	live := func() {
		n++
		key := session.Key{App: "app", User: fmt.Sprint("user ", n), ID: fmt.Sprint("session ", n)}
		look := session.Message("hello again")
		file := look
		if n%20 == 0 { // a process and a synced file are slow
			look = session.Message("look")
			upload := genai.NewPartFromBytes(
				[]byte(strings.Repeat(fmt.Sprint("some data ", n), 1000)), "image/png")
			file = &session.Event{
				Content: genai.NewContentFromParts([]*genai.Part{{Text: "what is that?"}, upload},
					genai.RoleUser),
			}
		}
		for i, input := range []*session.Event{
			session.Message(fmt.Sprint("hello, I am ", n, " ann@example.com")),
			look,
			file,
			session.Message(fmt.Sprint(strings.Repeat("a long story ", 20), n)),
			session.Message("what are your opening hours?"),
		} {
			for _, err := range r.Run(ctx, key, input, session.RunConfig{Create: true, Streaming: session.SSE}) {
				require.NoError(t, err, "input %d", i)
			}
		}
		require.NoError(t, parts.Sessions.Delete(ctx, key))
	}
	warm := 250
	more := contract.Times(250)
	for range warm {
		live()
	}
	before := heap()
	for range more {
		live()
	}
	after := heap()
	t.Logf("after %d sessions %.1f MB, after %d more %.1f MB", warm, float64(before)/1e6, more,
		float64(after)/1e6)
	require.Less(t, after-before, 5<<20)
}
