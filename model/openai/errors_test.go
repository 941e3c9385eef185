package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

// Every status has a code in Google's terms, and what the server says is told, in whatever form it is.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, code string
		want       string
	}{
		{400, `{"error":{"message":"bad\nschema","type":"invalid_request_error","param":null,"code":null}}`, "INVALID_ARGUMENT", "answered 400 Bad Request: bad schema"},
		{401, `{"error":{"message":"no key"}}`, "UNAUTHENTICATED", "401 Unauthorized: no key; check Config.APIKey or OPENAI_API_KEY"},
		{402, `{}`, "FAILED_PRECONDITION", "402 Payment Required: {}"},
		{403, `{"error":"forbidden"}`, "PERMISSION_DENIED", "403 Forbidden: forbidden"},
		{404, `404 page not found`, "NOT_FOUND", "404 Not Found: 404 page not found; check that the server has the model, and that the base URL is right"},
		{404, `{"object":"error","message":"The model does not exist.","code":404}`, "NOT_FOUND", "The model does not exist."},
		{408, ``, "DEADLINE_EXCEEDED", "408 Request Timeout"},
		{409, ``, "ABORTED", "409 Conflict"},
		{413, `<html>too big</html>`, "INVALID_ARGUMENT", "<html>too big</html>"},
		{422, `{"detail":[{"msg":"field required"}]}`, "INVALID_ARGUMENT", `[{"msg":"field required"}]`},
		{429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, "RESOURCE_EXHAUSTED", "Rate limit reached"},
		{500, `{"error":{"code":500,"message":"the template failed","type":"server_error"}}`, "INTERNAL", "the template failed"},
		{501, ``, "UNIMPLEMENTED", "501"},
		{502, strings.Repeat("<p>bad gateway</p>", 1000), "UNAVAILABLE", "bad gateway"},
		{503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, "UNAVAILABLE", "Loading model"},
		{504, ``, "DEADLINE_EXCEEDED", "504"},
		{529, `{"error":null}`, "UNAVAILABLE", "529"},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(c.status, " ", stream), func(t *testing.T) {
				srv := serve(t, fails(c.status, c.body))
				_, _, err := ask(t, srv.model(t), hello(stream))
				var coded *model.Error
				require.ErrorAs(t, err, &coded)
				require.Equal(t, c.code, coded.Code)
				require.Equal(t, c.status, coded.Status)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, srv.URL+"/v1/chat/completions", "it says who")
				require.Less(t, len(err.Error()), 1500)
				require.NotContains(t, err.Error(), "\n")
				require.Len(t, srv.bodies, 1, "Attempts is 1")
			})
		}
	}
}

