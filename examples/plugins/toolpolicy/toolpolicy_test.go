// Package toolpolicy_test runs the plugin in this directory, which is written for Node.js, under a
// runner.
package toolpolicy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/node"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// needNode skips a test where the plugin cannot be started; where nothing may be skipped that is a
// failure, unless whoever runs the tests has said that no npm registry can be reached.
func needNode(t *testing.T) {
	t.Helper()
	why := ""
	if _, err := exec.LookPath("node"); err != nil {
		why = "node is not in PATH: install Node.js 18 or later"
	} else if _, err := os.Stat("node_modules/@grpc/grpc-js"); err != nil {
		why = "the plugin's packages are not installed: run npm ci in examples/plugins/toolpolicy"
	}
	switch {
	case why == "":
	case os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
}

// TestMain writes the library that the plugin is made with, as npm ci does.
func TestMain(m *testing.M) {
	if err := node.WriteWithTransport("plughook", "../transport.mjs"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// start starts the plugin with settings. Node.js is slow to start, and its first call is, on a busy
// machine.
func start(t *testing.T, settings string) (*plugin.Plugin, error) {
	return remote.Start(
		t.Context(),
		remote.Config{Command: []string{"node", "main.mjs"}, Settings: json.RawMessage(settings),
			StartTimeout: time.Minute, Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)},
	)
}

// asks is a model that calls these functions, all at once, and then ends.
type asks []*genai.FunctionCall

func (a asks) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	content := genai.NewContentFromText("Done.", genai.RoleModel)
	if len(req.Contents) == 1 {
		content = &genai.Content{Role: genai.RoleModel}
		for _, c := range a {
			content.Parts = append(content.Parts, &genai.Part{FunctionCall: c})
		}
	}
	return func(yield func(*model.Response, error) bool) { yield(&model.Response{Content: content}, nil) }
}

// echo is a tool that answers with its arguments.
func echo(name string) *tool.Tool {
	return &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: name},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			return map[string]any{"did": c.Args}, nil
		},
	}
}

const rules = `{"rules": [
	{"tool": "refund", "require": {"amount": {"max": 200}}, "else": "ask", "reason": "Refunds above 200 need a person."},
	{"tool": "delete_*", "reason": "Nothing is deleted here."},
	{"tool": "search", "set": {"locale": "de"}, "perRun": 1}
]}`

func TestPolicy(t *testing.T) {
	needNode(t)
	plug, err := start(t, rules)
	require.NoError(t, err)
	require.Equal(t, "toolpolicy", plug.Name)
	require.Equal(t, []plugin.Hook{plugin.OnEvent}, plug.Subscribes())
	bot, err := llm.New(llm.Config{
		Name:  "bot",
		Tools: []*tool.Tool{echo("refund"), echo("delete_user"), echo("search")},
		Model: asks{
			{ID: "1", Name: "refund", Args: map[string]any{"amount": 50}},
			{ID: "2", Name: "refund", Args: map[string]any{"amount": 500}},
			{ID: "3", Name: "delete_user", Args: map[string]any{"id": 7}},
			{
				ID:   "4",
				Name: "search",
				Args: map[string]any{
					"q":   strings.Repeat("Häuser ", 1<<20),
					"big": json.Number("9007199254740993"),
				},
			},
			{ID: "5", Name: "search", Args: map[string]any{"q": "again"}},
		},
	})
	require.NoError(t, err)
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: memory.New(), Plugins: []*plugin.Plugin{plug}})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(context.Background())) }()

	key := session.Key{App: "a", User: "ann", ID: "s"}
	said := map[string]string{}
	for e, err := range r.Run(t.Context(), key, session.Message("Do it."), session.RunConfig{Create: true}) {
		require.NoError(t, err)
		for _, c := range e.FunctionCalls() {
			if c.ID == "4" {
				require.Equal(t, "de", c.Args["locale"])
				require.Len(t, c.Args["q"], 8<<20, "what the plugin did not change is as it was")
				require.Equal(t, "9007199254740993", fmt.Sprint(c.Args["big"]),
					"and long numbers are")
			}
		}
		for _, a := range e.FunctionResponses() {
			data, err := json.Marshal(a.Response)
			require.NoError(t, err)
			said[a.ID] = fmt.Sprintf("%.60s", data) + " " + e.ErrorCode
		}
		for id, c := range e.Actions.RequestedToolConfirmations {
			said[id] = "asked: " + c.Hint
		}
	}
	require.Equal(t, `{"did":{"amount":50}} `, said["1"])
	require.Equal(t, "asked: Refunds above 200 need a person.", said["2"])
	require.Equal(t, `{"error":"Nothing is deleted here.","policy":"rule 2"} DENIED`, said["3"])
	require.Contains(t, said["4"], `{"did":`)
	require.Equal(t, `{"error":"search: it may be called 1 times in a run","policy DENIED`,
		said["5"])
}

func TestSettingsThatAreNot(t *testing.T) {
	needNode(t)
	for settings, says := range map[string]string{
		`{}`: "rules",
		`{"rules": [{"tool": "a", "else": "maybe"}]}`:                "/rules/*/else",
		`{"rules": [{"tool": "a", "require": {"n": {"max": "9"}}}]}`: "/rules/*/require/",
	} {
		_, err := start(t, settings)
		require.ErrorIs(t, err, remote.ErrSettings, settings)
		require.ErrorContains(t, err, says)
	}
}

func TestItsOwnTests(t *testing.T) {
	needNode(t)
	out, err := exec.Command("node", "--test").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
