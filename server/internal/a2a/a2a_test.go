package a2a_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// task is what these tests read of a task.
type task struct {
	ID, ContextID string
	Status        struct {
		State   string
		Message struct {
			Parts []struct {
				Text string
				Data any
			}
		}
	}
	Artifacts []struct {
		ArtifactID string
		Parts      []struct{ Text string }
	}
	History []struct{ MessageID string }
}

// state returns the state without what is the same in all of them.
func (t task) state() string { return strings.TrimPrefix(t.Status.State, "TASK_STATE_") }

// says returns the texts of the artifacts.
func (t task) says() string {
	var texts []string
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "|")
}

// rpc calls a method of A2A and returns its result, or the code of its error and what it says.
func (s *service) rpc(
	method, params string,
	header ...string,
) (result json.RawMessage, code int, message string) {
	s.Helper()
	status, body := s.Do(
		"POST",
		"/a2a/desk",
		`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`,
		append([]string{"A2A-Version", "1.0"}, header...)...)
	var answer struct {
		JSONRPC string
		ID      int
		Result  json.RawMessage
		Error   struct {
			Code    int
			Message string
		}
	}
	require.NoError(s, json.Unmarshal([]byte(body), &answer), "%d %s", status, body)
	require.Equal(s, "2.0", answer.JSONRPC)
	require.Equal(s, 7, answer.ID)
	return answer.Result, answer.Error.Code, answer.Error.Message
}

// task calls a method whose result is a task, or has one.
func (s *service) task(method, params string, header ...string) task {
	s.Helper()
	result, code, message := s.rpc(method, params, header...)
	require.Zero(s, code, message)
	var inside struct{ Task *task }
	var t task
	require.NoError(s, json.Unmarshal(result, &inside))
	if inside.Task != nil {
		return *inside.Task
	}
	require.NoError(s, json.Unmarshal(result, &t))
	return t
}

func TestA2ASend(t *testing.T) {
	for says1, tc := range map[string]struct{ state, says, status string }{
		"Hello":     {state: "COMPLETED", says: "You said: Hello"},
		"weather":   {state: "COMPLETED", says: "19 degrees."},
		"think":     {state: "COMPLETED", says: "It is 4."},
		"book":      {state: "INPUT_REQUIRED", status: "Book table 4?"},
		"ask":       {state: "INPUT_REQUIRED", status: "How many people?"},
		"forbidden": {state: "REJECTED", status: "That is not allowed here."},
		"break":     {state: "FAILED", status: "agent helper failed"},
		"model":     {state: "FAILED", status: "the model is busy"},
		"hush":      {state: "COMPLETED"},
	} {
		t.Run(says1, func(t *testing.T) {
			s := serve(t, servertest.Act, nil, servertest.Policy())
			got := s.task("SendMessage", servertest.A2AMessage("m1", says1, `,"contextId":"ada"`))
			require.Equal(t, tc.state, got.state())
			require.Equal(t, "ada", got.ContextID)
			require.Equal(t, "ada:m1", got.ID)
			if says1 != "break" { // what it had said before may be left in the log
				require.Equal(t, tc.says, got.says())
			}
			if tc.status != "" {
				require.Equal(t, tc.status, got.Status.Message.Parts[0].Text)
			}
			if says1 == "hush" {
				return // nothing of it is in the log
			}

			// The log says the same, but for why a run has failed.
			again := s.task("GetTask", `{"id":"ada:m1"}`)
			require.Equal(t, tc.state, again.state())
			require.Equal(t, got.says(), again.says())
			require.Equal(t, "m1", again.History[0].MessageID)
			require.Empty(t, s.task("GetTask", `{"id":"ada:m1","historyLength":0}`).History)

			// The same message again runs nothing again.
			n := len(s.Log("ada"))
			if says1 != "break" && says1 != "book" && says1 != "ask" {
				require.Equal(
					t,
					tc.state,
					s.task("SendMessage", servertest.A2AMessage("m1", says1, `,"contextId":"ada"`)).
						state(),
				)
				require.Len(t, s.Log("ada"), n)
			}
		})
	}
}

