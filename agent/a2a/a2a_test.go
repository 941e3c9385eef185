package a2a_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/a2a"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// there is what the remote agent does: it echoes, and refuses, fails, asks or waits where it is
// told to.
func there(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		inv := host.Now()
		turns := 0
		for _, e := range inv.Live {
			if e.Author == session.User && e.Text() != "" {
				turns++
			}
		}
		if answered := host.Answered(); len(answered) > 0 {
			c := answered[0]
			switch {
			case c.Response != nil:
				yield(session.Reply("for "+c.Result.Response["result"].(string)), nil)
			case c.Approved():
				yield(session.Respond(c.FunctionCall, map[string]any{"ok": true}), nil)
				yield(session.Reply("Booked."), nil)
			default:
				yield(session.Respond(c.FunctionCall, map[string]any{"error": "no"}), nil)
				yield(session.Reply("Not booked."), nil)
			}
			return
		}
		ask := func(confirm bool) {
			c := &genai.FunctionCall{
				ID:   "c1",
				Name: "book",
				Args: map[string]any{"message": "How many?"},
			}
			e := &session.Event{
				Content: &genai.Content{
					Role:  genai.RoleModel,
					Parts: []*genai.Part{{FunctionCall: c}},
				},
			}
			if confirm {
				e.Actions.RequestedToolConfirmations = map[string]session.Confirmation{
					"c1": {Hint: "Really?"},
				}
			} else {
				e.LongRunningToolIDs = []string{"c1"}
			}
			yield(e, nil)
		}
		switch text := inv.Input.Text(); text {
		case "fail":
			yield(nil, errors.New("a secret"))
		case "book":
			ask(true)
		case "ask":
			ask(false)
		case "wait":
			e := session.Reply("I wait")
			e.Partial = true
			yield(e, nil)
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		default:
			for _, piece := range []string{"You said: ", text} {
				e := session.Reply(piece)
				e.Partial = true
				yield(e, nil)
			}
			time.Sleep(5 * time.Millisecond)
			yield(session.Reply("You said: "+text+strings.Repeat("!", turns)), nil)
		}
	}
}

// world is a runner here, with an agent that runs there.
type world struct {
	*testing.T
	here   *runner.Runner
	remote session.Service // the sessions there
	local  session.Service
	url    string
}

// connect makes both runners. before are agents that work here before the remote one does.
func connect(t *testing.T, before []agent.Agent, plugins ...*plugin.Plugin) *world {
	return connectAs(t, func(far agent.Agent) agent.Agent {
		if len(before) == 0 {
			return far
		}
		return workflow.Sequential("all", "", append(before, far)...)
	}, plugins...)
}

// connectAs makes both runners. root makes the agent here of the remote one.
func connectAs(
	t *testing.T,
	root func(far agent.Agent) agent.Agent,
	plugins ...*plugin.Plugin,
) *world {
	leaks := goleak.IgnoreCurrent()
	remote := memory.New()
	refuses := &plugin.Plugin{
		Name: "refuses",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || e.Text() != "forbidden" {
				return plugin.Outcome{}, nil
			}
			no := session.Reply("Not here.")
			no.ErrorCode = session.Denied
			return plugin.Outcome{Emit: []*session.Event{no}, Stop: true}, nil
		},
		Partials: true,
	}
	bot := agent.New("bot", "", there)
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: remote, Plugins: []*plugin.Plugin{refuses}})
	require.NoError(t, err)
	s, err := server.New(server.Options{
		Apps: []server.App{{Name: "desk", Runner: r}},
		Caller: func(r *http.Request) (server.Caller, error) {
			if r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("X-More") != "more" {
				return server.Caller{}, server.ErrUnauthorized
			}
			return server.Caller{User: "here"}, nil
		},
	})
	require.NoError(t, err)
	h := httptest.NewServer(s)
	far, err := a2a.New("far", "works elsewhere", h.URL+"/a2a/desk",
		a2a.Options{Token: "key", Header: http.Header{"X-More": {"more"}}})
	require.NoError(t, err)
	local := memory.New()
	here, err := runner.New(runner.Options{
		Agent:    root(far),
		Sessions: local,
		Plugins:  append(plugins, rewind.New(local)),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, here.Close(context.Background()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		h.Close()
		require.NoError(t, r.Close(context.Background()))
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, local.Close())
		require.NoError(t, remote.Close())
		leaktest.None(t, leaks)
	})
	return &world{T: t, here: here, remote: remote, local: local, url: h.URL}
}