// An answer that began well and is none is an error.
func TestFailedAnswers(t *testing.T) {
	begun := delta(`{"content":"hel"}`)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		stream  bool
		code    string
		status  int
		want    string
	}{
		"no choice":                   {sends(`{"choices":[]}`), false, model.NoAnswer, 0, "no choice"},
		"null":                        {sends(`null`), false, model.NoAnswer, 0, "no choice"},
		"no message":                  {sends(`{"choices":[{"finish_reason":"stop"}]}`), false, model.NoAnswer, 0, "neither text nor calls"},
		"a stream without choices":    {streams(`{"choices":[]}`, "[DONE]"), true, model.NoAnswer, 0, "no choice"},
		"a stream of a reason alone":  {streams(finish("stop"), "[DONE]"), true, model.NoAnswer, 0, "neither text nor calls"},
		"garbage":                     {sends(`<html>`), false, model.Failed, 0, "something else than a chat completion"},
		"nothing":                     {sends(``), false, model.Failed, 0, "something else than a chat completion"},
		"content that is no text":     {sends(message(`{"content":[{"type":"image"}]}`, `"stop"`)), false, model.Failed, 0, "a part that is no text"},
		"a garbage chunk":             {streams(begun, `{"choices":`), true, model.Failed, 0, "something else than a chat completion"},
		"no stream at all":            {sendsAs("text/html", "<html>please log in</html>"), true, model.Unfinished, 0, "without a finish reason"},
		"an empty stream":             {sendsAs("text/event-stream", ""), true, model.Unfinished, 0, "without a finish reason"},
		"a stream that ends":          {streams(begun), true, model.Unfinished, 0, "without a finish reason"},
		"done without a reason":       {streams(begun, "[DONE]"), true, model.Unfinished, 0, "without a finish reason"},
		"a last event cut short":      {sendsAs("text/event-stream", "data: "+begun+"\n\ndata: "+finish("stop")), true, model.Unfinished, 0, "without a finish reason"},
		"a cut stream":                {cut("text/event-stream", "data: "+begun+"\n\n"), true, model.Unfinished, 0, "broke off"},
		"a cut answer":                {cut("application/json", `{"choices":[`), false, model.Unfinished, 0, "broke off"},
		"an error in a good answer":   {sends(`{"error":{"message":"upstream","code":502}}`), false, "UNAVAILABLE", 502, "upstream"},
		"an error in a stream":        {streams(begun, `{"error":{"message":"slow down","type":"rate_limit_error"}}`), true, "RESOURCE_EXHAUSTED", 0, "slow down"},
		"by its code, not its type":   {streams(begun, `{"error":{"message":"x","type":"server_error","code":"429"}}`), true, "RESOURCE_EXHAUSTED", 429, "x"},
		"of an unknown kind":          {streams(begun, `{"error":{"message":"who knows","type":"odd","code":7}}`), true, model.Failed, 0, "who knows"},
		"in words":                    {streams(begun, `{"error":"out of memory"}`), true, model.Failed, 0, "out of memory"},
		"after the reason":            {streams(begun, finish("stop"), `{"error":"out of memory"}`), true, model.Failed, 0, "out of memory"},
		"a redirect to another place": {redirect, false, "UNAVAILABLE", 0, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ask(t, serve(t, c.handler).model(t), hello(c.stream))
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, c.code, coded.Code)
			require.Equal(t, c.status, coded.Status)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// cut is a handler that closes the connection in the middle of its answer.
func cut(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sendsAs(kind, body)(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://example.invalid/v1/chat/completions", http.StatusTemporaryRedirect)
}

// What breaks off after the reason was at most the usage: the answer counts.
func TestCutAfterTheReason(t *testing.T) {
	_, whole, err := ask(t, serve(t, cut("text/event-stream", "data: "+delta(`{"content":"hello"}`)+"\n\ndata: "+finish("stop")+"\n\n")).model(t), hello(true))
	require.NoError(t, err)
	require.Equal(t, said(text("hello")), whole.Content)
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	m, err := openai.New(openai.Config{Model: "tiny", BaseURL: "http://" + address, Attempts: 1, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	require.NoError(t, err)
	_, _, err = ask(t, m, hello(false))
	var coded *model.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, "UNAVAILABLE", coded.Code)
	require.ErrorContains(t, err, "http://"+address+"/chat/completions cannot be reached; check that the server runs: ")
	require.NotContains(t, err.Error(), "Post", "the address is said once")
	var op *net.OpError
	require.ErrorAs(t, err, &op, "the cause is there")
}

// A call is tried again until it is answered, and no answer that has begun is asked for twice.
func TestAttempts(t *testing.T) {
	for attempts, want := range map[int]int{0: 3, 1: 1, 2: 2, 5: 5} {
		srv := serve(t, fails(503, ""))
		m, err := openai.New(openai.Config{Model: "tiny", BaseURL: srv.URL + "/v1", Attempts: attempts, HTTPClient: srv.Client()})
		require.NoError(t, err)
		_, _, err = ask(t, m, hello(true))
		require.Error(t, err)
		require.Len(t, srv.bodies, want)
	}
	for name, c := range map[string]struct {
		first http.HandlerFunc
		ok    bool
		tries int
	}{
		"too many requests": {fails(429, ""), true, 2},
		"a server's error":  {fails(500, ""), true, 2},
		"a bad request":     {fails(400, ""), false, 1},
		"a cut stream":      {cut("text/event-stream", "data: "+delta(`{"content":"hel"}`)+"\n\n"), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var srv *server
			srv = serve(t, func(w http.ResponseWriter, r *http.Request) {
				srv.mu.Lock()
				first := len(srv.bodies) == 1
				srv.mu.Unlock()
				if first {
					c.first(w, r)
					return
				}
				streams(delta(`{"content":"hello"}`), finish("stop"))(w, r)
			})
			m, err := openai.New(openai.Config{Model: "tiny", BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
			require.NoError(t, err)
			_, _, err = ask(t, m, hello(true))
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.Len(t, srv.bodies, c.tries)
			for _, body := range srv.bodies {
				require.Equal(t, srv.bodies[0], body)
			}
		})
	}
}

// When the context is done, the call ends with its error: before, while waiting for an answer or for the
// next attempt, and in the middle of a stream.
func TestContext(t *testing.T) {
	why := errors.New("enough")
	for name, c := range map[string]func(leave func()) http.HandlerFunc{
		"before": func(leave func()) http.HandlerFunc { leave(); return sends(ok) },
		"before the answer": func(leave func()) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) { leave(); <-r.Context().Done() }
		},
		"between attempts": func(leave func()) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(503)
				w.(http.Flusher).Flush()
				leave()
			}
		},
		"in the stream": func(leave func()) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				streams(delta(`{"content":"hel"}`))(w, r)
				w.(http.Flusher).Flush()
				leave()
				<-r.Context().Done()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			srv := serve(t, c(func() { cancel(why) }))
			m, err := openai.New(openai.Config{Model: "tiny", BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
			require.NoError(t, err)
			var last error
			for r, err := range m.Generate(ctx, hello(true)) {
				require.NoError(t, last)
				if last = err; err == nil {
					require.True(t, r.Partial)
				}
			}
			require.Equal(t, why, last)
		})
	}
}

