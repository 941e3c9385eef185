package kit_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
)

const kitSessions = "/apps/desk/users/user/sessions"

// kitSession makes a session and returns its id.
func (s *service) kitSession() string {
	s.Helper()
	status, body := s.Do("POST", kitSessions, "")
	require.Equal(s, 200, status, body)
	return decoded[map[string]any](s.T, body)["id"].(string)
}

// kitRun runs a message, in snake_case, and returns the events.
func (s *service) kitRun(id, message string) []map[string]any {
	s.Helper()
	request, err := json.Marshal(map[string]any{
		"app_name":    "desk",
		"user_id":     "user",
		"session_id":  id,
		"new_message": json.RawMessage(message),
	})
	require.NoError(s, err)
	status, body := s.Do("POST", "/run", string(request))
	require.Equal(s, 200, status, body)
	events := decoded[[]map[string]any](s.T, body)
	for _, e := range events {
		strictEvent(s.T, e)
	}
	return events
}

func kitText(text string) string { return `{"parts":[{"text":"` + text + `"}]}` }

// kitEvents returns the events of a session.
func (s *service) kitEvents(id string) []map[string]any {
	s.Helper()
	status, body := s.Do("GET", kitSessions+"/"+id, "")
	require.Equal(s, 200, status, body)
	events := asMaps(decoded[map[string]any](s.T, body)["events"].([]any))
	for _, e := range events {
		strictEvent(s.T, e)
	}
	return events
}

func TestKitTakesBothSpellingsAndNull(t *testing.T) {
	s := serveKit(t, nil)
	for _, body := range []string{``, `{}`, `null`, `{"state":null,"events":null,"session_id":null}`} {
		status, answer := s.Do("POST", kitSessions, body)
		require.Equal(t, 200, status, answer)
	}
	for i, body := range []string{``, `{}`, `null`, `{"state":null}`} {
		status, answer := s.Do("POST", kitSessions+"/named"+strconv.Itoa(i), body)
		require.Equal(t, 200, status, answer)
		require.Empty(t, decoded[map[string]any](t, answer)["state"])
	}
	for path, body := range map[string]string{
		"":       `{"session_id":"both","state":{"a_key":1,"aKey":2,"none":null}}`,
		"/bare":  `{"a_key":1,"aKey":2,"none":null}`,
		"/whole": `{"state":{"a_key":1,"aKey":2},"events":[]}`,
	} {
		status, answer := s.Do("POST", kitSessions+path, body)
		require.Equal(t, 200, status, answer)
		require.Equal(t, map[string]any{"a_key": 1.0, "aKey": 2.0},
			decoded[map[string]any](t, answer)["state"], path)
	}
	status, answer := s.Do(
		"POST",
		"/run",
		`{"appName":"desk","user_id":"user","sessionId":"both","streaming":null,
		"newMessage":{"role":null,"parts":[{"text":"Hello"},{"inline_data":{"mime_type":"text/plain","data":"aGk="}}]},
		"stateDelta":null,"functionCallEventId":null,"aKeyOfTomorrow":[]}`,
	)
	require.Equal(t, 200, status, answer)
	input := s.kitEvents("both")[0]["content"].(map[string]any)["parts"].([]any)
	require.Equal(t,
		map[string]any{"inlineData": map[string]any{"mimeType": "text/plain", "data": "aGk="}},
		input[1])

	// A state delta comes with the message.
	status, answer = s.Do("POST", "/run", `{"appName":"desk","userId":"user","sessionId":"both",
		"newMessage":`+kitText("Hello")+`,"state_delta":{"a_key":3}}`)
	require.Equal(t, 200, status, answer)
	_, answer = s.Do("GET", kitSessions+"/both", "")
	require.Equal(t, 3.0, decoded[map[string]any](t, answer)["state"].(map[string]any)["a_key"])
}