// run runs an input and returns the whole events, but for the input, and the text of the partial
// ones.
func (w *world) run(id string, input *session.Event) (events []*session.Event, partial string) {
	w.Helper()
	key := session.Key{App: "a", User: "u", ID: id}
	for e, err := range w.here.Run(w.Context(), key, input, session.RunConfig{Create: true, Streaming: session.SSE}) {
		require.NoError(w, err)
		switch {
		case e.Partial:
			partial += e.Text()
		case e.Author != session.User:
			events = append(events, e)
		}
	}
	return events, partial
}

// contexts returns the ids of the sessions there.
func (w *world) contexts() []string {
	var ids []string
	for s, err := range w.remote.List(w.Context(), "desk", "here") {
		require.NoError(w, err)
		ids = append(ids, s.ID)
	}
	return ids
}

// heard returns what was said there by the user, in one context.
func (w *world) heard(id string) []string {
	var texts []string
	for e, err := range w.remote.Read(w.Context(), session.Key{App: "desk", User: "here", ID: id}, session.Selection{}) {
		require.NoError(w, err)
		if e.Author == session.User {
			texts = append(texts, e.Text())
		}
	}
	return texts
}

func TestAConversationGoesOnInOneContext(t *testing.T) {
	w := connect(t, nil)
	events, partial := w.run("s", session.Message("one"))
	require.Len(t, events, 1)
	require.Equal(t, "far", events[0].Author)
	require.Equal(t, "You said: one!", events[0].Text())
	require.True(t, partial == "" || strings.HasPrefix("You said: one!", partial), partial)
	events, _ = w.run("s", session.Message("two"))
	require.Equal(t, "You said: two!!", events[0].Text(),
		"the remote agent remembers the first turn")
	require.Len(t, w.contexts(), 1)
	require.Equal(t, []string{"one", "two"}, w.heard(w.contexts()[0]))

	// Another session has another context.
	w.run("other", session.Message("three"))
	require.Len(t, w.contexts(), 2)

	// What was rewound here is not remembered there: a new context is told what is left.
	w.run("s", rewind.To(2).Event())
	w.run("s", session.Message("four"))
	require.Len(t, w.contexts(), 3)
	require.Equal(t, "oneFor context: [you] said: You said: one!four", w.heard(w.contexts()[2])[0])
	w.run("s", session.Message("five"))
	require.Len(t, w.contexts(), 3)
}

func TestOtherAgentsAreQuoted(t *testing.T) {
	first := agent.New(
		"first",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { yield(session.Reply("I think so."), nil) }
		},
	)
	w := connect(t, []agent.Agent{first})
	w.run("s", session.Message("well?"))
	require.Equal(t, []string{"well?For context: [first] said: I think so."},
		w.heard(w.contexts()[0]))
}

func TestWhatATaskComesTo(t *testing.T) {
	w := connect(t, nil)
	events, _ := w.run("s", session.Message("forbidden"))
	require.Equal(t, session.Denied, events[0].ErrorCode)
	require.Equal(t, "Not here.", events[0].ErrorMessage)
	require.Equal(t, "Not here.", events[0].Text())
	events, _ = w.run("s", session.Message("fail"))
	require.Equal(t, a2a.Failed, events[0].ErrorCode)
	require.Equal(t, "agent bot failed", events[0].ErrorMessage)
	events, _ = w.run("s", session.Message("again"))
	require.Equal(t, "You said: again!!!", events[0].Text(), "the conversation goes on")
}

func TestInputRequiredIsACallThatWaits(t *testing.T) {
	waits := func(events []*session.Event, name string) *genai.FunctionCall {
		require.Len(t, events, 1)
		call := events[0].FunctionCalls()[0]
		require.Equal(t, name, call.Name)
		return call
	}
	for name, tc := range map[string]struct {
		ask    string
		answer func(*genai.FunctionCall) *session.Event
		want   string
	}{
		"yes": {ask: "book", answer: func(c *genai.FunctionCall) *session.Event { return session.Decision(true, c.ID) }, want: "Booked."},
		"no":  {ask: "book", answer: func(c *genai.FunctionCall) *session.Event { return session.Decision(false, c.ID) }, want: "Not booked."},
		"response": {ask: "ask", answer: func(c *genai.FunctionCall) *session.Event {
			return session.Respond(c, map[string]any{"result": "four"})
		}, want: "for four"},
		"text": {ask: "ask", answer: func(*genai.FunctionCall) *session.Event { return session.Message("four") }, want: "for four"},
	} {
		t.Run(name, func(t *testing.T) {
			w := connect(t, nil)
			events, _ := w.run("s", session.Message(tc.ask))
			call := waits(events, "book")
			require.Equal(t, map[string]any{"message": "How many?"}, call.Args)
			if tc.ask == "book" {
				require.Equal(t, "Really?",
					events[0].Actions.RequestedToolConfirmations[call.ID].Hint)

				// A text is no yes.
				events, _ = w.run("s", session.Message("what?"))
				require.Equal(t, "I wait for the answers to: book.", events[0].Text())
			}
			answer := tc.answer(call)
			answer.Author = session.User
			events, _ = w.run("s", answer)
			require.Equal(t, tc.want, events[len(events)-1].Text())
			require.Len(t, w.contexts(), 1)

			// The call has its response, and the next message is a new task.
			events, _ = w.run("s", session.Message("next"))
			require.Contains(t, events[0].Text(), "next")
		})
	}
}

