package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// serveForm serves a workflow that asks for a name and a size at once, and says both then. Each call is a
// server as in a process of its own, on the same store.
func serveForm(t *testing.T, store string) *service {
	name := workflow.Func(
		"name",
		func(ctx context.Context, r *workflow.Run, _ any) (string, error) {
			return workflow.Ask[string](ctx, r, "q", "What is your name?")
		},
	)
	size := workflow.Func("size", func(ctx context.Context, r *workflow.Run, _ any) (int, error) {
		return workflow.Ask[int](ctx, r, "q", "Which size?")
	})
	both := workflow.Join("both")
	say := workflow.Func("say", func(_ context.Context, _ *workflow.Run, in struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}) (string, error) {
		return fmt.Sprintf("%s wears %d", in.Name, in.Size), nil
	})
	t.Helper()
	return serveWorkflow(t, store, []workflow.Edge{
		{From: workflow.Start, To: name},
		{From: workflow.Start, To: size},
		{From: name, To: both},
		{From: size, To: both},
		{From: both, To: say},
	})
}

// serveWorkflow serves a workflow named form.
func serveWorkflow(t *testing.T, store string, edges []workflow.Edge) *service {
	t.Helper()
	form, err := workflow.New(workflow.Graph{Name: "form", Edges: edges})
	require.NoError(t, err)
	sessions, err := sqlite.Open(t.Context(), store)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	return &service{servertest.ServeOn(t, sessions, form, func(o *server.Options) { o.Kit = true })}
}

// asked is what a run of the form has come to.
type asked struct {
	Events []*session.Event `json:"events"`
	End    struct {
		Kind    string `json:"kind"`
		Waiting []struct {
			ID   string         `json:"id"`
			Args map[string]any `json:"args"`
		} `json:"waiting"`
	} `json:"end"`
}

// waits returns the calls that wait, by their ids, with their messages.
func (a *asked) waits() map[string]string {
	waits := map[string]string{}
	for _, c := range a.End.Waiting {
		waits[c.ID] = fmt.Sprint(c.Args["message"])
	}
	return waits
}

// output returns what the form has ended with, nil if it has not ended.
func (a *asked) output() any {
	for _, e := range a.Events {
		if e.NodeInfo != nil && e.NodeInfo.Ended && !strings.Contains(e.NodeInfo.Path, "/") {
			return e.Output
		}
	}
	return nil
}

const formSession = "/v1/apps/desk/sessions/s"

// post runs an input, and returns what it has come to.
func (s *service) post(route, body string) *asked {
	s.Helper()
	status, text := s.Do("POST", formSession+route, body)
	require.Equal(s, 200, status, text)
	a := &asked{}
	require.NoError(s, json.Unmarshal([]byte(text), a))
	return a
}

// A workflow's questions are answered one by one, in another process; a wrong answer is asked again, with the
// reason.
func TestQuestionsAreAnsweredOneByOne(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.db")
	first := serveForm(t, store)
	a := first.post("/run", `{"message":"Hello","id":"mon"}`)
	require.Equal(
		t,
		map[string]string{
			"form@mon/name@1#q": "What is your name?",
			"form@mon/size@1#q": "Which size?",
		},
		a.waits(),
	)

	other := serveForm(t, store)
	_, text := other.Do("GET", formSession+"/waiting", "")
	require.Contains(t, text, `"response_schema":{"type":"integer"}`)
	a = other.post("/respond", `{"call":"form@mon/size@1#q","response":"large"}`)
	require.Nil(t, a.output())
	again := "form@mon/size@1#q#2"
	require.Equal(t,
		"Which size?\n(The answer before was refused: is of type string, must be integer)",
		a.waits()[again])
	a = other.post("/respond", `{"call":"`+again+`","response":42}`)
	require.Equal(t, map[string]string{"form@mon/name@1#q": "What is your name?"}, a.waits())

	// What does not wait is refused, by each route.
	for _, id := range []string{"form@mon/size@1#q", again, "nothing"} {
		status, text := other.Do("POST", formSession+"/respond", `{"call":"`+id+`","response":1}`)
		require.Equal(t, 409, status, text)
		status, text = other.Do("POST", formSession+"/run", `{"content":`+answerContent(id, 1)+`}`)
		require.Equal(t, 409, status, text)
		status, text = other.Do("POST", "/chat",
			`{"session":"s","content":`+answerContent(id, 1)+`}`)
		require.Equal(t, 409, status, text)
	}
	status, text := other.Do("POST", formSession+"/respond", `{"response":1}`)
	require.Equal(t, 400, status, text)
	status, text = other.Do("POST", formSession+"/respond", `{"call":"a","responses":{"b":1}}`)
	require.Equal(t, 400, status, text)

	// A body that has forgotten the answer answers nothing; null is an answer.
	status, text = other.Do("POST", formSession+"/respond", `{"call":"form@mon/name@1#q"}`)
	require.Equal(t, 400, status, text)
	require.Contains(t, text, "response is missing")

	a = first.post("/respond", `{"call":"form@mon/name@1#q","response":"Ada"}`)
	require.Equal(t, "Ada wears 42", a.output())
	require.Empty(t, a.waits())
}

