package server_test

import (
	"context"
	"iter"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

// refuse is a plugin that withholds what users say with "forbidden" in it, and counts what it was asked. A
// text that ends in "!" is refused without a word to show.
func refuse(asked *int) *plugin.Plugin {
	return &plugin.Plugin{
		Name:     "policy",
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || e.Content == nil {
				return plugin.Outcome{}, nil
			}
			*asked++
			if !strings.Contains(e.Text(), "forbidden") {
				return plugin.Outcome{}, nil
			}
			out := plugin.Deny("That is not allowed here.", "a rule")
			if strings.HasSuffix(e.Text(), "!") {
				out.Emit[0].Content = nil
			}
			return out, nil
		},
	}
}

// inOrder takes out the key of an event that stands elsewhere once the event was read from the log.
func inOrder(answer string) string {
	return strings.NewReplacer(`"seq":1,`, "", `,"seq":1`, "").Replace(answer)
}

// What is wrong with a message to /chat is told by its key, without the names of types.
func TestWhatIsWrongWithAChat(t *testing.T) {
	s := serve(t, servertest.Act, nil)
	for key, value := range map[string]string{"foo": "1", "message": "5", "content": `{"parts":"Hello"}`} {
		status, body := s.Do("POST", "/chat", `{"session":"ada","`+key+`":`+value+`}`)
		require.Equal(t, 400, status, body)
		require.Contains(t, body, "the body at /"+key)
		require.NotContains(t, body, "Go ")
		require.NotContains(t, body, "v1.")
	}
}

// A message that was denied is not in the log. Sent again with its id, it is told as denied, by every surface
// whose clients give ids: nobody judges it again, and other content with its id is refused.
func TestADeniedMessageAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		send func(s *service, text string) (status int, answer string)
		says string // the answer to a denied message
	}{
		"run": {func(s *service, text string) (int, string) {
			return s.Do("POST", "/v1/apps/desk/sessions/ada/run", `{"id":"m1","message":"`+text+`"}`)
		}, `"kind":"denied"`},
		"chat": {func(s *service, text string) (int, string) {
			return s.Do("POST", "/chat", `{"id":"m1","session":"ada","message":"`+text+`"}`)
		}, `"kind":"denied"`},
		"AG-UI": {func(s *service, text string) (int, string) {
			return s.Do("POST", "/agui/desk", strings.ReplaceAll(servertest.AGUIRequest("run-1", text), "u1", "m1"))
		}, `"code":"DENIED"`},
		"UI stream": {func(s *service, text string) (int, string) {
			return s.Do("POST", "/v1/apps/desk/ui", `{"id":"ada","messages":[{"id":"m1","role":"user",`+
				`"parts":[{"type":"text","text":"`+text+`"}]}]}`)
		}, `"finishReason":"content-filter"`},
		"A2A": {func(s *service, text string) (int, string) {
			answer := s.a2a("SendMessage", servertest.A2AMessage("m1", text, `,"contextId":"ada"`))
			if strings.Contains(answer, `"error":{"code"`) {
				return 409, answer
			}
			return 200, answer
		}, `"TASK_STATE_REJECTED"`},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := serve(t, servertest.Act, nil, refuse(&asked))
			status, first := tc.send(s, "a forbidden thing")
			require.Equal(t, 200, status)
			require.Contains(t, first, tc.says)
			require.Contains(t, first, "That is not allowed here.")
			status, again := tc.send(s, "a forbidden thing")
			require.Equal(t, 200, status)
			require.Equal(t, inOrder(first), inOrder(again))
			status, other := tc.send(s, "Hello")
			require.Equal(t, 409, status, other)
			require.Equal(t, 1, asked)
			one, err := s.Sessions.Get(t.Context(),
				session.Key{App: "desk", User: "user", ID: "ada"})
			require.NoError(t, err)
			require.Equal(t, int64(1), one.Position)
		})
	}
}

// A page of AG-UI still has a message that was denied without a word, before its next one: it is not said
// again.
func TestTheNextMessageAfterADeniedOne(t *testing.T) {
	asked := 0
	s := serve(t, servertest.Act, nil, refuse(&asked))
	require.Contains(t, s.agui(servertest.AGUIRequest("run-1", "forbidden!")), "DENIED")
	said := "" // in as many pieces as come
	for _, m := range regexp.MustCompile(`"delta":"([^"]*)"`).FindAllStringSubmatch(s.agui(servertest.AGUIRequest("run-2", "forbidden!", "Hello")), -1) {
		said += m[1]
	}
	require.Equal(t, "You said: Hello", said)
}

// A denied message that is sent again cancels nobody's run.
func TestADeniedMessageAgainOnABusySession(t *testing.T) {
	for _, busy := range []string{"reject", "interrupt", "rollback"} {
		t.Run(busy, func(t *testing.T) {
			asked := 0
			goOn := make(chan struct{})
			s := serve(t, servertest.Waiting(goOn), nil, refuse(&asked))
			const path = "/v1/apps/desk/sessions/ada/run"
			denied := `{"id":"m1","message":"forbidden","onBusy":"` + busy + `"}`
			_, first := s.Do("POST", path, denied)
			resp := s.Open(
				t.Context(),
				"POST",
				path,
				`{"id":"m2","message":"Hello"}`,
				"Accept",
				"text/event-stream",
			)
			defer resp.Body.Close()
			require.Eventually(t, func() bool {
				one, err := s.Sessions.Get(t.Context(),
					session.Key{App: "desk", User: "user", ID: "ada"})
				return err == nil && one.Position == 2
			}, time.Minute, 5*time.Millisecond)
			time.AfterFunc(100*time.Millisecond, func() { close(goOn) })
			status, again := s.Do("POST", path, denied)
			require.Equal(t, 200, status)
			require.Equal(t, inOrder(first), inOrder(again))
			list := servertest.Frames(t, resp.Body, nil)
			require.Contains(t, list[len(list)-1].Data, `"kind":"done"`)
			require.Equal(t, 2, asked)
		})
	}
}

