package budget_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// What is decided when so much is used.
func TestUsed(t *testing.T) {
	c := limits(
		budget.Limit{Name: "tokens", Count: "tokens", Max: 200_000, Per: "session"},
		budget.Limit{Name: "rate", Count: "runs", Max: 30, Per: "user", Every: time.Hour},
		budget.Limit{
			Name:   "mails",
			Count:  "tool_calls",
			Max:    5,
			Per:    "user",
			Tools:  []string{"send_*"},
			Beyond: "ask",
		},
		budget.Limit{
			Name:  "pages",
			Count: "tool_calls",
			Max:   5,
			Per:   "user",
			Tools: []string{"web_fetch", "web_search"},
		},
		budget.Limit{Name: "free", Count: "model_calls", Max: 10, Per: "tenant"},
	)
	c.TenantKey = "user:tenant"
	p := made(t, c)
	const free = "app:budget:free:model_calls:ever:ad95d5fa651ba86d8923fe12:0"
	call := func(name string) *session.Event {
		return &session.Event{
			Author: "bot",
			Content: &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: name}}},
			},
		}
	}
	input := session.Message("hi")
	input.Author = session.User
	for name, c := range map[string]struct {
		used  map[string]any
		event *session.Event // nil is a model call
		want  string         // "" goes on
	}{
		"nothing, an input":                 {nil, input, ""},
		"nothing, a model call":             {nil, nil, ""},
		"nothing, a mail":                   {nil, call("send_mail"), ""},
		"all runs but one":                  {map[string]any{"user:budget:rate:runs:1h0m0s:0": 29.0}, input, ""},
		"all runs":                          {map[string]any{"user:budget:rate:runs:1h0m0s:0": 30.0}, input, "deny"},
		"all runs, a model call":            {map[string]any{"user:budget:rate:runs:1h0m0s:0": 30.0}, nil, ""},
		"all runs, one of them an hour ago": {map[string]any{"user:budget:rate:runs:1h0m0s:0": 30.0, "user:budget:rate:runs:1h0m0s:1777636800000": -1.0}, input, ""},
		"all runs, one of them almost":      {map[string]any{"user:budget:rate:runs:1h0m0s:0": 30.0, "user:budget:rate:runs:1h0m0s:1777636800001": -1.0}, input, "deny"},
		"all runs, another tenant's":        {map[string]any{"user:budget:rate:runs:1h0m0s:x:0": 30.0}, input, ""},
		"runs of another limit":             {map[string]any{"user:budget:rate2:runs:1h0m0s:0": 30.0}, input, ""},
		"runs of another window":            {map[string]any{"user:budget:rate:runs:2h0m0s:0": 30.0}, input, ""},
		"runs of the app":                   {map[string]any{"app:budget:rate:runs:1h0m0s:0": 30.0}, input, ""},
		"runs that are no number":           {map[string]any{"user:budget:rate:runs:1h0m0s:0": "30"}, input, ""},
		"all tokens, an input":              {map[string]any{"budget:tokens:tokens:ever:0": 200_001.0}, input, "deny"},
		"all tokens, a model call":          {map[string]any{"budget:tokens:tokens:ever:0": 200_000.0}, nil, "deny"},
		"all tokens but one":                {map[string]any{"budget:tokens:tokens:ever:0": 199_999.0}, nil, ""},
		"all tokens, a tool call":           {map[string]any{"budget:tokens:tokens:ever:0": 200_000.0}, call("send_mail"), ""},
		"all mails but one":                 {map[string]any{"user:budget:mails:tool_calls:ever:0": 4.0}, call("send_mail"), ""},
		"more than all mails":               {map[string]any{"user:budget:mails:tool_calls:ever:0": 7.0}, call("send_mail"), "ask"},
		"all mails, another tool":           {map[string]any{"user:budget:mails:tool_calls:ever:0": 7.0}, call("web_fetch"), ""},
		"all pages":                         {map[string]any{"user:budget:pages:tool_calls:ever:0": 5.0}, call("web_fetch"), "answer"},
		"model calls of the tenant":         {map[string]any{"user:tenant": "free", free: 10.0}, nil, "deny"},
		"model calls of the tenant but one": {map[string]any{"user:tenant": "free", free: 9.0}, nil, ""},
		"model calls of another tenant":     {map[string]any{"user:tenant": "paid", free: 10.0}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inv := &session.Invocation{ID: "i", Key: key("a"), State: c.used}
			var out plugin.Outcome
			var err error
			if c.event == nil {
				out, err = p.BeforeModel(ctx, inv, &model.Request{})
			} else {
				out, err = p.OnEvent(ctx, inv, c.event)
			}
			require.NoError(t, err)
			var did string
			for _, e := range out.Emit {
				switch {
				case out.Stop && out.Withhold && e.ErrorCode == session.Denied:
					did += "deny"
				case len(e.FunctionResponses()) == 1 && e.ErrorCode == session.Denied:
					did += "answer"
				case e.Actions.RequestedToolConfirmations["c"].Hint != "":
					did += "ask"
				}
			}
			require.Equal(t, c.want, did)
		})
	}
}