func answerContent(id string, value any) string {
	data, _ := json.Marshal(map[string]any{"role": "user", "parts": []any{map[string]any{
		"functionResponse": map[string]any{
			"id":       id,
			"name":     session.AskTool,
			"response": map[string]any{"result": value},
		},
	}}})
	return string(data)
}

// They are answered together, too; the same answers, sent again with their id, are shown what came of them.
func TestQuestionsAreAnsweredTogether(t *testing.T) {
	s := serveForm(t, filepath.Join(t.TempDir(), "s.db"))
	s.post("/run", `{"message":"Hello","id":"mon"}`)
	body := `{"id":"tue","responses":{"form@mon/name@1#q":"Ada","form@mon/size@1#q":42}}`
	require.Equal(t, "Ada wears 42", s.post("/respond", body).output())
	require.Equal(t, "Ada wears 42", s.post("/respond", body).output())

	// By POST /chat, whose answer is a stream.
	s.post("/run", `{"message":"Hello","id":"wed"}`)
	status, text := s.Do("POST", "/chat",
		`{"session":"s","content":`+answerContent("form@wed/name@1#q", "Bob")+`}`)
	require.Equal(t, 200, status)
	require.Contains(t, text, `"waiting":[{"id":"form@wed/size@1#q"`)
	_, text = s.Do("POST", "/chat",
		`{"session":"s","content":`+answerContent("form@wed/size@1#q", 7)+`}`)
	require.Contains(t, text, `"output":"Bob wears 7"`)
}

// A run whose answer is in the log, and that was cut off then, goes on by the route, without an input.
func TestAWorkflowGoesOnByItsRoute(t *testing.T) {
	s := serveForm(t, filepath.Join(t.TempDir(), "s.db"))
	s.post("/run", `{"message":"Hello","id":"mon"}`)
	key := session.Key{App: "desk", User: "user", ID: "s"}
	at, err := s.Sessions.Get(t.Context(), key)
	require.NoError(t, err)
	for i, e := range []*session.Event{workflow.Answer("form@mon/name@1#q", "Ada"), workflow.Answer("form@mon/size@1#q", 42)} {
		e.ID = fmt.Sprint("answer-", i)
		e.InvocationID = "tue"
		at.Position, err = s.Sessions.Append(t.Context(),
			session.AppendTarget{Key: key, After: at.Position}, e)
		require.NoError(t, err)
	}
	require.Equal(t, "Ada wears 42", s.post("/run", `{}`).output())
	require.Nil(t, s.post("/run", `{}`).output())
}

