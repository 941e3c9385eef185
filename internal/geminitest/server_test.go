package geminitest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	unary  = "/v1beta/models/m:generateContent"
	stream = "/v1beta/models/m:streamGenerateContent?alt=sse"
	hello  = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`
)

// post asks with a key and returns the status, the body and how reading it ended.
func post(t *testing.T, srv *geminitest.Server, path, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path,
		strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Goog-Api-Key", "any")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.ReplaceAll(string(data), "\r\n", "\n"), err
}

func TestAnswersOnTheWire(t *testing.T) {
	usage := &geminitest.Usage{Prompt: 5, Candidates: 1}
	const tail = `"modelVersion":"m","responseId":"r1","usageMetadata":{"candidatesTokenCount":1,"promptTokenCount":5,"totalTokenCount":6}}`
	with := func(r geminitest.Reply, change func(*geminitest.Reply)) geminitest.Reply {
		r.Usage = usage
		if change != nil {
			change(&r)
		}
		return r
	}
	for name, c := range map[string]struct {
		answer geminitest.Answer
		path   string
		status int
		body   string
	}{
		"text": {with(geminitest.Parts(geminitest.Text("hi")), nil), unary, 200,
			`{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":"STOP","index":0}],` + tail},
		"the chunks in one": {with(geminitest.Stream(geminitest.Text("h"), geminitest.Text("i")), nil), unary, 200,
			`{"candidates":[{"content":{"parts":[{"text":"h"},{"text":"i"}],"role":"model"},"finishReason":"STOP","index":0}],` + tail},
		"chunks": {with(geminitest.Stream(geminitest.Text("h"), geminitest.Text("i")), nil), stream, 200,
			`data: {"candidates":[{"content":{"parts":[{"text":"h"}],"role":"model"},"index":0}],` + tail + "\n\n" +
				`data: {"candidates":[{"content":{"parts":[{"text":"i"}],"role":"model"},"finishReason":"STOP","index":0}],` + tail},
		"a signed call": {with(geminitest.Parts(geminitest.Call("f", map[string]any{"n": json.Number("9007199254740993")}).ID("1").Signed([]byte("sig"))), nil), unary, 200,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"n":9007199254740993},"id":"1","name":"f"},"thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP","index":0}],` + tail},
		"a thought, cut short": {with(geminitest.Parts(geminitest.Thought("hm")), func(r *geminitest.Reply) {
			r.FinishReason, r.FinishMessage, r.Candidate = "MAX_TOKENS", "long", map[string]any{"tokenCount": 3}
		}), unary, 200,
			`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"},"finishMessage":"long","finishReason":"MAX_TOKENS","index":0,"tokenCount":3}],` + tail},
		"unfinished, with comments": {with(geminitest.Parts(geminitest.Text("hi")), func(r *geminitest.Reply) { r.Unfinished, r.Ping = true, true }), stream, 200,
			": ping\n\n" + `data: {"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"index":0}],` + tail},
		"nothing said":  {with(geminitest.Parts(), nil), unary, 200, `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}],` + tail},
		"no candidate":  {with(geminitest.Reply{}, nil), unary, 200, `{` + tail},
		"blocked":       {with(geminitest.Blocked("SAFETY"), nil), stream, 200, `data: {"modelVersion":"m","promptFeedback":{"blockReason":"SAFETY"},` + strings.TrimPrefix(tail, `"modelVersion":"m",`)},
		"a status":      {geminitest.Status(429, "quota"), unary, 429, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}`},
		"of a stream":   {geminitest.Status(503, "overloaded"), stream, 503, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`},
		"with no name":  {geminitest.Status(418, "tea"), unary, 418, `{"error":{"code":418,"message":"tea","status":"UNKNOWN"}}`},
		"an error late": {with(geminitest.Stream(geminitest.Text("h")), func(r *geminitest.Reply) { r.Error = &geminitest.Error{Code: 500, Message: "oh"} }), stream, 200, `data: {"candidates":[{"content":{"parts":[{"text":"h"}],"role":"model"},"index":0}],` + tail + "\n\n" + `data: {"error":{"code":500,"message":"oh","status":"INTERNAL"}}`},
		"anything":      {geminitest.Raw("<html>"), stream, 200, "<html>"},
		"a func": {geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
			return geminitest.Status(400, r.Model+" "+r.Text())
		}), unary, 400, `{"error":{"code":400,"message":"m hello","status":"INVALID_ARGUMENT"}}`},
		"a func without one": {geminitest.Func(func(*geminitest.Request) geminitest.Answer { return nil }), unary, 400, `{"error":{"code":400,"message":"geminitest: the Func of the script has no answer to this request","status":"INVALID_ARGUMENT"}}`},
		"no JSON":            {geminitest.Part{"text": func() {}}, unary, 400, `{"error":{"code":400,"message":"geminitest: the answer to request 1 is not JSON: json: unsupported type: func()","status":"INVALID_ARGUMENT"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := geminitest.New(c.answer)
			defer srv.Close()
			status, body, err := post(t, srv, c.path, hello)
			require.NoError(t, err)
			require.Equal(t, c.body, strings.TrimRight(body, "\n"))
			require.Equal(t, c.status, status)
			require.Zero(t, srv.Left())
		})
	}
}

func TestACutIsACut(t *testing.T) {
	cut := geminitest.Reply{Chunks: [][]geminitest.Part{{geminitest.Text("half")}}, Cut: true}
	srv := geminitest.New(cut, cut)
	defer srv.Close()
	_, body, err := post(t, srv, stream, hello)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Contains(t, body, "half")
	_, body, err = post(t, srv, unary, hello)
	require.Error(t, err)
	require.False(t, json.Valid([]byte(body)), body)
}

func TestItRefusesWhatTheAPIRefuses(t *testing.T) {
	content := func(role string, parts ...string) string {
		return `{"role":"` + role + `","parts":[` + strings.Join(parts, ",") + `]}`
	}
	ask := content("user", `{"text":"go"}`)
	call := func(id string) string { return `{"functionCall":{"name":"f","id":"` + id + `"}}` }
	response := func(id string) string { return `{"functionResponse":{"name":"f","id":"` + id + `","response":{}}}` }
	for name, c := range map[string]struct {
		contents []string
		wrong    string // "" if nothing is
	}{
		"a conversation":                 {[]string{ask, content("model", `{"text":"ok"}`), ask}, ""},
		"calls and responses":            {[]string{ask, content("model", call("1"), call("2")), content("user", response("2"), response("1"))}, ""},
		"no contents":                    {nil, "contents is not specified"},
		"no parts":                       {[]string{content("user")}, "parts must not be empty"},
		"an empty part":                  {[]string{content("user", `{}`)}, "contents[0].parts[0].data: required oneof field"},
		"a signature alone":              {[]string{ask, content("model", `{"thoughtSignature":"c2ln"}`)}, "contents[1].parts[0].data"},
		"another role":                   {[]string{content("system", `{"text":"x"}`)}, "valid role: user, model"},
		"a response without a call":      {[]string{ask, content("user", response("1"))}, "number of function response parts"},
		"a call without a response":      {[]string{ask, content("model", call("1"))}, "has no response"},
		"one response to two calls":      {[]string{ask, content("model", call("1"), call("2")), content("user", response("1"))}, "number of function response parts"},
		"a response to another call":     {[]string{ask, content("model", call("1")), content("user", response("2"))}, "answers none of the calls"},
		"a call that nobody has asked":   {[]string{content("model", call("1")), content("user", response("1"))}, "immediately after a user turn"},
		"text between call and response": {[]string{ask, content("model", call("1")), ask, content("user", response("1"))}, "number of function response parts"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := geminitest.New(geminitest.Text("ok"))
			defer srv.Close()
			status, body, err := post(t, srv, unary,
				`{"contents":[`+strings.Join(c.contents, ",")+`]}`)
			require.NoError(t, err)
			if c.wrong == "" {
				require.Equal(t, 200, status, body)
				return
			}
			require.Equal(t, 400, status, body)
			require.Contains(t, body, c.wrong)
			require.Contains(t, body, "INVALID_ARGUMENT")
			require.Equal(t, 1, srv.Left(), "a refused request takes no answer")
		})
	}
}

func TestASignedCallComesBackSigned(t *testing.T) {
	turn := func(signature string) string {
		return `{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"id":"ours","name":"f","args":{"a":1}}` + signature + `}]},{"role":"user","parts":[{"functionResponse":{"id":"ours","name":"f","response":{}}}]}`
	}
	srv := geminitest.New(geminitest.Call("f", map[string]any{"a": 1}).Signed([]byte("sig")),
		geminitest.Forever(geminitest.Text("ok")))
	defer srv.Close()
	_, _, err := post(t, srv, unary, hello)
	require.NoError(t, err)
	for contents, want := range map[string]int{
		turn(`,"thoughtSignature":"c2ln"`):                   200,
		turn(""):                                             400,
		turn(`,"thoughtSignature":"AAAA"`):                   400,
		turn("") + `,{"role":"user","parts":[{"text":"x"}]}`: 200, // another turn
	} {
		status, body, err := post(t, srv, unary, `{"contents":[`+contents+`]}`)
		require.NoError(t, err)
		require.Equal(t, want, status, body)
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]struct {
		status        int
		model, method string
		vertex        bool
	}{
		"/v1beta/models/a:generateContent":                                                         {200, "a", "generateContent", false},
		"/v1beta1/projects/p/locations/l/publishers/google/models/a:generateContent":               {200, "a", "generateContent", true},
		"/v1beta1/projects/p/locations/l/publishers/google/models/a:streamGenerateContent?alt=sse": {200, "a", "streamGenerateContent", true},
		"/v1beta1/publishers/google/models/a:generateContent":                                      {200, "a", "generateContent", true},
		"/v1beta/models/a:countTokens":                                                             {200, "a", "countTokens", false},
		"/v1beta/models/a:streamGenerateContent":                                                   {400, "a", "streamGenerateContent", false},
		"/v1beta/models/a:embedContent":                                                            {404, "", "", false},
		"/models":                                                                                  {404, "", "", false},
	} {
		srv := geminitest.New(geminitest.Text("ok"))
		status, body, err := post(t, srv, path, hello)
		srv.Close()
		require.NoError(t, err)
		require.Equal(t, want.status, status, "%s: %s", path, body)
		r := srv.Requests()[0]
		require.Equal(t, []any{want.model, want.method, want.vertex},
			[]any{r.Model, r.Method, r.Vertex}, path)
		require.Equal(t, "any", r.Header.Get("X-Goog-Api-Key"))
		require.Equal(t, "hello", r.Contents[0].Parts[0]["text"])
		require.JSONEq(t, hello, string(r.Raw))
	}
}

func TestCountTokensTakesNoAnswer(t *testing.T) {
	srv := geminitest.New(geminitest.Text("ok"))
	defer srv.Close()
	_, body, err := post(t, srv, "/v1beta/models/m:countTokens", hello)
	require.NoError(t, err)
	require.JSONEq(t, `{"totalTokens":11}`, body)
	require.Equal(t, 1, srv.Left())
}

func TestTheEndOfTheScriptIsTold(t *testing.T) {
	srv := geminitest.New()
	defer srv.Close()
	status, body, err := post(t, srv, unary, hello)
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Contains(t, body,
		`no answer left for request 1: generateContent of m, whose last text is \"hello\"`)
	srv.Add(geminitest.Text("late"))
	_, body, err = post(t, srv, unary, hello)
	require.NoError(t, err)
	require.Contains(t, body, "late")
}