// A stream that is in the buffer already ends too.
func TestContextWithinTheBuffer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv := serve(t, streams(delta(`{"content":"a"}`), delta(`{"content":"b"}`), finish("stop")))
	n := 0
	for r, err := range srv.model(t).Generate(ctx, hello(true)) {
		switch n++; n {
		case 1:
			require.NoError(t, err)
			require.Equal(t, "a", texts(r))
			cancel()
		case 2:
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.Equal(t, 2, n)
}

// The client's own time limit is not the context's.
func TestClientTimeout(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"within it": func(w http.ResponseWriter, r *http.Request) {
			streams(delta(`{"content":"hel"}`))(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, handler)
			client := *srv.Client()
			client.Timeout = 50 * time.Millisecond
			m, err := openai.New(openai.Config{Model: "tiny", BaseURL: srv.URL + "/v1", Attempts: 1, HTTPClient: &client})
			require.NoError(t, err)
			_, _, err = ask(t, m, hello(true))
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, "DEADLINE_EXCEEDED", coded.Code)
			require.ErrorContains(t, err, "in time")
		})
	}
}

func TestNew(t *testing.T) {
	good := openai.Config{Model: "tiny", BaseURL: "http://localhost/v1", APIKey: key}
	for want, change := range map[string]func(*openai.Config){
		"Config.Model is empty":               func(c *openai.Config) { c.Model = "" },
		"is not one; it looks like":           func(c *openai.Config) { c.BaseURL = "localhost:11434/v1" },
		"Config.BaseURL or OPENAI_BASE_URL":   func(c *openai.Config) { c.BaseURL = "http://[" + key },
		"has a user, a query or a":            func(c *openai.Config) { c.BaseURL = "http://u:" + key + "@localhost/v1" },
		"a key goes into Config.APIKey":       func(c *openai.Config) { c.BaseURL = "http://localhost/v1?key=" + key },
		"api.openai.com wants a key":          func(c *openai.Config) { c.BaseURL, c.APIKey = "", "" },
		"a line break or another control":     func(c *openai.Config) { c.APIKey = key + "\n" },
		"Config.Attempts is -1; it cannot be": func(c *openai.Config) { c.Attempts = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("OPENAI_BASE_URL", "")
			t.Setenv("OPENAI_API_KEY", "")
			c := good
			change(&c)
			_, err := openai.New(c)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), key)
		})
	}
}