func TestAPluginHereAnswersWhatThereIsAsked(t *testing.T) {
	policy := &plugin.Plugin{
		Name: "policy",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			var out plugin.Outcome
			for _, c := range e.FunctionCalls() {
				out.Emit = append(out.Emit,
					session.Respond(c, map[string]any{"error": "not allowed"}))
			}
			return out, nil
		},
	}
	w := connect(t, nil, policy)
	events, _ := w.run("s", session.Message("book"))
	require.Equal(t, "Not booked.", events[len(events)-1].Text())
}

func TestACancelledRunCancelsTheTask(t *testing.T) {
	// The run waits two seconds for the remote agent to hear of it. A busy machine may need longer,
	// but not each time.
	for try := 1; ; try++ {
		w := connect(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		key := session.Key{App: "a", User: "u", ID: "s"}
		var last error
		for e, err := range w.here.Run(ctx, key, session.Message("wait"), session.RunConfig{Create: true, Streaming: session.SSE}) {
			if last = err; err == nil && e.Partial {
				cancel()
			}
		}
		cancel()
		require.ErrorIs(t, last, context.Canceled)
		there, err := w.remote.Get(t.Context(),
			session.Key{App: "desk", User: "here", ID: w.contexts()[0]})
		require.NoError(t, err)
		if there.Holder == "" {
			return
		}
		require.Less(t, try, 10, "somebody works there still, in every attempt")
	}
}

// The remote agent takes all users here for one. So nobody goes on with another user's conversation
// there by writing into the state which one it is.
func TestNobodyEntersAnothersConversation(t *testing.T) {
	w := connect(t, nil)
	w.run("s", session.Message("my secret"))
	key := session.Key{App: "a", User: "mallory", ID: "m"}
	forged := session.Message("what did I say?")
	forged.Actions.StateDelta = map[string]any{"a2a.far": map[string]any{
		"context":  w.contexts()[0],
		"session":  key.String(),
		"position": 0.0,
	}}
	for _, err := range w.here.Run(t.Context(), key, forged, session.RunConfig{Create: true}) {
		require.ErrorIs(t, err, session.ErrInvalid)
	}
	require.Equal(t, []string{"my secret"}, w.heard(w.contexts()[0]))
	_, err := w.local.Create(t.Context(), key, forged.Actions.StateDelta)
	require.NoError(t, err)
	for _, err := range w.here.Run(t.Context(), key, session.Message("what did I say?"), session.RunConfig{}) {
		require.ErrorIs(t, err, session.ErrInvalid)
	}
	require.Equal(t, []string{"my secret"}, w.heard(w.contexts()[0]))
}

// ask runs an agent at a URL once, and returns its last event.
func ask(t *testing.T, url string, o a2a.Options) (events []*session.Event) {
	far, err := a2a.New("far", "", url, o)
	require.NoError(t, err)
	sessions := memory.New()
	defer sessions.Close()
	r, err := runner.New(runner.Options{Agent: far, Sessions: sessions})
	require.NoError(t, err)
	defer r.Close(context.Background())
	for e, err := range r.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, session.Message("hi"), session.RunConfig{Create: true}) {
		require.NoError(t, err)
		if e.Author != session.User {
			events = append(events, e)
		}
	}
	return events
}