// updates sends a streaming request, and returns what each answer of the stream is, in short.
func (s *service) updates(method, params string, begun ...chan<- struct{}) []string {
	s.Helper()
	resp := s.Open(
		s.Context(),
		"POST",
		"/a2a/desk",
		`{"jsonrpc":"2.0","id":"x","method":"`+method+`","params":`+params+`}`,
		"A2A-Version",
		"1.0",
	)
	defer resp.Body.Close()
	require.Equal(s, "text/event-stream", resp.Header.Get("Content-Type"))
	var list []string
	for _, f := range servertest.Frames(s.T, resp.Body, func(f servertest.Frame) bool {
		for _, c := range begun {
			close(c)
		}
		begun = nil
		if strings.Contains(f.Data, "4111") {
			servertest.Shown <- struct{}{}
		}
		return false
	}) {
		var e struct {
			ID     string
			Result struct {
				Task           *task
				StatusUpdate   *struct{ Status struct{ State string } }
				ArtifactUpdate *struct {
					Artifact          struct{ Parts []struct{ Text string } }
					Append, LastChunk bool
				}
			}
			Error *struct{ Message string }
		}
		require.NoError(s, json.Unmarshal([]byte(f.Data), &e))
		require.Equal(s, "x", e.ID)
		switch {
		case e.Error != nil:
			list = append(list, "error "+e.Error.Message)
		case e.Result.Task != nil:
			list = append(list, "task "+e.Result.Task.state())
		case e.Result.StatusUpdate != nil:
			list = append(list,
				strings.TrimPrefix(e.Result.StatusUpdate.Status.State, "TASK_STATE_"))
		case e.Result.ArtifactUpdate != nil:
			how := "text "
			if e.Result.ArtifactUpdate.Append {
				how = "more "
			}
			text := e.Result.ArtifactUpdate.Artifact.Parts[0].Text
			if e.Result.ArtifactUpdate.LastChunk {
				text += "."
			}
			list = append(list, how+text)
		}
	}
	return list
}

func TestA2AStream(t *testing.T) {
	s := serve(t, servertest.Act, nil, servertest.Policy())
	list := s.updates("SendStreamingMessage",
		servertest.A2AMessage("m1", "card", `,"contextId":"ada"`))
	require.Equal(t, []string{"task SUBMITTED", "WORKING"}, list[:2])
	require.Equal(t, []string{"text Card [X].", "COMPLETED"}, list[len(list)-2:])
	require.Contains(t, strings.Join(list, "\n"), "4111",
		"it was streamed before the plugin changed it")

	list = s.updates("SendStreamingMessage",
		servertest.A2AMessage("m2", "Hello", `,"contextId":"ada"`))
	require.Equal(t, "COMPLETED", list[len(list)-1])
	require.Equal(
		t,
		"text You said: Hello.",
		strings.NewReplacer("\nmore ", "", ".\nmore ", "").
			Replace(strings.Join(list[2:len(list)-1], "\n")),
	)

	list = s.updates("SendStreamingMessage", servertest.A2AMessage("m3", "forbidden", ""))
	require.Equal(t, []string{"task SUBMITTED", "WORKING", "REJECTED"}, list)
	list = s.updates("SendStreamingMessage", servertest.A2AMessage("m4", "break", ""))
	require.Contains(t, []string{"text .", "more .", "text half a."}, list[len(list)-2],
		"what was streamed is ended: as the log has it")
	require.Equal(t, "FAILED", list[len(list)-1])
	list = s.updates("SendStreamingMessage", servertest.A2AMessage("m5", "book", ""))
	require.Equal(t, []string{"task SUBMITTED", "WORKING", "INPUT_REQUIRED"}, list)
}