// The configuration of the documentation is one.
func TestDocumentedConfiguration(t *testing.T) {
	page, err := os.ReadFile("../../docs/budget.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	var file struct {
		Plugins []struct {
			Rewind    any            `yaml:"rewind"`
			Guardrail any            `yaml:"guardrail"`
			Budget    *budget.Config `yaml:"budget"`
		} `yaml:"plugins"`
	}
	_, err = yamlfile.Read("budget.md", block[1], &file)
	require.NoError(t, err)
	p := made(t, *file.Plugins[2].Budget)
	require.Equal(t, "budget", p.Name)
}

// What a workflow says of its nodes is no model's answer, and a question to a person is no call of
// a tool. The call of a node's tool is one.
func TestAWorkflowsOwnEvents(t *testing.T) {
	p := made(t, limits(budget.Limit{Name: "tools", Count: "tool_calls", Max: 5, Per: "session"},
		budget.Limit{Name: "models", Count: "model_calls", Max: 5, Per: "session"}))
	calls := func(author, name string) *session.Event {
		content := &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: name}}},
		}
		return &session.Event{
			Author:   author,
			Content:  content,
			NodeInfo: &session.NodeInfo{Path: "desk@i/n@1"},
		}
	}
	failed := &session.Event{
		Author:    "desk",
		ErrorCode: "NODE_FAILED",
		NodeInfo:  &session.NodeInfo{Path: "desk@i/n@1"},
	}
	ended := &session.Event{
		Author:   "desk",
		Output:   "out",
		NodeInfo: &session.NodeInfo{Path: "desk@i/n@1", Ended: true},
	}
	for name, c := range map[string]struct {
		event         *session.Event
		tools, models bool
	}{
		"a failed attempt":       {failed, false, false},
		"an end":                 {ended, false, false},
		"a question":             {calls("desk", session.AskTool), false, false},
		"a node's tool":          {calls("desk", "price"), true, false},
		"an agent's call":        {calls("writer", "price"), true, true},
		"an agent's call to ask": {calls("writer", session.AskTool), true, true},
	} {
		out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key("a")}, c.event)
		require.NoError(t, err, name)
		increments := map[string]float64{}
		if out.Replace != nil {
			for key, by := range out.Replace.Actions.StateIncrement {
				increments[key] = by
			}
			for key, v := range out.Replace.Actions.StateDelta {
				increments[key], _ = v.(float64)
			}
		}
		require.Equal(t, c.tools, increments["budget:tools:tool_calls:ever:0"] == 1, "%s: %v", name,
			increments)
		require.Equal(t, c.models, increments["budget:models:model_calls:ever:0"] == 1, "%s: %v",
			name, increments)
	}
}
