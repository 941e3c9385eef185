package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Of several denials the one that ended the run is reported: the first, except those of tool calls, after which the
// agent goes on.
func TestTheDenialThatCounts(t *testing.T) {
	config := filepath.Join(t.TempDir(), "runner.yaml")
	require.NoError(t, os.WriteFile(config, []byte("agent: {replay: a.jsonl}"), 0o600))
	require.NoError(t, os.WriteFile(
		filepath.Join(filepath.Dir(config), "a.jsonl"),
		[]byte(`{"session":{"appName":"a","userId":"u","id":"s","state":{}}}
{"id":"1","invocationId":"i1","author":"user","content":{"role":"user","parts":[{"text":"Hi"}]}}
{"id":"2","invocationId":"i1","author":"agent","content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"pay"}}]}}
{"id":"3","invocationId":"i1","author":"agent","content":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"pay","response":{}}}]}}
{"id":"4","invocationId":"i1","author":"agent","content":{"role":"model","parts":[{"text":"Paid."}]}}
`),
		0o600,
	))
	before := func(name string) *plugin.Plugin {
		return &plugin.Plugin{
			Name: name,
			BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
				return plugin.Deny("No.", "closed"), nil
			},
		}
	}
	on := func(name string, has plugin.EventFeature, answer func(e *session.Event) plugin.Outcome) *plugin.Plugin {
		return &plugin.Plugin{
			Name:   name,
			Filter: &plugin.Filter{Authors: []string{"agent"}, Has: []plugin.EventFeature{has}},
			OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				return answer(e), nil
			},
		}
	}
	call := func(name string) *plugin.Plugin {
		return on(name, plugin.HasCall, func(e *session.Event) plugin.Outcome {
			denied := session.Respond(e.FunctionCalls()[0], map[string]any{"error": "no"})
			denied.ErrorCode, denied.ErrorMessage = session.Denied, "no payments"
			return plugin.Outcome{Emit: []*session.Event{denied}}
		})
	}
	bare := func(name, reason string) *plugin.Plugin {
		return on(name, plugin.HasCall, func(e *session.Event) plugin.Outcome {
			denied := session.Respond(e.FunctionCalls()[0], map[string]any{"error": "no"})
			denied.ErrorCode = session.Denied
			return plugin.Outcome{Emit: []*session.Event{denied}, Reason: reason}
		})
	}
	changed := on("editor", plugin.HasText, func(e *session.Event) plugin.Outcome {
		e = e.Clone()
		e.ErrorCode = session.Denied
		return plugin.Outcome{Replace: e, Reason: "tone"}
	})
	text := func(name string) *plugin.Plugin {
		return on(name, plugin.HasText,
			func(*session.Event) plugin.Outcome { return plugin.Deny("No.", "tone") })
	}
	for name, c := range map[string]struct {
		plugins []*plugin.Plugin
		says    string
	}{
		"two before the run":            {[]*plugin.Plugin{before("first"), before("second")}, "denied by plugin first: closed"},
		"two of the answer":             {[]*plugin.Plugin{text("first"), text("second")}, "denied by plugin first: tone"},
		"a call, and the run goes on":   {[]*plugin.Plugin{call("calls")}, "denied by plugin calls: no payments"},
		"a call, with a reason alone":   {[]*plugin.Plugin{bare("calls", "too many")}, "denied by plugin calls: too many"},
		"a call, without a word":        {[]*plugin.Plugin{bare("calls", "")}, "denied by plugin calls: DENIED"},
		"a changed event":               {[]*plugin.Plugin{changed}, "denied by plugin editor: tone"},
		"a call, and then the answer":   {[]*plugin.Plugin{call("calls"), text("words")}, "denied by plugin words: tone"},
		"the answer is denied, no call": {[]*plugin.Plugin{text("words")}, "denied by plugin words: tone"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, says bytes.Buffer
			p := &cli.Program{
				Stdout: &out,
				Stderr: &says,
				Adjust: func(o *runner.Options) { o.Plugins = append(o.Plugins, c.plugins...) },
			}
			require.Equal(t, exit.Denied.Number,
				p.Run(t.Context(), newRoot(p), []string{"run", "Hi", "--config", config, "-q"}),
				says.String())
			require.Equal(t, "runner: "+c.says+"\n", says.String())
		})
	}
}