func TestA2AAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		says, parts string
		want        string // of the task that follows, or of the error
		code        int
	}{
		"yes":                {says: "book", parts: `{"text":"Yes!"}`, want: "Booked."},
		"no":                 {says: "book", parts: `{"text":"no"}`, want: "Not booked."},
		"perhaps":            {says: "book", parts: `{"text":"perhaps"}`, code: -32602, want: `call "b1" waits for a yes or no`},
		"yes as data":        {says: "book", parts: `{"data":{"id":"b1","confirmed":true}}`, want: "Booked."},
		"data without a yes": {says: "book", parts: `{"data":{"id":"b1"}}`, code: -32602, want: "yes or no"},
		"another call":       {says: "book", parts: `{"data":{"id":"zz","confirmed":true}}`, code: -32602, want: "which call"},
		"two, by a text":     {says: "book twice", parts: `{"text":"yes"}`, code: -32602, want: "2 wait"},
		"two, by data":       {says: "book twice", parts: `{"data":{"id":"b1","confirmed":true}},{"data":{"id":"b2","confirmed":false}}`, want: "Booked."},
		"a text":             {says: "ask", parts: `{"text":"four"}`, want: `You answered {"result":"four"}`},
		"data":               {says: "ask", parts: `{"data":{"people":4}}`, want: `You answered {"people":4}`},
		"data with the id":   {says: "ask", parts: `{"data":{"id":"q1","response":{"people":4}}}`, want: `You answered {"people":4}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, servertest.Act, nil)
			first := s.task("SendMessage", servertest.A2AMessage("m1", tc.says, ""))
			require.Equal(t, "INPUT_REQUIRED", first.state())
			answer := `{"message":{"messageId":"m2","role":"ROLE_USER","taskId":"` + first.ID + `","parts":[` + tc.parts + `]}}`
			if tc.code != 0 {
				_, code, message := s.rpc("SendMessage", answer)
				require.Equal(t, tc.code, code)
				require.Contains(t, message, tc.want)
				return
			}
			then := s.task("SendMessage", answer)
			require.Equal(t, first.ID, then.ID)
			require.Equal(t, "COMPLETED", then.state())
			require.Contains(t, then.says(), tc.want)

			// The same answer again is joined, another one refused: the task has ended.
			require.Contains(t, s.task("SendMessage", answer).says(), tc.want)
			_, code, _ := s.rpc("SendMessage", strings.Replace(answer, "m2", "m3", 1))
			require.Equal(t, -32004, code)
		})
	}
}

func TestA2AReturnsAtOnceIsSubscribedToAndCancelled(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	params := strings.TrimSuffix(servertest.A2AMessage("m1", "wait", ""),
		"}") + `,"configuration":{"returnImmediately":true}}`
	first := s.task("SendMessage", params)
	require.Contains(t, []string{"SUBMITTED", "WORKING"}, first.state())
	require.Equal(t, "WORKING", s.task("GetTask", `{"id":"`+first.ID+`"}`).state())
	_, code, _ := s.rpc("SendMessage",
		servertest.A2AMessage("m2", "more", `,"taskId":"`+first.ID+`"`))
	require.Equal(t, -32004, code, "it works")

	// Two follow it; one leaves, and the task goes on.
	ctx, leave := context.WithCancel(t.Context())
	body := `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + first.ID + `"}}`
	resp := s.Open(ctx, "POST", "/a2a/desk", body, "A2A-Version", "1.0")
	servertest.Frames(t, resp.Body,
		func(f servertest.Frame) bool { return strings.Contains(f.Data, "I wait") })
	leave()
	resp.Body.Close()
	list := make(chan []string)
	begun := make(chan struct{})
	go func() { list <- s.updates("SubscribeToTask", `{"id":"`+first.ID+`"}`, begun) }()
	<-begun
	require.Equal(t, "WORKING", s.task("GetTask", `{"id":"`+first.ID+`"}`).state())
	require.Equal(t, "CANCELED", s.task("CancelTask", `{"id":"`+first.ID+`"}`).state())
	got := <-list
	require.Equal(t, "task WORKING", got[0])
	require.Equal(t, "CANCELED", got[len(got)-1])

	// It stays so, and cancelling it again changes nothing.
	require.Equal(t, "CANCELED", s.task("GetTask", `{"id":"`+first.ID+`"}`).state())
	require.Equal(t, "CANCELED", s.task("CancelTask", `{"id":"`+first.ID+`"}`).state())
	_, code, _ = s.rpc("SubscribeToTask", `{"id":"`+first.ID+`"}`)
	require.Equal(t, -32004, code)

	// What has ended or waits is not cancelled.
	done := s.task("SendMessage", servertest.A2AMessage("m3", "Hello", ""))
	_, code, _ = s.rpc("CancelTask", `{"id":"`+done.ID+`"}`)
	require.Equal(t, -32002, code)
	held := s.task("SendMessage", servertest.A2AMessage("m4", "book", ""))
	_, code, _ = s.rpc("CancelTask", `{"id":"`+held.ID+`"}`)
	require.Equal(t, -32002, code)
	got = s.updates("SubscribeToTask", `{"id":"`+held.ID+`"}`) // its run may be about to end
	require.Contains(t, got[len(got)-1], "INPUT_REQUIRED")
}