func TestKitRefusesInAFormThatEveryClientReads(t *testing.T) {
	s := serveKit(t, func(o *server.Options) {
		o.Caller = func(r *http.Request) (server.Caller, error) { return server.Caller{User: r.Header.Get("X-User")}, nil }
	})
	key := session.Key{App: "desk", User: "ann", ID: "hers"}
	_, err := s.Sessions.Create(t.Context(), key, nil)
	require.NoError(t, err)
	for name, q := range map[string]struct {
		user, method, path, body string
		status                   int
	}{
		"no such app":            {"ann", "GET", "/apps/none/users/ann/sessions", "", 404},
		"another user":           {"bob", "GET", "/apps/desk/users/ann/sessions/hers", "", 404},
		"another user's list":    {"bob", "GET", "/apps/desk/users/ann/sessions", "", 404},
		"another user's run":     {"bob", "POST", "/run", `{"appName":"desk","userId":"ann","sessionId":"hers","newMessage":` + kitText("Hi") + `}`, 404},
		"another user's stream":  {"bob", "POST", "/run_sse", `{"appName":"desk","userId":"ann","sessionId":"hers","newMessage":` + kitText("Hi") + `}`, 404},
		"another user's file":    {"bob", "GET", "/apps/desk/users/ann/sessions/hers/artifacts/a", "", 404},
		"deleting another's":     {"bob", "DELETE", "/apps/desk/users/ann/sessions/hers", "", 404},
		"no such session":        {"ann", "DELETE", "/apps/desk/users/ann/sessions/none", "", 404},
		"not JSON":               {"ann", "POST", "/run", `{`, 400},
		"not an object":          {"ann", "POST", "/run", `[]`, 400},
		"a wrong type":           {"ann", "POST", "/run", `{"appName":7}`, 400},
		"no message":             {"ann", "POST", "/run", `{"appName":"desk","userId":"ann","sessionId":"hers","stateDelta":{"k":1}}`, 400},
		"an empty message":       {"ann", "POST", "/run_sse", `{"appName":"desk","userId":"ann","sessionId":"hers","newMessage":{"parts":[]}}`, 400},
		"not a message":          {"ann", "POST", "/run", `{"appName":"desk","userId":"ann","sessionId":"hers","newMessage":"Hi"}`, 400},
		"events from outside":    {"ann", "POST", "/apps/desk/users/ann/sessions", `{"events":[{"author":"desk"}]}`, 400},
		"events and an id":       {"ann", "POST", "/apps/desk/users/ann/sessions/x", `{"state":{},"events":[{"author":"desk"}]}`, 400},
		"a plugin's state":       {"ann", "POST", "/apps/desk/users/ann/sessions", `{"state":{"policy:level":0}}`, 400},
		"a plugin's state later": {"ann", "PATCH", "/apps/desk/users/ann/sessions/hers", `{"stateDelta":{"policy:level":0}}`, 400},
		"a rewind to nowhere":    {"ann", "POST", "/apps/desk/users/ann/sessions/hers/rewind", `{"rewindBeforeInvocationId":"none"}`, 400},
		"an unknown disconnect":  {"ann", "POST", "/run_sse?onDisconnect=x", `{"appName":"desk","userId":"ann","sessionId":"hers","newMessage":` + kitText("Hi") + `}`, 400},
	} {
		status, body := s.Do(q.method, q.path, q.body, "X-User", q.user)
		require.Equal(t, q.status, status, "%s: %s", name, body)
		refusal := decoded[map[string]string](t, body)
		require.NotEmpty(t, refusal["detail"], name)
		require.Equal(t, refusal["detail"], refusal["error"], name)
	}
}

