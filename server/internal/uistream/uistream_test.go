package uistream_test

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
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

const (
	route    = "/v1/apps/desk/ui"
	approved = `"state":"approval-responded","approval":{"approved":true}`
)

// says returns a request with one message of the user's.
func says(id, text string) string {
	return fmt.Sprintf(`{"id":"ada","messages":[{"id":%q,"role":"user",
		"parts":[{"type":"text","text":%q}]}]}`, id, text)
}

// answers returns a request whose last message has a call, and an answer to it.
func answers(call, state string) string {
	return fmt.Sprintf(`{"id":"ada","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"?"}]},
		{"id":"u1/answer","role":"assistant","parts":[{"type":"tool-x","toolCallId":%q,%s}]}]}`, call, state)
}

// read returns the chunks of a stream, without what has begun and ended it, and checks what every stream has
// to keep.
func read(t *testing.T, resp *http.Response, each func(string)) []string {
	t.Helper()
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "v1", resp.Header.Get("X-Vercel-Ai-Ui-Message-Stream"))
	var list []string
	open := map[string]bool{}
	servertest.Frames(t, resp.Body, func(f servertest.Frame) bool {
		list = append(list, f.Data)
		if f.Data == "[DONE]" {
			return false
		}
		var c struct{ Type, ID string }
		require.NoError(t, json.Unmarshal([]byte(f.Data), &c))
		if kind, ok := strings.CutSuffix(c.Type, "-start"); ok && c.ID != "" {
			require.False(t, open[kind+c.ID], "%s began twice", f.Data)
			open[kind+c.ID] = true
		}
		if kind, ok := strings.CutSuffix(c.Type, "-delta"); ok && c.ID != "" {
			require.True(t, open[kind+c.ID], "%s is not open", f.Data)
		}
		if kind, ok := strings.CutSuffix(c.Type, "-end"); ok {
			require.True(t, open[kind+c.ID], "%s is not open", f.Data)
			delete(open, kind+c.ID)
		}
		if each != nil {
			each(f.Data)
		}
		return false
	})
	require.Empty(t, open)
	require.Contains(t, list[0], `"type":"start"`)
	require.Equal(t, "[DONE]", list[len(list)-1])
	return list
}

// post posts a request and returns the chunks of its answer as one text.
func post(s *servertest.Service, body string) string {
	s.Helper()
	return strings.Join(read(s.T, s.Open(s.Context(), "POST", route, body), nil), "\n")
}

// What a plugin changes after it was said is marked, and what it says in its place is said.
func TestTextThatAPluginHasChanged(t *testing.T) {
	s := servertest.Serve(t, servertest.Act, nil, servertest.Policy())
	list := read(t, s.Open(t.Context(), "POST", route, says("u1", "card")), func(chunk string) {
		if strings.Contains(chunk, `4111"`) {
			servertest.Shown <- struct{}{}
		}
	})
	all := strings.Join(list, "\n")
	require.Contains(t, all, `"providerMetadata":{"plughook":{"withheld":true}},"type":"text-end"`)
	require.Contains(t, all, `"delta":"Card [X]"`)
	require.Contains(t, all, `{"finishReason":"stop","messageMetadata":{"end":"done"},"type":"finish"}`)
	_, body := s.Do("GET", route+"/ada", "")
	require.NotContains(t, body, "4111")
}

func TestARunThatAPluginStops(t *testing.T) {
	stop := &plugin.Plugin{
		Name: "guard",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{Stop: e.Author != session.User}, nil
		},
	}
	s := servertest.Serve(t, servertest.Act, nil, stop)
	all := post(s, says("u1", "weather"))
	require.Contains(t, all, `"type":"tool-input-available"`)
	require.Contains(t, all, `{"finishReason":"other","messageMetadata":{"end":"stopped"}`)
}

// goesOn books with a yes, and waits after the booking until it may say so.
func goesOn(goOn <-chan struct{}) servertest.Agent {
	return func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			answered := host.Answered()
			if len(answered) == 0 {
				servertest.Desk(ctx, host)(yield)
				return
			}
			c := answered[0]
			if yield(session.Respond(c.FunctionCall, map[string]any{"booked": c.Approved()}), nil) {
				servertest.Waiting(goOn)(ctx, host)(yield)
			}
		}
	}
}