func TestA2AListsTasks(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	for _, m := range []struct{ id, text, context string }{{"m1", "one", "a"}, {"m2", "two", "a"}, {"m3", "book", "b"}} {
		s.task("SendMessage", servertest.A2AMessage(m.id, m.text, `,"contextId":"`+m.context+`"`))
	}
	list := func(params string) (ids []string, next string, total int) {
		result, code, message := s.rpc("ListTasks", params)
		require.Zero(t, code, message)
		var answer struct {
			Tasks         []task
			NextPageToken string
			TotalSize     int
		}
		require.NoError(t, json.Unmarshal(result, &answer))
		for _, task := range answer.Tasks {
			ids = append(ids, task.ID)
		}
		return ids, answer.NextPageToken, answer.TotalSize
	}
	ids, next, total := list(`{}`)
	require.Equal(t, []string{"b:m3", "a:m2", "a:m1"}, ids)
	require.Empty(t, next)
	require.Equal(t, 3, total)
	ids, _, _ = list(`{"contextId":"a"}`)
	require.Equal(t, []string{"a:m2", "a:m1"}, ids)
	ids, _, _ = list(`{"status":"TASK_STATE_INPUT_REQUIRED"}`)
	require.Equal(t, []string{"b:m3"}, ids)
	ids, next, total = list(`{"pageSize":2}`)
	require.Equal(t, []string{"b:m3", "a:m2"}, ids)
	require.Equal(t, 3, total)
	ids, next, _ = list(`{"pageSize":2,"pageToken":"` + next + `"}`)
	require.Equal(t, []string{"a:m1"}, ids)
	require.Empty(t, next)
	ids, _, _ = list(`{"statusTimestampAfter":"2999-01-01T00:00:00Z"}`)
	require.Empty(t, ids)
	_, code, _ := s.rpc("ListTasks", `{"pageSize":1000}`)
	require.Equal(t, -32602, code)
}