// answers are how the pages answer a question, and what becomes of it.
func TestKitConfirmations(t *testing.T) {
	for name, c := range map[string]struct {
		response string
		want     string // what the agent says then, or the refusal
		status   int
	}{
		"newer pages":              {`{"confirmed":true,"payload":{"table":4}}`, "The table is yours.", 200},
		"newer pages, no":          {`{"confirmed":false,"payload":{"table":4}}`, "I booked nothing.", 200},
		"JSON in a text":           {`{"response":"{\"confirmed\":true}"}`, "The table is yours.", 200},
		"JSON in a text, no":       {`{"response":"{\"confirmed\":false}"}`, "I booked nothing.", 200},
		"a lone object":            {`{"response":{"confirmed":true}}`, "The table is yours.", 200},
		"a word":                   {`{"response":"yes"}`, "The table is yours.", 200},
		"another word":             {`{"response":"No"}`, "I booked nothing.", 200},
		"neither yes nor no":       {`{"response":"whatever"}`, "a confirmation is", 400},
		"no word at all":           {`{}`, "a confirmation is", 400},
		"a yes that is not a bool": {`{"confirmed":"true"}`, "a confirmation is", 400},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveKit(t, nil)
			id := s.kitSession()
			asked := told(s.kitRun(id, kitText("Please book table 4"))).calls["adk_request_confirmation"]
			require.NotEmpty(t, asked)
			answer := `{"appName":"desk","userId":"user","sessionId":"` + id + `","newMessage":{"role":"user","parts":[` +
				`{"functionResponse":{"id":"` + asked + `","name":"adk_request_confirmation","response":` + c.response + `}}]}}`
			status, body := s.Do("POST", "/run", answer)
			require.Equal(t, c.status, status, body)
			require.Contains(t, body, c.want)
			if status != 200 {
				return
			}

			// The session has the answer to the question, so that a page which is loaded again asks no more.
			found := false
			for _, e := range s.kitEvents(id) {
				data, err := json.Marshal(e)
				require.NoError(t, err)
				found = found ||
					e["author"] == "user" &&
						strings.Contains(string(data), `"functionResponse":{"id":"`+asked+`"`)
			}
			require.True(t, found)

			// A page that is out of date answers again.
			status, body = s.Do("POST", "/run", answer)
			require.Equal(t, 409, status, body)
			status, body = s.Do("POST", "/run_sse", answer)
			require.Equal(t, 200, status, body)
			require.Contains(t, body,
				`data: {"error":"the call does not wait for this yes or no any more"}`)
		})
	}
}

func TestKitArtifacts(t *testing.T) {
	s := serveKit(t, nil)
	at := kitSessions + "/" + s.kitSession() + "/artifacts"
	save := func(name, part string) (int, string) {
		return s.Do("POST", at, `{"filename":"`+name+`","artifact":`+part+`,"customMetadata":{}}`)
	}
	status, body := save("charts/q3.txt", `{"text":"first"}`)
	require.Equal(t, 200, status, body)
	require.Equal(t, 0.0, decoded[map[string]any](t, body)["version"])
	_, body = save("charts/q3.txt", `{"inline_data":{"mime_type":"text/plain","data":"c2Vjb25k"}}`)
	require.Equal(t, 1.0, decoded[map[string]any](t, body)["version"])

	for path, want := range map[string]string{
		"":                                   `["charts/q3.txt"]`,
		"/charts/q3.txt":                     `{"inlineData":{"mimeType":"text/plain","data":"c2Vjb25k"}}`,
		"/charts%2Fq3.txt":                   `{"inlineData":{"mimeType":"text/plain","data":"c2Vjb25k"}}`,
		"/charts/q3.txt?version=0":           `{"inlineData":{"mimeType":"text/plain","data":"Zmlyc3Q="}}`,
		"/charts/q3.txt/versions":            `[0,1]`,
		"/charts/q3.txt/versions/0":          `{"inlineData":{"mimeType":"text/plain","data":"Zmlyc3Q="}}`,
		"/charts/q3.txt/versions/latest":     `{"inlineData":{"mimeType":"text/plain","data":"c2Vjb25k"}}`,
		"/charts/q3.txt/versions/1/metadata": `{"version":1,"canonicalUri":"artifact:charts/q3.txt?version=1","customMetadata":{},"mimeType":"text/plain"}`,
	} {
		status, body := s.Do("GET", at+path, "")
		require.Equal(t, 200, status, "%s: %s", path, body)
		require.JSONEq(t, want, body, path)
	}
	status, body = s.Do("GET", at+"/charts/q3.txt/versions/metadata", "")
	require.Equal(t, 200, status)
	require.Len(t, decoded[[]any](t, body), 2)

	for path, want := range map[string]int{
		"/charts/q3.txt/versions/2":    404,
		"/charts/q3.txt/versions/last": 422,
		"/charts/q3.txt/versions/-1":   422,
		"/none":                        404,
		"/none/versions":               404,
		"/%2e%2e%2fup":                 400,
	} {
		status, body := s.Do("GET", at+path, "")
		require.Equal(t, want, status, "%s: %s", path, body)
	}
	for part, want := range map[string]string{
		`{"fileData":{"fileUri":"artifact:of/another?version=0"}}`: "refer",
		`{}`:   "",
		`null`: "missing",
		`7`:    "",
	} {
		status, body = save("bad.txt", part)
		require.Equal(t, 400, status, "%s: %s", part, body)
		require.Contains(t, body, want)
	}
	status, _ = save("../up", `{"text":"x"}`)
	require.Equal(t, 400, status)
	status, body = s.Do("DELETE", at+"/charts/q3.txt", "")
	require.Equal(t, 200, status)
	require.Equal(t, "null\n", body)
	_, body = s.Do("GET", at, "")
	require.Equal(t, "[]\n", body)
}

