package server_test

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session/sqlite"
	"github.com/plughook/plughook/tool"
)

// buyer is a model that buys what it is asked for, and then says what the call was answered with.
type buyer struct{}

func (buyer) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		answer := &genai.Content{Role: genai.RoleModel}
		for _, c := range req.Contents {
			for _, p := range c.Parts {
				if p.FunctionResponse != nil {
					status, _ := p.FunctionResponse.Response["status"].(string)
					answer.Parts = append(answer.Parts, &genai.Part{Text: "It is " + status})
				}
			}
		}
		if len(answer.Parts) == 0 {
			answer.Parts = []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "buy-1", Name: "buy"}}}
		}
		yield(&model.Response{Content: answer}, nil)
	}
}

// serveShop serves an agent with a long-running tool that gives an interim answer.
func serveShop(t *testing.T) *service {
	t.Helper()
	buy := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "buy"},
		LongRunning: true,
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			return map[string]any{"status": "pending"}, nil
		},
	}
	desk, err := llm.New(llm.Config{Name: "desk", Model: buyer{}, Tools: []*tool.Tool{buy}})
	require.NoError(t, err)
	sessions, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	return &service{servertest.ServeOn(t, sessions, desk, func(o *server.Options) { o.Kit = true })}
}

// By each wire, a call with an interim answer waits for another one, which the model is then shown alone.
func TestASecondAnswerToALongRunningCall(t *testing.T) {
	t.Run("v1", func(t *testing.T) {
		s := serveShop(t)
		const path = "/v1/apps/desk/sessions/s"
		status, text := s.Do("POST", path+"/run", `{"message":"tea"}`)
		require.Equal(t, 200, status, text)
		require.Contains(t, text, "It is pending")
		require.Contains(t, text, `"kind":"waiting"`)
		status, text = s.Do("GET", path+"/waiting", "")
		require.Equal(t, 200, status, text)
		require.Contains(t, text, `"id":"buy-1"`)
		require.Contains(t, text, `"interim":{"status":"pending"}`)
		_, text = s.Do("GET", "/v1/apps/desk/sessions?waiting=true", "")
		require.Contains(t, text, `"id":"s"`)
		status, text = s.Do("POST", path+"/respond", `{"call":"buy-1","response":{"status":"approved"}}`)
		require.Equal(t, 200, status, text)
		require.Contains(t, text, `"text":"It is approved"`)
		require.Contains(t, text, `"kind":"done"`)
		status, text = s.Do("POST", path+"/respond", `{"call":"buy-1","response":{"status":"approved"}}`)
		require.Equal(t, 409, status, text)
	})
	t.Run("kit", func(t *testing.T) {
		s := serveShop(t)
		s.Do("POST", "/apps/desk/users/user/sessions/s", ``)
		run := func(part string) string {
			status, text := s.Do("POST", "/run",
				`{"appName":"desk","userId":"user","sessionId":"s","newMessage":{"role":"user","parts":[`+part+`]}}`)
			require.Equal(t, 200, status, text)
			return text
		}
		text := run(`{"text":"tea"}`)
		require.Contains(t, text, `"longRunningToolIds":["buy-1"]`)
		require.Contains(t, text, "It is pending")
		text = run(`{"functionResponse":{"id":"buy-1","name":"buy","response":{"status":"approved"}}}`)
		require.Contains(t, text, "It is approved")
	})
	t.Run("AG-UI", func(t *testing.T) {
		s := serveShop(t)
		request := servertest.AGUIRequest("r1", "tea")
		text := s.agui(request)
		require.Contains(t, text, "It is pending")
		require.Contains(t, text, `"type":"interrupt"`)
		text = s.agui(strings.Replace(servertest.AGUIRequest("r2", "tea"), `"content":"tea"}`,
			`"content":"tea"},{"id":"t1","role":"tool","toolCallId":"buy-1","content":"{\"status\":\"approved\"}"}`, 1))
		require.Contains(t, text, "It is approved")
		require.NotContains(t, text, `"type":"interrupt"`)
	})
	t.Run("A2A", func(t *testing.T) {
		s := serveShop(t)
		text := s.a2a("SendMessage", servertest.A2AMessage("m1", "tea", ""))
		require.Contains(t, text, "TASK_STATE_INPUT_REQUIRED")
		require.Contains(t, text, `"interim":{"status":"pending"}`)
		var answer struct {
			Result struct{ Task struct{ ID string } }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		text = s.a2a("SendMessage", `{"message":{"messageId":"m2","role":"ROLE_USER","taskId":"`+answer.Result.Task.ID+
			`","parts":[{"data":{"id":"buy-1","response":{"status":"approved"}}}]}}`)
		require.Contains(t, text, "It is approved")
		require.Contains(t, text, "TASK_STATE_COMPLETED")
	})
}