func TestA2ARefuses(t *testing.T) {
	s := serve(t, servertest.Act, func(o *server.Options) {
		o.Limits.Upload = 2000
		o.Caller = func(r *http.Request) (server.Caller, error) {
			if r.Header.Get("X-User") == "" {
				return server.Caller{}, server.ErrUnauthorized
			}
			return server.Caller{User: r.Header.Get("X-User")}, nil
		}
	})
	for name, tc := range map[string]struct {
		method, params string
		code           int
	}{
		"unknown method":   {method: "Nope", params: `{}`, code: -32601},
		"push":             {method: "CreateTaskPushNotificationConfig", params: `{}`, code: -32003},
		"extended card":    {method: "GetExtendedAgentCard", params: `{}`, code: -32007},
		"no such task":     {method: "GetTask", params: `{"id":"zz"}`, code: -32001},
		"no such context":  {method: "GetTask", params: `{"id":"zz:zz"}`, code: -32001},
		"no message":       {method: "SendMessage", params: `{}`, code: -32602},
		"no parts":         {method: "SendMessage", params: `{"message":{"messageId":"x","role":"ROLE_USER","parts":[]}}`, code: -32602},
		"the wrong type":   {method: "SendMessage", params: `{"message":[]}`, code: -32602},
		"a bad context":    {method: "SendMessage", params: servertest.A2AMessage("m", "x", `,"contextId":"\u0000"`), code: -32602},
		"an unknown task":  {method: "SendMessage", params: servertest.A2AMessage("m", "x", `,"taskId":"a:b"`), code: -32001},
		"the agent's role": {method: "SendMessage", params: `{"message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`, code: -32602},
	} {
		_, code, message := s.rpc(tc.method, tc.params, "X-User", "ann")
		require.Equal(t, tc.code, code, "%s: %s", name, message)
	}
	for body, code := range map[string]string{
		`{`:                                 "-32700",
		`[]`:                                "-32600",
		`{"jsonrpc":"1.0","method":"x"}`:    "-32600",
		`{"jsonrpc":"2.0","id":1}`:          "-32600",
		`{"jsonrpc":"2.0","method":"Nope"}`: "-32601",
	} {
		status, answer := s.Do("POST", "/a2a/desk", body, "A2A-Version", "1.0", "X-User", "ann")
		require.Equal(t, 200, status)
		require.Contains(t, answer, code, body)
	}
	for version, code := range map[string]string{"": "-32009", "0.3": "-32009", "2.0": "-32009", "1.0.1": "-32601"} {
		_, answer := s.Do(
			"POST",
			"/a2a/desk",
			`{"jsonrpc":"2.0","id":1,"method":"Nope"}`,
			"A2A-Version",
			version,
			"X-User",
			"ann",
		)
		require.Contains(t, answer, code, version)
	}
	status, _ := s.Do("POST", "/a2a/nope", `{}`, "X-User", "ann")
	require.Equal(t, 404, status)
	status, _ = s.Do("POST", "/a2a/desk", strings.Repeat("x", 3000), "X-User", "ann")
	require.Equal(t, 413, status)
	status, _ = s.Do("POST", "/a2a/desk", `{}`)
	require.Equal(t, 401, status)

	// A task of somebody else's is not there.
	mine := s.task("SendMessage", servertest.A2AMessage("m1", "Hello", `,"contextId":"c"`),
		"X-User", "ann")
	for _, method := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
		_, code, _ := s.rpc(method, `{"id":"`+mine.ID+`"}`, "X-User", "bob")
		require.Equal(t, -32001, code, method)
	}
	_, code, _ := s.rpc("SendMessage",
		servertest.A2AMessage("m2", "Hello", `,"taskId":"`+mine.ID+`"`), "X-User", "bob")
	require.Equal(t, -32001, code)
	result, _, _ := s.rpc("ListTasks", `{}`, "X-User", "bob")
	require.Contains(t, string(result), `"tasks":[]`)

	// An id that was used for another message, and a context that is not the task's.
	_, code, message := s.rpc("SendMessage",
		servertest.A2AMessage("m1", "Something else", `,"contextId":"c"`), "X-User", "ann")
	require.Equal(t, -32602, code, message)
	held := s.task("SendMessage", servertest.A2AMessage("m3", "book", ""), "X-User", "ann")
	_, code, _ = s.rpc("SendMessage",
		servertest.A2AMessage("m4", "yes", `,"taskId":"`+held.ID+`","contextId":"other"`), "X-User",
		"ann")
	require.Equal(t, -32602, code)
}

func TestA2ACard(t *testing.T) {
	s := serve(t, servertest.Act, func(o *server.Options) { o.Version = "1.2.3" })
	for _, path := range []string{"/.well-known/agent-card.json", "/a2a/desk/.well-known/agent-card.json"} {
		code, body := s.Do("GET", path, "")
		require.Equal(t, 200, code)
		require.JSONEq(t, `{
			"name": "helper", "description": "It helps.", "version": "1.2.3",
			"supportedInterfaces": [{"url": "`+s.URL+`/a2a/desk", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
			"capabilities": {"streaming": true, "pushNotifications": false},
			"defaultInputModes": ["text/plain", "application/json"], "defaultOutputModes": ["text/plain"],
			"skills": [{"id": "desk", "name": "helper", "description": "It helps.", "tags": ["agent"]}]
		}`, body)
	}
	// Without a URL it is the address that was reached, not the header Host, which is any client's to set.
	s = serve(t, servertest.Act, func(o *server.Options) {
		o.Hosts = []string{"evil.example"}
	})
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/.well-known/agent-card.json", nil)
	require.NoError(t, err)
	req.Host = "evil.example"
	resp, err := s.Client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	card, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(card), `"url":"`+s.URL+`/a2a/desk"`)
	s = serve(t, servertest.Act, func(o *server.Options) {
		o.URL = "https://agents.example.com/here/"
		o.Caller = func(*http.Request) (server.Caller, error) {
			return server.Caller{User: "ann", Apps: []string{"desk"}}, nil
		}
	})
	_, body := s.Do("GET", "/.well-known/agent-card.json", "")
	require.Contains(t, body, `"url":"https://agents.example.com/here/a2a/desk"`)
	require.Contains(t, body,
		`"securitySchemes":{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}`)
	require.Contains(t, body, `"securityRequirements":[{"schemes":{"bearer":{"list":[]}}}]`)
	code, _ := s.Do("GET", "/a2a/nope/.well-known/agent-card.json", "")
	require.Equal(t, 404, code)
}