func TestKitRewindAndState(t *testing.T) {
	s := serveKit(t, nil)
	id := s.kitSession()
	s.kitRun(id, kitText("Hello one"))
	second := s.kitRun(id, kitText("Hello two"))
	status, body := s.Do("POST", kitSessions+"/"+id+"/rewind",
		`{"rewind_before_invocation_id":"`+second[0]["invocationId"].(string)+`"}`)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, "Hello one")
	require.NotContains(t, body, "Hello two", "what was taken back is not shown")
	require.Len(t, s.kitEvents(id), 2)

	// To patch the state asks no model.
	status, body = s.Do("PATCH", kitSessions+"/"+id, `{"stateDelta":{"mood":"fine"}}`)
	require.Equal(t, 200, status, body)
	require.Equal(t, "fine", decoded[map[string]any](t, body)["state"].(map[string]any)["mood"])
	events := s.kitEvents(id)
	require.Len(t, events, 3)
	require.Equal(t, "user", events[2]["author"])
	require.Equal(t, map[string]any{"mood": "fine"},
		events[2]["actions"].(map[string]any)["stateDelta"])
	status, _ = s.Do("PATCH", kitSessions+"/"+id, `{"stateDelta":null}`)
	require.Equal(t, 200, status)
	require.Len(t, s.kitEvents(id), 3)

	// The list has the state, which the page takes the name of the session from.
	_, body = s.Do("GET", kitSessions, "")
	require.Equal(t, "fine",
		decoded[[]map[string]any](t, body)[0]["state"].(map[string]any)["mood"])
}

// A run that fails before its first event says so where the page shows it.
func TestKitRunThatFailsAtOnce(t *testing.T) {
	s := serve(t, func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("a secret")) }
	}, func(o *server.Options) { o.Kit = true })
	request := `{"appName":"desk","userId":"user","sessionId":"` + s.kitSession() + `","newMessage":` + kitText(
		"Hi") + `}`
	status, body := s.Do("POST", "/run_sse", request)
	require.Equal(t, 200, status)
	require.Contains(t, body, `data: {"error":"agent helper failed"}`)
	status, body = s.Do("POST", "/run", request)
	require.Equal(t, 500, status)
	require.Contains(t, body, `"detail":"agent helper failed"`)
}

// Each response of a model has an ID of its own, as in the kit: a page drops the text that streams under the ID of a
// thought. The whole event has the ID that it has in the log.
func TestKitPartialEventsHaveIDsOfTheirOwn(t *testing.T) {
	part := func(text string, thought bool) *genai.Content {
		return &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: text, Thought: thought}}}
	}
	shown := make(chan struct{}, 8) // what comes meanwhile is one partial event
	shown <- struct{}{}
	s := serve(t, func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			for _, e := range []*session.Event{
				{Partial: true, Content: part("Hm.", true)},
				{Partial: true, Content: part("It is ", false)},
				{Partial: true, Content: part("fine.", false)},
				{Content: part("It is fine.", false)},
			} {
				<-shown
				if !yield(e, nil) {
					return
				}
			}
		}
	}, func(o *server.Options) { o.Kit = true })
	id := s.kitSession()
	resp := s.Open(t.Context(), "POST", "/run_sse",
		`{"appName":"desk","userId":"user","sessionId":"`+id+`","streaming":true,"newMessage":`+kitText("Hi")+`}`)
	defer resp.Body.Close()
	var ids []string
	servertest.Frames(t, resp.Body, func(f servertest.Frame) bool {
		ids = append(ids, decoded[map[string]any](t, f.Data)["id"].(string))
		shown <- struct{}{}
		return len(ids) == 4
	})
	require.Len(t, ids, 4)
	require.Equal(t, s.kitEvents(id)[1]["id"], ids[3])
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 4)

	// Without a message, the agent goes on with the invocation that the request names.
	for range 4 {
		shown <- struct{}{}
	}
	status, body := s.Do("POST", "/run", `{"appName":"desk","userId":"user","sessionId":"`+id+`","invocationId":"i"}`)
	require.Equal(t, 200, status, body)
}