// The kit's clients see the questions as calls with a schema, and answer them in each form that the kit has.
func TestQuestionsForTheKitsClients(t *testing.T) {
	s := serveForm(t, filepath.Join(t.TempDir(), "s.db"))
	s.Do("POST", "/apps/desk/users/user/sessions/s", ``)
	run := func(message string) (int, string) {
		return s.Do("POST", "/run",
			`{"appName":"desk","userId":"user","sessionId":"s","newMessage":`+message+`}`)
	}
	status, text := run(`{"role":"user","parts":[{"text":"Hello"}]}`)
	require.Equal(t, 200, status, text)
	type part struct {
		Text         string
		FunctionCall *struct {
			ID, Name string
			Args     map[string]any
		}
	}
	type event struct {
		LongRunningToolIDs []string
		Content            *struct{ Parts []part }
	}
	// questions returns the ids of the questions in an answer, by the node that asks, and the texts.
	questions := func(text string) (ids map[string]string, texts []string) {
		var events []event
		require.NoError(t, json.Unmarshal([]byte(text), &events), text)
		ids = map[string]string{}
		for _, e := range events {
			for i := 0; e.Content != nil && i < len(e.Content.Parts); i++ {
				p := e.Content.Parts[i]
				if p.FunctionCall == nil {
					texts = append(texts, p.Text)
					continue
				}
				require.Equal(t, session.AskTool, p.FunctionCall.Name)
				require.Contains(t, e.LongRunningToolIDs, p.FunctionCall.ID)
				require.NotEmpty(t, p.FunctionCall.Args["response_schema"])
				_, node, _ := strings.Cut(p.FunctionCall.ID, "/")
				ids[node[:4]] = p.FunctionCall.ID
				texts = append(texts, fmt.Sprint(p.FunctionCall.Args["message"]))
			}
		}
		return ids, texts
	}
	ids, _ := questions(text)
	require.Len(t, ids, 2)

	// A wrong answer, as older pages send it.
	response := func(id, value string) string {
		return `{"functionResponse":{"id":"` + id + `","name":"adk_request_input","response":` + value + `}}`
	}
	status, text = run(
		`{"role":"user","parts":[` + response(ids["size"], `{"response":"large"}`) + `]}`)
	require.Equal(t, 200, status, text)
	second, texts := questions(text)
	require.Equal(
		t,
		[]string{
			"Which size?\n(The answer before was refused: is of type string, must be integer)",
		},
		texts,
	)
	status, text = run(
		`{"role":"user","parts":[` + response(ids["size"], `{"response":"42"}`) + `]}`)
	require.Equal(t, 409, status, text)

	// The right ones, together, as newer pages and the kit's clients do.
	status, text = run(
		`{"role":"user","parts":[` + response(ids["name"], `{"result":"Ada"}`) + `,` + response(second["size"], `{"response":"42"}`) + `]}`,
	)
	require.Equal(t, 200, status, text)
	_, texts = questions(text)
	require.Equal(t, []string{"Ada wears 42"}, texts, "the page shows texts only")
}

// A cancel of an invocation that has left a workflow waiting ends the workflow's run, by an event.
func TestAWorkflowThatWaitsIsCancelled(t *testing.T) {
	s := serveForm(t, filepath.Join(t.TempDir(), "s.db"))
	s.post("/run", `{"message":"Hello","id":"mon"}`)
	s.post("/run", `{"message":"Hello","id":"tue"}`)
	const cancel = formSession + "/invocations/"
	status, text := s.Do("POST", cancel+"mon/cancel?wait=1", "")
	require.Equal(t, 200, status, text)
	require.JSONEq(t, `{"end":{"kind":"cancelled","invocationId":"mon"}}`, text)
	_, text = s.Do("GET", formSession+"/waiting", "")
	require.NotContains(t, text, "form@mon")
	require.Contains(t, text, "form@tue/name@1#q", "the other run still waits")
	_, text = s.Do("GET", formSession+"/events?live=1", "")
	require.Contains(t, text, `"errorCode":"ABANDONED"`)
	require.Contains(t, text, `"path":"form@mon","ended":true`)

	// Again, it has ended.
	status, text = s.Do("POST", cancel+"mon/cancel?wait=1", "")
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"kind":"ended"`)

	// An invocation that has answered one of the questions is cancelled alike, also without waiting for it.
	a := s.post("/respond", `{"id":"wed","call":"form@tue/size@1#q","response":1}`)
	require.Len(t, a.waits(), 1)
	status, text = s.Do("POST", cancel+"wed/cancel", "")
	require.Equal(t, 202, status, text)
	require.Eventually(t, func() bool {
		_, text := s.Do("GET", formSession+"/waiting", "")
		return strings.Contains(text, `"waiting":[]`)
	}, time.Minute, 10*time.Millisecond)
	require.Nil(t, s.post("/run", `{}`).output())
}

// The output of a workflow that ends with a function is no text; clients that show texts are told it as one.
func TestAWorkflowsOutputIsItsAnswer(t *testing.T) {
	count := workflow.Func(
		"count",
		func(_ context.Context, _ *workflow.Run, message string) (map[string]int, error) {
			return map[string]int{"letters": len(message)}, nil
		},
	)
	edges := workflow.Chain(workflow.Start, count)
	s := serveWorkflow(t, filepath.Join(t.TempDir(), "a.db"), edges)
	require.Contains(t, s.a2a("SendMessage", servertest.A2AMessage("m1", "Hello", "")),
		`"text":"{\"letters\":5}"`)
	s = serveWorkflow(t, filepath.Join(t.TempDir(), "b.db"), edges)
	require.Contains(t, s.agui(servertest.AGUIRequest("run-1", "Hello")),
		`"delta":"{\"letters\":5}"`)
}