// A run that was cancelled is told as cancelled when its input is sent again, by every surface; a request
// without an input goes on.
func TestACancelledMessageAgain(t *testing.T) {
	const path = "/v1/apps/desk/sessions/ada"
	for name, tc := range map[string]struct {
		send func(s *service) string
		says string
	}{
		"run": {func(s *service) string {
			_, body := s.Do("POST", path+"/run", `{"id":"m1","message":"wait"}`)
			return body
		}, `"kind":"cancelled"`},
		"chat": {func(s *service) string {
			_, body := s.Do("POST", "/chat", `{"id":"m1","session":"ada","message":"wait"}`)
			return body
		}, `"kind":"cancelled"`},
		"AG-UI": {func(s *service) string {
			_, body := s.Do("POST", "/agui/desk", strings.ReplaceAll(servertest.AGUIRequest("m1", "wait"), "u1", "m1"))
			return body
		}, `"outcome":{"type":"cancelled"}`},
		"A2A": {func(s *service) string {
			return s.a2a("SendMessage", servertest.A2AMessage("m1", "wait", `,"contextId":"ada"`))
		}, `"TASK_STATE_CANCELED"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, servertest.Act, nil)
			key := session.Key{App: "desk", User: "user", ID: "ada"}
			first := make(chan string, 1)
			go func() { first <- tc.send(s) }()
			require.Eventually(t, func() bool {
				one, err := s.Sessions.Get(t.Context(), key)
				return err == nil && one.Position == 1
			}, time.Minute, 5*time.Millisecond)
			status, body := s.Do("POST", path+"/invocations/m1/cancel?wait=1", "")
			require.Equal(t, 200, status)
			require.Contains(t, body, `"kind":"cancelled"`)
			require.Contains(t, <-first, tc.says)
			before, err := s.Sessions.Get(t.Context(), key)
			require.NoError(t, err)
			require.Contains(t, tc.send(s), tc.says)
			after, err := s.Sessions.Get(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, before.Position, after.Position)
			if name == "A2A" {
				require.Contains(t, s.a2a("GetTask", `{"id":"ada:m1"}`), `"TASK_STATE_CANCELED"`)
			}
		})
	}
}

// A server that is shut down cuts its runs off: nothing says that somebody has cancelled them, so another
// server goes on with the same input. A run that took too long was ended on purpose.
func TestWhoEndedTheRun(t *testing.T) {
	key := session.Key{App: "desk", User: "user", ID: "ada"}
	said := func(s *service) (codes []string) {
		for e, err := range s.Sessions.Read(context.Background(), key, session.Selection{}) {
			require.NoError(t, err)
			codes = append(codes, e.ErrorCode)
		}
		return codes
	}
	t.Run("a shutdown", func(t *testing.T) {
		s := serve(t, servertest.Act, nil)
		resp := s.Open(
			t.Context(),
			"POST",
			servertest.Ada+"/run",
			`{"id":"m1","message":"wait","streaming":false}`,
			"Accept",
			"text/event-stream",
		)
		defer resp.Body.Close()
		require.Eventually(t, func() bool { return len(said(s)) == 1 }, time.Minute,
			5*time.Millisecond)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		s.Server.Shutdown(now)
		require.NotContains(t, said(s), session.Cancelled)
	})
	t.Run("the limit of time", func(t *testing.T) {
		s := serve(t, servertest.Act, func(o *server.Options) { o.Limits.Run = time.Second })
		const wait = `{"id":"m1","message":"wait"}`
		_, body := s.Do("POST", servertest.Ada+"/run", wait)
		require.Contains(t, body, `"code":"too_long"`)
		before := said(s)
		require.Contains(t, before, session.Cancelled)
		_, body = s.Do("POST", servertest.Ada+"/run", wait)
		require.Contains(t, body, `"kind":"cancelled"`)
		require.Equal(t, before, said(s))
	})
}

// An input whose call has waited for a yes, and got it by another input, is told as what it was when it is sent again:
// the agent does not go on twice. The model may have called another tool beside it.
func TestAnInputWhoseCallWasApprovedMeanwhile(t *testing.T) {
	beside := func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			for _, c := range host.Answered() {
				booked := session.Respond(c.FunctionCall, map[string]any{"booked": c.Approved()})
				_ = yield(booked, nil) && yield(session.Reply("Thank you."), nil)
				return
			}
			calls := servertest.Call("book-0", "book", nil)
			look := servertest.Call("look-0", "look", nil).Content.Parts[0]
			calls.Content.Parts = append(calls.Content.Parts, look)
			calls.Actions.Confirm("book-0", session.Confirmation{Hint: "5 EUR"})
			_ = yield(calls, nil) && yield(session.Respond(look.FunctionCall, map[string]any{"free": 3}), nil)
		}
	}
	for name, does := range map[string]servertest.Agent{"one call": servertest.Desk, "two calls": beside} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, does, nil)
			const book = `{"id":"m1","message":"book"}`
			s.Do("POST", servertest.Ada+"/run", book)
			status, body := s.Do("POST", servertest.Ada+"/approve", `{"id":"m2","calls":["book-0"]}`)
			require.Equal(t, 200, status, body)
			texts := s.Texts("ada")
			status, body = s.Do("POST", servertest.Ada+"/run", book)
			require.Equal(t, 200, status, body)
			require.Contains(t, body, `"kind":"done"`)
			require.Equal(t, texts, s.Texts("ada"))
		})
	}
}