// A run ends when its client leaves, unless the client has said that it is to go on.
func TestKitRunEndsWithItsClient(t *testing.T) {
	for query, cancelled := range map[string]bool{"": true, "?onDisconnect=continue": false} {
		ended := make(chan error, 1)
		goOn := make(chan struct{})
		s := serve(t, func(ctx context.Context, _ *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				yield(session.Reply("begun"), nil)
				select {
				case <-ctx.Done():
				case <-goOn:
				}
				ended <- context.Cause(ctx)
			}
		}, func(o *server.Options) { o.Kit = true })
		id := s.kitSession()
		ctx, leave := context.WithCancel(t.Context())
		resp := s.Open(
			ctx,
			"POST",
			"/run_sse"+query,
			`{"appName":"desk","userId":"user","sessionId":"`+id+`","newMessage":`+kitText(
				"Hi")+`}`,
		)
		servertest.Frames(t, resp.Body, func(servertest.Frame) bool { return true })
		leave()
		resp.Body.Close()
		if cancelled {
			require.ErrorIs(t, <-ended, session.ErrCancelled)
		} else {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(100 * time.Millisecond):
			}
			close(goOn)
			require.NoError(t, <-ended)
		}
	}
}

// What the kit does not know of an event is not sent, and what a page needs is.
func TestKitEventsAreStrict(t *testing.T) {
	var odd session.Event
	require.NoError(t, odd.UnmarshalJSON([]byte(`{"id":"odd","surprise":1,"nodeInfo":{"path":"x"},
		"content":{"role":"model","news":1,"parts":[{"functionCall":{"id":"c1","name":"f","news":2}},{"text":"a","news":3}]},
		"actions":{"stateIncrement":{"user:n":2},"news":4,"requestedToolConfirmations":{"c0":{"hint":"h","news":5}}}}`)))
	s := serve(t, func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			_ = yield(odd.Clone(), nil) &&
				yield(
					&session.Event{
						ErrorCode: "BROKEN",
						Content:   genai.NewContentFromText("", genai.RoleModel),
					},
					nil,
				)
		}
	}, func(o *server.Options) {
		o.Kit = true
		o.KitDev = true
	})
	id := s.kitSession()
	events := s.kitRun(id, kitText("Hi"))
	require.Len(t, events, 2)
	call := events[0]["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)["functionCall"]
	require.Equal(t, map[string]any{"id": "c1", "name": "f", "args": map[string]any{}}, call)
	require.Contains(t, told(events).calls, "adk_request_confirmation")
	text := events[1]["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"]
	require.Equal(t, "BROKEN", text)
	require.Len(t, s.kitEvents(id), 3)
}