// The environment says where, and has the key; nothing else in it counts.
func TestEnvironment(t *testing.T) {
	srv := serve(t, sends(ok))
	t.Setenv("OPENAI_BASE_URL", srv.URL+"/v1/")
	t.Setenv("OPENAI_API_KEY", key)
	t.Setenv("OPENAI_ADMIN_KEY", "admin")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Other: secret")
	for _, c := range []struct{ key, want string }{{"", "Bearer " + key}, {"another", "Bearer another"}} {
		m, err := openai.New(openai.Config{Model: "tiny", APIKey: c.key, HTTPClient: srv.Client()})
		require.NoError(t, err)
		_, _, err = ask(t, m, hello(false))
		require.NoError(t, err)
		sent := srv.headers[len(srv.headers)-1]
		require.Equal(t, c.want, sent.Get("Authorization"))
		require.Empty(t, sent.Get("X-Other"))
	}
	t.Setenv("OPENAI_API_KEY", "")
	m, err := openai.New(openai.Config{Model: "tiny", HTTPClient: srv.Client()})
	require.NoError(t, err)
	_, _, err = ask(t, m, hello(false))
	require.NoError(t, err)
	require.NotContains(t, srv.headers[len(srv.headers)-1], "Authorization", "no key, none sent")
}

// OpenAI's own servers are told the limit of tokens under another name.
func TestMaxCompletionTokens(t *testing.T) {
	for host, want := range map[string]string{"api.openai.com": "max_completion_tokens", "openai.com": "max_completion_tokens", "X.OpenAI.Azure.com": "max_completion_tokens", "notopenai.com": "max_tokens", "localhost:1": "max_tokens"} {
		var sent string
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			sent = string(body)
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(ok)), Request: r}, err
		})}
		m, err := openai.New(openai.Config{Model: "tiny", BaseURL: "https://" + host + "/v1", APIKey: key, HTTPClient: client})
		require.NoError(t, err)
		_, _, err = ask(t, m, &model.Request{Contents: hello(false).Contents, Config: limit(7)})
		require.NoError(t, err)
		require.Contains(t, sent, `"`+want+`":7`)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// No error, and nothing else that is printed, has the key: whatever servers and transports do with it.
func TestTheKeyIsNeverShown(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", key)
	config := openai.Config{Model: "tiny", BaseURL: "http://localhost/v1", APIKey: key, Attempts: 1}
	noKey := func(t *testing.T, what any) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, what)
			require.NotContains(t, text, key, verb)
			require.NotContains(t, text, fmt.Sprintf("%x", key), verb)
		}
	}
	noKey(t, config)
	noKey(t, &config)
	noKey(t, struct{ C openai.Config }{config})
	require.NotContains(t, inJSON(t, config), key)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("with", "config", config)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("with", "config", config)
	require.NotContains(t, logged.String(), key)
	require.Contains(t, fmt.Sprint(config), `Model: "tiny"`)
	require.Contains(t, fmt.Sprint(openai.Config{}), "APIKey: none")

	echo := func(status int, kind, format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, format, r.Header.Get("Authorization"))
		}
	}
	long := strings.Repeat("x", 978) // so that what is told ends within the key
	handlers := map[string]http.HandlerFunc{
		"401":          echo(401, "application/json", `{"error":{"message":"wrong key: %s"}}`),
		"400 as text":  echo(400, "text/plain", "headers: %s"),
		"500, long":    echo(500, "text/plain", long+"%s"),
		"422 detail":   echo(422, "application/json", `{"detail":[{"input":"%s"}]}`),
		"in a stream":  echo(200, "text/event-stream", `data: {"error":{"message":"%s"}}`+"\n\n"),
		"long":         echo(200, "text/event-stream", `data: {"error":"`+long+`%s"}`+"\n\n"),
		"in an answer": echo(200, "application/json", `{"error":"%s"}`),
		"as an answer": echo(200, "application/json", `%s`),
		"as a reason":  echo(200, "application/json", `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"%s"}]}}]}`),
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://example.invalid/?k="+key)
			w.WriteHeader(307)
		},
		"cut": cut("application/json", "{"),
	}
	check := func(t *testing.T, m model.Model) {
		noKey(t, m)
		for _, stream := range []bool{false, true} {
			_, _, err := ask(t, m, hello(stream))
			require.Error(t, err)
			for ; err != nil; err = errors.Unwrap(err) {
				noKey(t, err)
				require.NotContains(t, err.Error(), key[:12], "nor a part of it")
			}
		}
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) { check(t, serve(t, handler).model(t)) })
	}
	t.Run("a transport that tells", func(t *testing.T) {
		c := config
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("cannot send %v", r.Header)
		})}
		m, err := openai.New(c)
		require.NoError(t, err)
		check(t, m)
	})
}