// Whoever comes to a run gets the message from its beginning: also if an earlier run has begun it, and
// another server has the run.
func TestAMessageThatSeveralRunsHaveMade(t *testing.T) {
	goOn := make(chan struct{})
	sessions := memory.New()
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	desk := agent.New("helper", "It helps.", goesOn(goOn))
	s := servertest.ServeOn(t, sessions, desk, nil)
	other := servertest.ServeOn(t, sessions, desk, nil)
	all := post(s, says("u1", "book"))
	require.Contains(t, all, `"messageId":"u1/answer"`)
	require.Contains(t, all, `{"approvalId":"book-0","toolCallId":"book-0","type":"tool-approval-request"}`)
	require.Contains(t, all, `{"data":{"hint":"5 EUR"},"id":"book-0","type":"data-approval"}`)
	for _, one := range []*servertest.Service{s, other} {
		require.Eventually(t, func() bool { // the store learns a little later than the client that the run has ended
			status, _ := one.Do("GET", route+"/ada/stream", "")
			return status == http.StatusNoContent
		}, time.Minute, time.Millisecond, "nothing runs")
	}

	yes := s.Open(t.Context(), "POST", route, answers("book-0", approved))
	booked := make(chan struct{})
	lists := make(chan string)
	go func() {
		lists <- strings.Join(read(t, yes, func(chunk string) {
			if strings.Contains(chunk, "tool-output-available") {
				close(booked)
			}
		}), "\n")
	}()
	<-booked
	here := s.Open(t.Context(), "GET", route+"/ada/stream", "")
	there := other.Open(t.Context(), "GET", route+"/ada/stream", "")
	close(goOn)
	first := <-lists
	require.NotContains(t, first, "messageId", "it goes on with the message that the client has")
	require.NotContains(t, first, "tool-input-start")
	for _, again := range []*http.Response{here, there} {
		all := strings.Join(read(t, again, nil), "\n")
		require.Contains(t, all, `"messageId":"u1/answer"`)
		require.Equal(t, 1, strings.Count(all, "tool-input-start"))
		require.Equal(t, 1, strings.Count(all, `"output":{"booked":true}`))
		require.Equal(t, 1, strings.Count(all, `"delta":"done"`), all)
		require.Contains(t, all, `"finishReason":"stop"`)
	}
}

// What others decide is not asked of the user; an answer to what does not wait is refused.
func TestWhoIsAsked(t *testing.T) {
	finance := func(o *server.Options) {
		o.Caller = func(*http.Request) (server.Caller, error) { return server.Caller{User: "user"}, nil }
	}
	s := servertest.Serve(t, servertest.Desk, finance)
	all := post(s, says("u1", "refund"))
	require.NotContains(t, all, "approval-request")
	require.Contains(t, all, `"finishReason":"tool-calls","messageMetadata":{"end":"waiting"}`)
	for _, call := range []string{"refund-1", "nothing"} {
		status, body := s.Do("POST", route, answers(call, approved))
		require.Equal(t, http.StatusConflict, status, body)
	}
	_, body := s.Do("GET", "/v1/apps/desk/sessions/ada/waiting", "")
	require.Contains(t, body, `"id":"refund-1"`)
}

// An interim result is told as preliminary, and what the client sends back of it is no answer.
func TestACallWhoseResultComesLater(t *testing.T) {
	s := servertest.Serve(t, func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			for _, c := range host.Answered() {
				yield(session.Reply("It is "+servertest.JSON(c.Result.Response)), nil)
				return
			}
			call := servertest.Call("o1", "order", nil)
			call.LongRunningToolIDs = []string{"o1"}
			yield(call, nil)
			interim := session.Respond(call.FunctionCalls()[0], map[string]any{"ticket": 7})
			interim.LongRunningToolIDs = []string{"o1"}
			yield(interim, nil)
		}
	}, nil)
	all := post(s, says("u1", "order"))
	require.Contains(t, all, `{"output":{"ticket":7},"preliminary":true,"toolCallId":"o1",`)
	status, body := s.Do("POST", route, answers("o1", `"state":"output-available","output":{"ticket":7}`))
	require.Equal(t, http.StatusConflict, status, body)
	all = post(s, answers("o1", `"state":"output-error","errorText":"lost"`))
	require.Contains(t, all, `"delta":"It is {\"error\":\"lost\"}"`)
}

