package intercept_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/hooks/intercept"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

var ctx = context.Background()

// policy denies, holds, changes and withholds by what it reads.
var policy = &plugin.Plugin{
	Name: "policy",
	BeforeModel: func(_ context.Context, _ *session.Invocation, r *model.Request) (plugin.Outcome, error) {
		for i, c := range r.Contents {
			if strings.Contains(c.Parts[0].Text, "secret") {
				changed := *c.Parts[0]
				changed.Text = strings.ReplaceAll(changed.Text, "secret", "***")
				r.Contents[i].Parts[0] = &changed
			}
			if strings.Contains(c.Parts[0].Text, "too dear") {
				return plugin.Outcome{Withhold: true, Stop: true, Reason: "budget"}, nil
			}
		}
		return plugin.Outcome{}, nil
	},
	OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
		for i, p := range e.Parts() {
			switch {
			case p.FunctionCall != nil && p.FunctionCall.Args["do"] == "push":
				no := session.Respond(p.FunctionCall, map[string]any{"error": "Do not push."})
				return plugin.Outcome{Emit: []*session.Event{no}, Reason: "no pushing"}, nil
			case p.FunctionCall != nil && p.FunctionCall.Args["do"] == "ask":
				q := &session.Event{}
				q.Actions.Confirm(p.FunctionCall.ID, session.Confirmation{Hint: "really?"})
				return plugin.Outcome{Emit: []*session.Event{q}}, nil
			case p.FunctionCall != nil && p.FunctionCall.Args["do"] == "dirty":
				c := e.Clone()
				c.Parts()[i].FunctionCall.Args["do"] = "clean"
				return plugin.Outcome{Replace: c}, nil
			case p.FunctionResponse != nil && p.FunctionResponse.Response["result"] == "secret":
				c := e.Clone()
				c.Parts()[i].FunctionResponse.Response["result"] = "***"
				return plugin.Outcome{Replace: c}, nil
			case strings.Contains(p.Text, "secret"):
				c := e.Clone()
				c.Parts()[i].Text = strings.ReplaceAll(p.Text, "secret", "***")
				return plugin.Outcome{Replace: c}, nil
			case p.Text == "rude":
				return plugin.Outcome{Withhold: true, Reason: "be kind"}, nil
			case p.Text == "context?":
				return plugin.Outcome{Emit: []*session.Event{session.Reply("the house rules")}}, nil
			}
		}
		return plugin.Outcome{}, nil
	},
}

// TestAgentHooksInterceptor has the points with what the plugins make of them.
func TestAgentHooksInterceptor(t *testing.T) {
	sessions := memory.New()
	r, err := runner.New(runner.Options{
		Agent:    agent.Outside("other", ""),
		Sessions: sessions,
		Plugins:  []*plugin.Plugin{policy},
	})
	require.NoError(t, err)
	defer r.Close(ctx)
	i := &intercept.Interceptor{Runner: r, App: "other", User: "ann"}
	n := 0
	const tool = `"tool_call":{"id":"%s","name":"do","args":{"do":"%s","long":9007199254740993}}`
	for _, c := range []struct{ point, fields, want string }{
		{"agent_startup", `"agent_init":{"tools_registered":[]}`, "allow"},
		{"input", `"input":{"content":"hello","role":"user"}`, "allow"},
		{"pre_model_call", `"model":{"id":"m"},"messages":[{"role":"system","content":"be"},{"role":"user","content":"hello"}]`, "allow"},
		{"pre_model_call", `"model":{"id":"m"},"messages":[{"role":"user","content":"a secret"}]`, `transform $target [{"role":"user","content":"a ***"}]`},
		{"post_model_call", `"model":{"id":"m"},"response":{"content":null,"tool_calls":[],"finish_reason":"stop"}`, "allow"},
		{"post_model_call", `"model":{"id":"m"},"response":{"content":"a secret","tool_calls":[],"finish_reason":"stop"}`, `transform $target.content "a ***"`},
		{"post_model_call", `"model":{"id":"m"},"response":{"content":"rude","tool_calls":[],"finish_reason":"stop"}`, "deny be kind"},
		{"post_model_call", `"model":{"id":"m"},"response":{"content":"a","tool_calls":[],"finish_reason":"incremental"}`, "deny plughook:whole_answers_only"},
		{"pre_tool_call", fmt.Sprintf(tool, "t1", "look"), "allow"},
		{"post_tool_call", fmt.Sprintf(tool, "t1", "look") + `,"tool_result":{"value":"fine","is_error":false}`, "allow"},
		{"pre_tool_call", fmt.Sprintf(tool, "t2", "push"), "deny no pushing"},
		{"pre_tool_call", fmt.Sprintf(tool, "t3", "ask"), "deny plughook:held liftable"},
		{"post_tool_call", fmt.Sprintf(tool, "t3", "ask") + `,"tool_result":{"value":{"a":1},"is_error":false}`, "allow"},
		{"pre_tool_call", fmt.Sprintf(tool, "t4", "dirty"), `transform $target {"do":"clean","long":9007199254740993}`},
		{"post_tool_call", fmt.Sprintf(tool, "t4", "clean") + `,"tool_result":{"value":"secret","is_error":false}`, `transform $target "***"`},
		{"post_tool_call", fmt.Sprintf(tool, "t5", "look") + `,"tool_result":{"value":"not shown before","is_error":true}`, "allow"},
		{"output", `"output":{"content":"bye"}`, "allow"},
		{"agent_shutdown", `"summary":{"reason":"completed"}`, "allow"},
		{"input", `"input":{"content":"context?","role":"user"}`, "allow warns"},
		{"pre_model_call", `"model":{"id":"m"},"messages":[{"role":"user","content":"too dear"}]`, "deny budget"},
		{"pre_tool_call", fmt.Sprintf(tool, "t6", "look"), "deny budget"},
	} {
		context := fmt.Sprintf(`{"spec":"agent-hooks/0.1","interception_point":%q,"timestamp":"2026-01-01T00:00:00Z","sequence":%d,`+
			`"agent":{"id":"snake","framework":"x"},"session":{"id":"s"},%s}`, c.point, n, c.fields)
		n++
		for range 2 { // the second time it counts no more, and is answered alike
			v, err := i.Intercept(ctx, agenthooks.Context(context))
			require.NoError(t, err, context)
			got := string(v.Decision)
			switch {
			case v.Transform != nil:
				got += " " + v.Transform.Path + " " + string(v.Transform.Value)
			case v.Decision == agenthooks.Deny:
				got += " " + v.Reason
			case len(v.Warnings) > 0:
				got += " warns"
			}
			if v.Liftable() {
				got += " liftable"
			}
			require.Equal(t, c.want, got, context)
		}
	}
	events, err := session.ReadAll(ctx, sessions, session.Key{App: "other", User: "ann", ID: "s"}, session.Selection{})
	require.NoError(t, err)
	said := 0
	for _, e := range events {
		require.NotContains(t, e.Text(), "secret")
		if e.Text() == "bye" {
			said++
		}
	}
	require.Equal(t, 1, said)

	_, err = i.Intercept(ctx, agenthooks.Context(`{"interception_point":"lunch","session":{"id":"s"}}`))
	require.Error(t, err)
	_, err = i.Intercept(ctx, agenthooks.Context(`{`))
	require.Error(t, err)
}