// replica returns another server on the same store.
func (s *service) replica(change func(*server.Options)) *service {
	a := agent.New("helper", "It helps.", servertest.Act)
	return &service{servertest.ServeOn(s.T, s.Sessions, a, change)}
}

func TestA2ATaskIsKnownToEveryReplica(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	other := s.replica(nil)
	params := strings.TrimSuffix(servertest.A2AMessage("m1", "weather and wait", ""),
		"}") + `,"configuration":{"returnImmediately":true}}`
	id := s.task("SendMessage", params).ID
	require.Eventually(t, func() bool {
		return other.task("GetTask", `{"id":"`+id+`"}`).says() == "19 degrees."
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, "WORKING", other.task("GetTask", `{"id":"`+id+`"}`).state())

	// It is followed and cancelled from elsewhere.
	list := make(chan []string)
	begun := make(chan struct{})
	go func() { list <- other.updates("SubscribeToTask", `{"id":"`+id+`"}`, begun) }()
	<-begun
	require.Equal(t, "CANCELED", other.task("CancelTask", `{"id":"`+id+`"}`).state())
	got := <-list
	require.Equal(t, "task WORKING", got[0])
	require.Equal(t, "CANCELED", got[len(got)-1])

	// A call that waits is answered elsewhere.
	held := s.task("SendMessage", servertest.A2AMessage("m2", "book", ""))
	booked := other.task("SendMessage",
		servertest.A2AMessage("m3", "yes", `,"taskId":"`+held.ID+`"`))
	require.Equal(t, "Booked.", booked.says())
	require.Equal(t, "COMPLETED", s.task("GetTask", `{"id":"`+held.ID+`"}`).state())
}

// Who comes later to a task that works gets the task as it is, and then only what comes after that, in the
// process that runs it and in another one.
func TestA2ASubscriberIsToldNothingTwice(t *testing.T) {
	goOn := make(chan struct{})
	s := serve(t, func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			yield(session.Reply("19 degrees."), nil)
			servertest.Waiting(goOn)(ctx, host)(yield)
		}
	}, nil)
	other := s.replica(nil)
	params := servertest.A2AMessage("m1", "Hello", "")
	params = strings.TrimSuffix(params, "}") + `,"configuration":{"returnImmediately":true}}`
	id := s.task("SendMessage", params).ID
	lists := make(chan []string)
	for _, replica := range []*service{s, other} {
		require.Eventually(t, func() bool {
			return replica.task("GetTask", `{"id":"`+id+`"}`).says() == "19 degrees."
		}, time.Minute, 5*time.Millisecond)
		begun := make(chan struct{})
		go func() { lists <- replica.updates("SubscribeToTask", `{"id":"`+id+`"}`, begun) }()
		<-begun
	}
	close(goOn)
	for range 2 {
		require.Equal(t, []string{"task WORKING", "text done.", "COMPLETED"}, <-lists)
	}
}

// Who follows a task of another replica, and is let in no more, sees nothing more of it.
func TestA2AStreamOfAnotherReplicasTaskEndsWithItsToken(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	var revoked atomic.Bool
	other := s.replica(func(o *server.Options) {
		o.Limits.Heartbeat = 50 * time.Millisecond
		o.Caller = func(*http.Request) (server.Caller, error) {
			if revoked.Load() {
				return server.Caller{}, server.ErrUnauthorized
			}
			return server.Caller{User: "user"}, nil
		}
	})
	params := strings.TrimSuffix(servertest.A2AMessage("m1", "weather and wait", ""),
		"}") + `,"configuration":{"returnImmediately":true}}`
	id := s.task("SendMessage", params).ID
	require.Eventually(t, func() bool {
		return other.task("GetTask", `{"id":"`+id+`"}`).says() == "19 degrees."
	}, time.Minute, 5*time.Millisecond)
	body := `{"jsonrpc":"2.0","id":"x","method":"SubscribeToTask","params":{"id":"` + id + `"}}`
	resp := other.Open(t.Context(), "POST", "/a2a/desk", body, "A2A-Version", "1.0")
	defer resp.Body.Close()
	revoked.Store(true)
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(rest), "is no longer valid")
	require.Equal(t, "CANCELED", s.task("CancelTask", `{"id":"`+id+`"}`).state())
}