func TestARemoteAgentThatMisbehaves(t *testing.T) {
	const sse = "text/event-stream"
	frame := func(result string) string { return `data: {"jsonrpc":"2.0","id":1,"result":` + result + "}\n\n" }
	task := func(state, more string) string {
		return `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_` + state + `"}` + more + `}`
	}
	text := `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"half"}]}}}`
	send := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	var calls atomic.Int64
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		code    string
		says    string // the last event
		first   string // the text of the first one
	}{
		"endless body": {handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", sse)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte("data: " + strings.Repeat("x", 1000))); err != nil {
					return
				}
			}
		}, code: a2a.Failed, says: "its answer has more than 100000 bytes"},
		"endless answers": {handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", sse)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(frame(text))); err != nil {
					return
				}
			}
		}, code: a2a.Failed, says: "its answer has more than 100000 bytes"},
		"endless JSON": {handler: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("x", 1000))); err != nil {
					return
				}
			}
		}, code: a2a.Failed, says: "its answer has more than 100000 bytes"},
		"no JSON":         {handler: send(sse, "data: nonsense\n\n"), code: a2a.Failed, says: "what it has sent is no JSON-RPC response"},
		"another JSON":    {handler: send(sse, frame(`{"x":1}`)), code: a2a.Failed, says: "what it has sent is no JSON-RPC response"},
		"an empty stream": {handler: send(sse, ""), code: a2a.Failed, says: "the connection has ended before the answer"},
		"silence": {handler: func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) > 1 {
				http.Error(w, "", http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", sse)
			_, _ = w.Write([]byte(frame(`{"task":`+task("WORKING", "")+`}`) + frame(text)))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, code: a2a.Failed, says: "status 502", first: "half"},
		"silence from the beginning": {handler: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not noticed
			<-r.Context().Done()
		}, code: a2a.Failed, says: "it has sent nothing for too long"},
		"an error": {handler: send("application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"out of order"}}`), code: a2a.Failed, says: "out of order (code -32603)"},
		"a status": {handler: func(w http.ResponseWriter, r *http.Request) { http.Error(w, "secret", http.StatusServiceUnavailable) }, code: a2a.Failed, says: "status 503"},
		"a redirect": {handler: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, code: a2a.Failed, says: "status 307"},
		"it closes early, and the task goes on": {handler: func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			switch {
			case !strings.Contains(string(data), "GetTask"):
				send(sse, frame(`{"task":`+task("WORKING", "")+`}`)+frame(text))(w, r)
			case calls.Add(1) < 3:
				send("application/json", `{"jsonrpc":"2.0","id":1,"result":`+task("WORKING", "")+`}`)(w, r)
			default:
				done := task("COMPLETED", `,"artifacts":[{"artifactId":"a","parts":[{"text":"half and whole"}]}]`)
				send("application/json", `{"jsonrpc":"2.0","id":1,"result":`+done+`}`)(w, r)
			}
		}, first: "half and whole"},
		"it does not stream": {handler: func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			if strings.Contains(string(data), "SendStreamingMessage") {
				send("application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}`)(w, r)
				return
			}
			send("application/json", `{"jsonrpc":"2.0","id":1,"result":{"task":`+task("COMPLETED", `,"artifacts":[{"artifactId":"a","parts":[{"text":"whole"}]}]`)+`}}`)(w, r)
		}, first: "whole"},
		"a message only":   {handler: send(sse, frame(`{"message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}`)), first: "hello"},
		"text in a status": {handler: send(sse, frame(`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}}}`)), first: "hello"},
		"it asks":          {handler: send(sse, frame(`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"Which?"}]}}}}`))},
		"a login":          {handler: send(sse, frame(`{"task":`+task("AUTH_REQUIRED", "")+`}`)), code: a2a.AuthRequired, says: "TASK_STATE_AUTH_REQUIRED"},
		"no output":        {handler: send(sse, frame(`{"task":`+task("COMPLETED", "")+`}`))},
	} {
		t.Run(name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			calls.Store(0)
			h := httptest.NewServer(tc.handler)
			silence := time.Minute
			if strings.HasPrefix(name, "silence") {
				silence = 3 * time.Second
			}
			events := ask(t, h.URL+"/rpc?key=hidden",
				a2a.Options{Token: "secret", Silence: silence, MaxBytes: 100_000})
			h.CloseClientConnections()
			h.Close()
			last := events[len(events)-1]
			require.Equal(t, tc.code, last.ErrorCode, last.ErrorMessage)
			require.Contains(t, last.ErrorMessage, tc.says)
			if tc.code == a2a.Failed {
				require.Contains(t, last.ErrorMessage, "agent far at "+h.URL+"/rpc: ")
			}
			require.NotContains(t, last.ErrorMessage, "secret")
			require.NotContains(t, last.ErrorMessage, "hidden")
			if tc.first != "" {
				require.Equal(t, tc.first, events[0].Text())
			}
			if name == "it asks" {
				require.Equal(t, "adk_request_input", last.FunctionCalls()[0].Name)
				require.Equal(t, map[string]any{"message": "Which?"}, last.FunctionCalls()[0].Args)
			}
			http.DefaultClient.CloseIdleConnections()
			leaktest.None(t, leaks)
		})
	}

	// Nobody is there.
	events := ask(t, "http://127.0.0.1:1/rpc?key=hidden", a2a.Options{})
	require.Contains(t, events[0].ErrorMessage, "agent far at http://127.0.0.1:1/rpc: ")
	require.NotContains(t, events[0].ErrorMessage, "hidden")
}

func TestNewRefusesURLs(t *testing.T) {
	for _, url := range []string{"", "ftp://x/y", "http://", "://", "http://me:hidden@host/", "http://host/\x00hidden"} {
		_, err := a2a.New("far", "", url, a2a.Options{})
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "hidden")
	}
}