func TestNoKeyAndNoJSONAreRefused(t *testing.T) {
	srv := geminitest.New(geminitest.Text("ok"))
	defer srv.Close()
	resp, err := http.Post(srv.URL+unary, "application/json", bytes.NewReader([]byte(hello)))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	status, body, err := post(t, srv, unary, `{"contents":`)
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Contains(t, body, "Invalid JSON payload")
}

// What is held goes on when the test, or the server's end, lets it go.
func TestHold(t *testing.T) {
	for name, release := range map[string]func(chan struct{}, *geminitest.Server){
		"the test":   func(hold chan struct{}, _ *geminitest.Server) { close(hold) },
		"the server": func(_ chan struct{}, srv *geminitest.Server) { srv.Close() },
	} {
		for _, path := range []string{unary, stream} {
			t.Run(name+path, func(t *testing.T) {
				asked, hold := make(chan struct{}), make(chan struct{})
				srv := geminitest.New(geminitest.Func(func(*geminitest.Request) geminitest.Answer {
					close(asked)
					return geminitest.Reply{
						Chunks: [][]geminitest.Part{{geminitest.Text("slow")}},
						Hold:   hold,
					}
				}))
				defer srv.Close()
				var (
					done sync.WaitGroup
					body string
					err  error
				)
				done.Go(func() { _, body, err = post(t, srv, path, hello) })
				<-asked
				release(hold, srv)
				done.Wait()
				require.NoError(t, err)
				require.Contains(t, body, "slow")
				require.Contains(t, body, "STOP")
			})
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	srv := geminitest.New(
		geminitest.Forever(geminitest.Func(func(r *geminitest.Request) geminitest.Answer {
			return geminitest.Text("echo " + r.Text())
		})),
	)
	defer srv.Close()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, body, err := post(t, srv, unary, hello)
			if err != nil || !strings.Contains(body, "echo hello") {
				t.Errorf("%v: %s", err, body)
			}
		})
	}
	all.Wait()
	require.Len(t, srv.Requests(), 20)
	http.DefaultClient.CloseIdleConnections()
}
