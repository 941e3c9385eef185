package plugin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

func TestFilter(t *testing.T) {
	part := func(p *genai.Part) *session.Event {
		return &session.Event{
			Author:  "bot",
			Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{nil, p}},
		}
	}
	events := map[plugin.EventFeature]*session.Event{
		plugin.HasText:     part(&genai.Part{Text: "hi"}),
		plugin.HasCall:     part(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "f"}}),
		plugin.HasResponse: part(&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f"}}),
		plugin.HasMedia:    part(&genai.Part{FileData: &genai.FileData{FileURI: "x"}}),
		plugin.HasState: {
			Author:  "bot",
			Actions: session.Actions{StateDelta: map[string]any{"a": 1.0}},
		},
		plugin.HasError:        {Author: "bot", ErrorCode: "X"},
		plugin.HasConfirmation: session.Decision(true, "c1"),
		plugin.HasTransfer:     {Author: "bot", Actions: session.Actions{TransferToAgent: "b"}},
		plugin.HasMarker: {
			Author:  "plugin/rewind",
			Actions: session.Actions{Rewind: &session.Rewind{}},
		},
	}
	for has := range events {
		for what, e := range events {
			f := &plugin.Filter{Has: []plugin.EventFeature{has}}
			require.Equal(t, has == what, f.Match(e), "%s of an event with %s", has, what)
		}
	}
	hi := events[plugin.HasText]
	for want, list := range map[bool][]*plugin.Filter{
		true:  {nil, {}, {Authors: []string{"user", "bot"}}, {Authors: []string{"b*"}}, {Has: []plugin.EventFeature{plugin.HasCall, plugin.HasText}}},
		false: {{Authors: []string{"user"}}, {Authors: []string{"plugin/*"}}, {Authors: []string{"bo"}}, {Authors: []string{"bot"}, Has: []plugin.EventFeature{plugin.HasCall}}},
	} {
		for _, f := range list {
			require.Equal(t, want, f.Match(hi), "%+v", f)
		}
	}
	look := func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
		return plugin.Outcome{}, nil
	}
	require.ErrorContains(
		t,
		plugin.Validate(&plugin.Plugin{
			Name:    "a",
			OnEvent: look,
			Filter:  &plugin.Filter{Has: []plugin.EventFeature{"texts"}},
		}),
		`"texts"`,
	)
}