// A trace of which older pages could not show the first model call is left out.
func TestKitTraces(t *testing.T) {
	s := serveKit(t, nil)
	id := s.kitSession()
	s.kitRun(id, kitText("a denied thing")) // no model call
	_, body := s.Do("GET", "/debug/trace/session/"+id, "")
	require.Equal(t, "[]\n", body)

	// The input has no text.
	s.kitRun(id, `{"parts":[{"inlineData":{"mimeType":"image/png","data":"`+picture+`"}}]}`)
	asked := told(s.kitRun(id, kitText("What is the weather in Paris?")))
	_, body = s.Do("GET", "/debug/trace/session/"+id, "")
	spans := decoded[[]map[string]any](t, body)
	strictSpans(t, spans)
	names := map[string]int{}
	for _, span := range spans {
		names[span["name"].(string)]++
	}
	require.Equal(
		t,
		map[string]int{
			"invocation":               2,
			"invoke_agent desk":        2,
			"call_llm":                 3,
			"execute_tool get_weather": 1,
		},
		names,
	)
	require.NotContains(t, body, picture, "files are not in traces")

	// One event of them, and its agents with the tool that was called.
	event := asked.events[asked.calls["get_weather"]]
	status, body := s.Do("GET", "/dev/apps/desk/debug/trace/"+event, "")
	require.Equal(t, 200, status, body)
	require.Equal(t, event, decoded[map[string]any](t, body)["gcp.vertex.agent.event_id"])
	status, body = s.Do("GET", "/dev"+kitSessions+"/"+id+"/events/"+event+"/graph", "")
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `\"desk\" -> \"get_weather\" [color=\"#69CB87\"]`)
	status, _ = s.Do("GET", "/debug/trace/none", "")
	require.Equal(t, 404, status)
	_, body = s.Do("GET", "/debug/trace/session/none", "")
	require.Equal(t, "[]\n", body)
}

func TestKitRoutesForDevelopersAreAnOption(t *testing.T) {
	s := serveKit(t, func(o *server.Options) { o.KitDev = false })
	id := s.kitSession()
	for _, path := range []string{
		"/debug/trace/session/" + id,
		"/dev/apps/desk/debug/trace/session/" + id,
		"/dev/apps/desk/build_graph",
		"/apps/desk/eval_sets",
	} {
		status, _ := s.Do("GET", path, "")
		require.Equal(t, 404, status, path)
	}
	plain := serve(t, servertest.Echo, nil)
	status, _ := plain.Do("GET", "/list-apps", "")
	require.Equal(t, 404, status)
	_, err := server.New(server.Options{KitDev: true})
	require.ErrorContains(t, err, "KitDev and Pages need Kit")
}

// A live session is refused with a reason that the page shows.
func TestKitLive(t *testing.T) {
	s := serveKit(t, nil)
	c, _, err := websocket.Dial(t.Context(),
		s.URL+"/run_live?app_name=desk&user_id=user&session_id=x", nil)
	require.NoError(t, err)
	_, _, err = c.Read(t.Context())
	require.Equal(t, websocket.StatusInternalError, websocket.CloseStatus(err))
	require.ErrorContains(t, err, "live is not served")
	_, _, err = websocket.Dial(t.Context(), s.URL+"/run_live", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"https://evil.example"}},
	})
	require.ErrorContains(t, err, "403")
}

func TestKitPages(t *testing.T) {
	files := fstest.MapFS{
		"index.html":                        {Data: []byte("<html>page</html>")},
		"assets/a.svg":                      {Data: []byte("<svg/>")},
		"assets/config/runtime-config.json": {Data: []byte(`{"backendUrl":"http://elsewhere"}`)},
	}
	s := serveKit(t, func(o *server.Options) { o.Pages = http.FS(files) })
	for path, want := range map[string]string{
		"/":                    "<html>page</html>", // by a redirect
		"/?app=desk":           "<html>page</html>",
		"/dev-ui":              "<html>page</html>",
		"/dev-ui/":             "<html>page</html>",
		"/dev-ui/assets/a.svg": "<svg/>",
		"/dev-ui/assets/config/runtime-config.json": `{"backendUrl":"","telemetry":false}`,
		"/config/telemetry":                         `{"telemetry":false}`,
	} {
		status, body := s.Do("GET", path, "")
		require.Equal(t, 200, status, path)
		require.Equal(t, want, strings.TrimSpace(body), path)
	}
	for _, path := range []string{"/dev-ui/assets/", "/dev-ui/assets", "/dev-ui/none.js", "/dev-ui/%2e%2e/kit_test.go"} {
		status, body := s.Do("GET", path, "")
		require.Equal(t, 404, status, "%s: %s", path, body)
	}
}