func TestRefusals(t *testing.T) {
	s := servertest.Serve(t, servertest.Act, func(o *server.Options) {
		o.Limits.Upload = 4000
		o.Caller = func(r *http.Request) (server.Caller, error) {
			return server.Caller{User: r.Header.Get("X-User")}, nil
		}
	})
	file := func(url string) string {
		return `{"id":"ada","messages":[{"id":"u","role":"user","parts":[{"type":"file","url":"` + url + `"}]}]}`
	}
	for name, tc := range map[string]struct {
		path, body string
		status     int
	}{
		"no app":            {"/v1/apps/nope/ui", says("u", "hi"), 404},
		"another user":      {route + "?user=bob", says("u", "hi"), 404},
		"no JSON":           {route, "{", 400},
		"no chat":           {route, `{"messages":[]}`, 400},
		"no message":        {route, `{"id":"ada"}`, 409},
		"an id of nothing":  {route, says("", "hi"), 400},
		"nothing said":      {route, says("u", ""), 400},
		"a script":          {route, file("javascript:alert(1)"), 400},
		"a file of here":    {route, file("file:///etc/passwd"), 400},
		"what is no base64": {route, file("data:text/plain;base64,***"), 400},
		"what is no escape": {route, file("data:,%zz"), 400},
		"busy as what":      {route, `{"id":"ada","messages":[],"onBusy":"x"}`, 400},
		"leaving as what":   {route, `{"id":"ada","messages":[],"onDisconnect":"x"}`, 400},
		"too large":         {route, says("u", strings.Repeat("x", 5000)), 413},
	} {
		status, body := s.Do("POST", tc.path, tc.body, "X-User", "ann")
		require.Equal(t, tc.status, status, "%s: %s", name, body)
	}
	for path, want := range map[string]int{"/ada": 404, "/ada/stream": 204, "/ada/stream?user=bob": 404} {
		status, body := s.Do("GET", route+path, "", "X-User", "ann")
		require.Equal(t, want, status, "%s: %s", path, body)
	}
}

// Another answer takes the one that there was back, which needs the plugin for that.
func TestAnotherAnswerNeedsRewind(t *testing.T) {
	sessions := memory.New()
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	r, err := runner.New(runner.Options{Agent: agent.New("helper", "", servertest.Echo), Sessions: sessions})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	s := servertest.ServeRunner(t, r, func(*server.Options) {})
	post(s, says("u1", "Hello"))
	again := strings.Replace(says("u1", "Hello"), `{"id":"ada"`, `{"id":"ada","trigger":"regenerate-message"`, 1)
	status, body := s.Do("POST", route, again)
	require.Equal(t, http.StatusNotImplemented, status, body)

	// A message that is not in the log is run, as if it was sent for the first time.
	require.Contains(t, post(s, strings.ReplaceAll(again, "u1", "u2")), "You said: Hello"[5:])
}

// A message whose run goes on, or was cut off with its server, is not taken back when the client wants another answer:
// the run goes on.
func TestAnotherAnswerToWhatHasNotEnded(t *testing.T) {
	goOn := make(chan struct{})
	sessions := memory.New()
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	waits := agent.New("helper", "It helps.", servertest.Waiting(goOn))
	s := servertest.ServeOn(t, sessions, waits, nil)
	other := servertest.ServeOn(t, sessions, waits, nil)
	again := strings.Replace(says("u1", "Hello"), `{"id":"ada"`, `{"id":"ada","trigger":"regenerate-message"`, 1)
	first := s.Open(t.Context(), "POST", route, says("u1", "Hello"))
	require.Eventually(t, func() bool {
		status, body := s.Do("GET", "/v1/apps/desk/sessions/ada", "")
		return status == http.StatusOK && strings.Contains(body, `"running":"u1"`)
	}, time.Minute, time.Millisecond)
	second := s.Open(t.Context(), "POST", route, again)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.Server.Shutdown(gone)
	for _, resp := range []*http.Response{first, second} {
		require.Contains(t, strings.Join(read(t, resp, nil), "\n"), `"type":"error"`)
	}
	close(goOn)
	require.Contains(t, post(other, again), `"delta":"done"`)
	require.Equal(t, []string{"Hello", "done"}, other.Texts("ada"))
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		says("u1", "Hello"), says("u2", "book"), answers("book-0", approved),
		answers("book-0", `"state":"output-available","output":null`), `{"id":"ada","messages":[{"parts":[{}]}]}`,
		`{"id":"ada","trigger":"regenerate-message",
			"messages":[{"id":"u1","role":"user","parts":[{"type":"file","url":"data:,x"}]}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := servertest.Serve(t, servertest.Desk, nil)
		s.Do("POST", route, says("u1", "book"))
		status, answer := s.Do("POST", route, body)
		require.Less(t, status, 500, answer)
		if status == http.StatusOK {
			require.True(t, strings.HasSuffix(answer, "data: [DONE]\n\n"), answer)
		}
		status, answer = s.Do("GET", route+"/ada", "")
		require.Equal(t, http.StatusOK, status, answer)
	})
}
