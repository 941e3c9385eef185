package agui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// agui posts a request to the route of AG-UI and returns the events of the answer, as JSON. It checks what
// every stream has to keep: the run begins first, what begins also ends, and nothing follows the end.
func (s *service) agui(body string) []string {
	s.Helper()
	resp := s.Open(s.Context(), "POST", "/agui/desk", body, "Accept", "text/event-stream")
	defer resp.Body.Close()
	require.Equal(s, http.StatusOK, resp.StatusCode)
	var list []string
	open := map[string]bool{}
	for i, f := range servertest.Frames(s.T, resp.Body, func(f servertest.Frame) bool {
		if strings.Contains(f.Data, `4111","messageId"`) {
			servertest.Shown <- struct{}{}
		}
		return false
	}) {
		var e struct{ Type, MessageID, ToolCallID string }
		require.NoError(s, json.Unmarshal([]byte(f.Data), &e))
		require.NotContains(s, f.Data, "null")
		require.Equal(s, i == 0, e.Type == "RUN_STARTED")
		kind, begins := strings.CutSuffix(e.Type, "_START")
		ended, ends := strings.CutSuffix(e.Type, "_END")
		switch {
		case begins:
			require.False(s, open[kind+e.MessageID+e.ToolCallID], "%s began twice", e.Type)
			open[kind+e.MessageID+e.ToolCallID] = true
		case ends:
			require.True(s, open[ended+e.MessageID+e.ToolCallID], "%s of what is not open", e.Type)
			delete(open, ended+e.MessageID+e.ToolCallID)
		}
		list = append(list, f.Data)
	}
	require.Empty(s, open)
	require.Regexp(s, `"type":"RUN_(FINISHED|ERROR)"`, list[len(list)-1])
	return list
}

// typesOf returns the types of events, and how often each comes in a row.
func typesOf(list []string) string {
	var types []string
	for _, f := range list {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(f), &e)
		if len(types) == 0 || types[len(types)-1] != e.Type {
			types = append(types, e.Type)
		}
	}
	return strings.Join(types, " ")
}

