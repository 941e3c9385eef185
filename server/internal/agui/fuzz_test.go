package agui

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// Whatever a client sends is an input, nothing, or an error for it.
func FuzzRequest(f *testing.F) {
	f.Add(
		[]byte(`{"threadId":"a","runId":"r","messages":[{"id":"u","role":"user","content":"hi"}]}`))
	f.Add([]byte(
		`{"threadId":"a","runId":"r","messages":[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]}]}`,
	))
	f.Add([]byte(
		`{"threadId":"a","runId":"r","messages":[{"id":"t","role":"tool","toolCallId":"c","content":"{}"}]}`,
	))
	f.Add([]byte(
		`{"threadId":"a","runId":"r","resume":[{"interruptId":"c","status":"resolved","payload":{"approved":true,"why":1}}],"forwardedProps":{"command":{"name":"x"}}}`,
	))
	call := &session.Event{
		ID:     "e",
		Author: "bot",
		Content: &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "f"}}},
		},
		LongRunningToolIDs: []string{"c"},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var q request
		if web.Unmarshal(data, &q) != nil || q.check() != nil {
			return
		}
		props, err := q.props()
		if err != nil {
			return
		}
		e, err := q.input(func(list []sessions.WaitingCall) []sessions.WaitingCall { return list },
			[]*session.Event{call}, props)
		if err == nil && e != nil {
			require.NotEmpty(t, e.ID)
			require.Equal(t, session.User, e.Author)
			_, err := e.MarshalJSON()
			require.NoError(t, err)
		}
	})
}