func TestAGUI(t *testing.T) {
	for name, tc := range map[string]struct {
		says  string
		types string
		has   []string
		said  string
	}{
		"text": {
			says:  "Hello",
			types: "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED",
			has:   []string{`"threadId":"ada"`, `"runId":"run-1"`, `"outcome":{"type":"success"}`},
			said:  "You said: Hello",
		},
		"thoughts": {
			says: "think",
			types: "RUN_STARTED REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT TEXT_MESSAGE_START " +
				"TEXT_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_END TEXT_MESSAGE_END RUN_FINISHED",
			has: []string{`"delta":"It is 4."`},
		},
		"a call and its response, and state": {
			says: "weather",
			types: "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT STATE_DELTA " +
				"TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED",
			has: []string{
				`"delta":"{\"city\":\"Paris\"}"`, `"content":"{\"celsius\":19}"`, `"toolCallName":"get_weather"`,
				`{"delta":[{"op":"add","path":"/a~0b","value":1},{"op":"add","path":"/last~1city","value":"Paris"}],"type":"STATE_DELTA"}`,
			},
		},
		"a call that is held": {
			says:  "book",
			types: "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED",
			has:   []string{`"outcome":{"interrupts":[{"id":"b1","message":"Book table 4?","reason":"tool_call"`, `"toolCallId":"b1"`},
		},
		"a call that waits for an input": {
			says:  "ask",
			types: "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED",
			has:   []string{`"reason":"input_required","responseSchema":{"type":"object"},"toolCallId":"q1"`, `"message":"How many people?"`},
		},
		"an answer that a plugin has changed": {
			says: "card",
			types: "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END CUSTOM MESSAGES_SNAPSHOT " +
				"RUN_FINISHED",
			has: []string{`"content":"Card [X]"`, `"value":{"action":"replace","eventId":`, `"plugin":"policy","reason":"a card number"`},
		},
		"an input that a plugin has changed": {
			says: "mine is 4111",
			types: "RUN_STARTED CUSTOM TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END MESSAGES_SNAPSHOT " +
				"RUN_FINISHED",
			has: []string{`"content":"mine is [X]","id":"u1"`},
		},
		"an input that a plugin has withheld": {
			says:  "hush",
			types: "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED",
			has:   []string{`{"messages":[],"type":"MESSAGES_SNAPSHOT"}`},
		},
		"a denial": {
			says:  "forbidden",
			types: "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END CUSTOM RUN_ERROR",
			has:   []string{`{"code":"DENIED","message":"a rule","type":"RUN_ERROR"}`, `"delta":"That is not allowed here."`},
		},
		"a failure in the middle": {
			says: "break",
			has:  []string{`{"code":"agent_failed","message":"agent helper failed","type":"RUN_ERROR"}`},
		},
		"a failed model call": {
			says:  "model",
			types: "RUN_STARTED RUN_ERROR",
			has:   []string{`{"code":"RATE_LIMIT","message":"the model is busy","type":"RUN_ERROR"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, servertest.Act, nil, servertest.Policy())
			list := s.agui(servertest.AGUIRequest("run-1", tc.says))
			if tc.types != "" {
				require.Equal(t, tc.types, typesOf(list))
			}
			all := strings.Join(list, "\n")
			for _, has := range tc.has {
				require.Contains(t, all, has)
			}
			if tc.said != "" {
				require.Equal(t, tc.said, saidIn(list))
			}
			require.NotContains(t, all, "secret")
			require.NotContains(t, all, "temp:x")
		})
	}
}

// saidIn returns the text that events say.
func saidIn(list []string) string {
	var text strings.Builder
	for _, f := range list {
		var e struct{ Type, Delta string }
		_ = json.Unmarshal([]byte(f), &e)
		if e.Type == "TEXT_MESSAGE_CONTENT" {
			text.WriteString(e.Delta)
		}
	}
	return text.String()
}

// aguiMessage returns a message that a client has.
func aguiMessage(id, role, content string) string {
	return fmt.Sprintf(`{"id":%q,"role":%q,"content":%q}`, id, role, content)
}

func TestAGUITakesOnlyWhatIsNew(t *testing.T) {
	s := serve(t, servertest.Act, nil, servertest.Policy())
	s.agui(servertest.AGUIRequest("run-1", "one"))
	log := s.Log("ada")
	require.Len(t, log, 2)

	// The whole history comes again, with the answer and a new message.
	body := func(run string, messages ...string) string {
		return `{"threadId":"ada","runId":"` + run + `","messages":[` + strings.Join(messages,
			",") + `]}`
	}
	one := aguiMessage("u1", "user", "one")
	answer := aguiMessage(log[1].ID, "assistant", "You said: one")
	list := s.agui(body("run-2", one, answer, aguiMessage("u2", "user", "two")))
	require.Equal(t, "You said: two", saidIn(list))
	require.Equal(t, []string{"one", "You said: one", "two", "You said: two"}, s.Texts("ada"))
	require.Equal(t, "run-2", s.Log("ada")[3].InvocationID)

	// The same request again is answered with what there is, and the agent is not run again.
	s.agui(body("run-2", one, answer, aguiMessage("u2", "user", "two")))
	require.Len(t, s.Log("ada"), 4)

	// Whoever has the answer already gets no text twice.
	list = s.agui(body("run-3", one, answer, aguiMessage("u2", "user", "two"),
		aguiMessage(s.Log("ada")[3].ID, "assistant", "You said: two")))
	require.Equal(t, "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED", typesOf(list))
	require.Len(t, s.Log("ada"), 4)

	// A client that has nothing is shown everything.
	list = s.agui(body("run-4"))
	require.Contains(t, list[2], `"content":"You said: two"`)

	// Messages that another agent has answered before are no news: only the last ones are.
	two := []string{aguiMessage("x1", "user", "old"), aguiMessage("x2", "assistant", "old answer")}
	s.agui(body(
		"run-5",
		append(two, one, answer, aguiMessage("u3", "user", "three"),
			aguiMessage("u4", "user", "four"))...))
	require.Equal(t, "threefour", s.Log("ada")[4].Text())
	require.Equal(t, "u4", s.Log("ada")[4].ID)
}

func TestAGUIAnswersToCalls(t *testing.T) {
	resume := func(answers string) string {
		return `{"threadId":"ada","runId":"run-2","messages":[{"id":"u1","role":"user","content":"?"},` +
			`{"id":"%s","role":"assistant","toolCalls":[{"id":"b1","type":"function","function":{"name":"book","arguments":"{}"}}]}],"resume":[` + answers + `]}`
	}
	for name, tc := range map[string]struct {
		says, resume string
		has          string
		types        string
	}{
		"yes": {
			says:   "book",
			resume: `{"interruptId":"b1","status":"resolved","payload":{"approved":true}}`,
			types:  "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED",
			has:    `"content":"{\"booked\":true}"`,
		},
		"no":        {says: "book", resume: `{"interruptId":"b1","status":"resolved","payload":false}`, has: `Not booked.`},
		"cancelled": {says: "book", resume: `{"interruptId":"b1","status":"cancelled"}`, has: `Not booked.`},
		"neither": {
			says:   "book",
			resume: `{"interruptId":"b1","status":"resolved","payload":"yes please"}`,
			types:  "RUN_STARTED RUN_ERROR",
			has:    `"code":"bad_request"`,
		},
		"an input": {
			says:   "ask",
			resume: `{"interruptId":"q1","status":"resolved","payload":{"people":4}}`,
			types:  "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED",
			has:    `You answered {\"people\":4}`,
		},
		"no input": {says: "ask", resume: `{"interruptId":"q1","status":"cancelled"}`, has: `\"cancelled\":true`},
		"one of two": {
			says:   "book twice",
			resume: `{"interruptId":"b1","status":"resolved","payload":true}`,
			types:  "RUN_STARTED RUN_ERROR",
			has:    `"code":"incomplete"`,
		},
		"both": {
			says:   "book twice",
			resume: `{"interruptId":"b1","status":"resolved","payload":true},{"interruptId":"b2","status":"cancelled"}`,
			has:    `Booked.`,
		},
		"what does not wait": {
			says:   "book",
			resume: `{"interruptId":"zz","status":"resolved","payload":true}`,
			types:  "RUN_STARTED RUN_ERROR",
			has:    `"code":"not_waiting"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, servertest.Act, nil)
			s.agui(servertest.AGUIRequest("run-1", tc.says))
			body := fmt.Sprintf(resume(tc.resume), s.Log("ada")[1].ID)
			list := s.agui(strings.Replace(body, `"content":"?"`, `"content":"`+tc.says+`"`, 1))
			if tc.types != "" {
				require.Equal(t, tc.types, typesOf(list))
			}
			require.Contains(t, strings.Join(list, "\n"), tc.has)
		})
	}

	// A tool message answers a call, too.
	s := serve(t, servertest.Act, nil)
	s.agui(servertest.AGUIRequest("run-1", "ask"))
	tool := `{"id":"t1","role":"tool","toolCallId":"q1","content":"{\"people\":2}"}`
	list := s.agui(strings.Replace(servertest.AGUIRequest("run-2", "ask"), `}],"tools"`,
		`},`+tool+`],"tools"`, 1))
	require.Contains(t, strings.Join(list, "\n"), `You answered {\"people\":2}`)
	require.NotContains(t, typesOf(list), "TOOL_CALL_RESULT", "the client has it")
	list = s.agui(strings.Replace(servertest.AGUIRequest("run-3", "ask"), `}],"tools"`,
		`},`+strings.Replace(tool, "t1", "t2", 1)+`],"tools"`, 1))
	require.Contains(t, list[1], `"code":"not_waiting"`)
}

func TestAGUIStateAndCommands(t *testing.T) {
	s := serve(t, servertest.Act, nil, servertest.Policy())
	s.agui(servertest.AGUIRequest("run-1", "weather"))

	// A client with another state is brought up to date; what is not there is not removed.
	list := s.agui(servertest.AGUIRequest("run-2", "weather", "forget"))
	require.Contains(t, list[1], `"snapshot":{"a~b":1,"last/city":"Paris"}`)
	require.Contains(
		t,
		strings.Join(list, "\n"),
		`{"delta":[{"op":"remove","path":"/last~1city"},{"op":"add","path":"/user:count","value":2}],"type":"STATE_DELTA"}`,
	)

	// One that has it is not.
	same := strings.Replace(servertest.AGUIRequest("run-3", "weather", "forget", "hi"),
		`"state":{}`, `"state":{"user:count":2,"a~b":1}`, 1)
	require.NotContains(t, typesOf(s.agui(same)), "STATE_SNAPSHOT")

	// A rewind shows the session as it is then.
	back := strings.Replace(servertest.AGUIRequest("run-4"), `"forwardedProps":{}`,
		`"forwardedProps":{"command":{"name":"rewind","args":{"to":2}}}`, 1)
	list = s.agui(back)
	all := strings.Join(list, "\n")
	require.Contains(t, all, `"type":"MESSAGES_SNAPSHOT"`, all)
	require.NotContains(t, all, "19 degrees")

	// A client sets state only where it says so.
	set := strings.Replace(servertest.AGUIRequest("run-5", "set"), `"forwardedProps":{}`,
		`"forwardedProps":{"stateDelta":{"k":"v"}}`, 1)
	set = strings.Replace(set, `"u1"`, `"u9"`, 1)
	require.Contains(t, strings.Join(s.agui(set), "\n"), `{"op":"add","path":"/k","value":"v"}`)

	// A compaction is an activity.
	list = s.agui(strings.Replace(servertest.AGUIRequest("run-6", "compact"), `"u1"`, `"u10"`, 1))
	require.Contains(t, strings.Join(list, "\n"),
		`"activityType":"compaction","content":{"summary":"They greeted.","through":`)
}

func TestAGUIRefuses(t *testing.T) {
	s := serve(t, servertest.Act, func(o *server.Options) {
		o.Limits.Upload = 2000
		o.Caller = func(r *http.Request) (server.Caller, error) {
			return server.Caller{User: r.Header.Get("X-User")}, nil
		}
	})
	for name, tc := range map[string]struct {
		path, body string
		code       int
	}{
		"no app":         {path: "/agui/nope", body: servertest.AGUIRequest("r", "hi"), code: 404},
		"no JSON":        {path: "/agui/desk", body: "{", code: 400},
		"no run":         {path: "/agui/desk", body: `{"threadId":"a","messages":[]}`, code: 400},
		"no thread":      {path: "/agui/desk", body: `{"runId":"a","messages":[]}`, code: 400},
		"a message only": {path: "/agui/desk", body: `{"threadId":"a","runId":"a","messages":[{"role":"user","content":"x"}]}`, code: 400},
		"too large":      {path: "/agui/desk", body: servertest.AGUIRequest("r", strings.Repeat("x", 3000)), code: 413},
		"another user":   {path: "/agui/desk?user=bob", body: servertest.AGUIRequest("r", "hi"), code: 404},
	} {
		code, body := s.Do("POST", tc.path, tc.body, "X-User", "ann")
		require.Equal(t, tc.code, code, "%s: %s", name, body)
	}
	code, _ := s.Do("GET", "/agui/desk", "", "X-User", "ann")
	require.Equal(t, 405, code)
}

func TestAGUIRunEndsWhenItsClientLeaves(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	ctx, leave := context.WithCancel(t.Context())
	resp := s.Open(ctx, "POST", "/agui/desk", servertest.AGUIRequest("run-1", "wait"))
	servertest.Frames(t, resp.Body,
		func(f servertest.Frame) bool { return strings.Contains(f.Data, "I wait") })
	leave()
	resp.Body.Close()
	require.Eventually(t, func() bool {
		sess, err := s.Sessions.Get(t.Context(), session.Key{App: "desk", User: "user", ID: "ada"})
		return err == nil && sess.Holder == ""
	}, time.Minute, 10*time.Millisecond)

	// Cancelled by somebody else, the stream says so.
	resp = s.Open(t.Context(), "POST", "/agui/desk",
		strings.Replace(servertest.AGUIRequest("run-2", "wait"), `"u1"`, `"u2"`, 1))
	defer resp.Body.Close()
	list := servertest.Frames(t, resp.Body, func(f servertest.Frame) bool {
		if strings.Contains(f.Data, "I wait") {
			code, _ := s.Do("POST", "/v1/apps/desk/sessions/ada/invocations/run-2/cancel", "")
			require.Equal(t, http.StatusAccepted, code)
		}
		return false
	})
	require.Contains(t, list[len(list)-1].Data, `"outcome":{"type":"cancelled"}`)
}

// Who comes to a run that was begun by another request gets the session as it is, and then only what comes after
// that: with the message that has begun the run, and without one.
func TestAGUIWhoComesLaterIsToldNothingTwice(t *testing.T) {
	goOn := make(chan struct{})
	s := serve(t, func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			e := session.Reply("19 degrees.")
			e.Actions.StateDelta = map[string]any{"city": "Paris"}
			yield(e, nil)
			servertest.Waiting(goOn)(ctx, host)(yield)
		}
	}, nil)
	body := strings.Replace(servertest.AGUIRequest("run-1", "Hello"), `"forwardedProps":{}`,
		`"forwardedProps":{"onDisconnect":"continue"}`, 1)
	first := s.Open(t.Context(), "POST", "/agui/desk", body)
	defer first.Body.Close()
	servertest.Frames(t, first.Body, func(f servertest.Frame) bool { return strings.Contains(f.Data, "19 degrees.") })
	lists := make(chan []string)
	for _, again := range []string{body, servertest.AGUIRequest("run-2")} {
		go func() { lists <- s.agui(again) }()
	}
	time.Sleep(100 * time.Millisecond) // for both to be there
	close(goOn)
	for range 2 {
		list := <-lists
		require.Equal(t, "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT "+
			"TEXT_MESSAGE_END RUN_FINISHED", typesOf(list))
		require.Equal(t, "done", saidIn(list))
		require.Contains(t, list[1], `"city":"Paris"`)
		require.Contains(t, list[2], "19 degrees.")
	}
}
