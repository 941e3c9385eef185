package openai_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
		"garbage":                     {sends(`<html>`), false, model.Failed, 0, "is not a chat completion"},
		"nothing":                     {sends(``), false, model.Failed, 0, "is not a chat completion"},
		"content that is no text":     {sends(message(`{"content":[{"type":"image"}]}`, `"stop"`)), false, model.Failed, 0, "a part that is not text"},
		"a garbage chunk":             {streams(begun, `{"choices":`), true, model.Failed, 0, "is not a chat completion"},
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
		"a redirect to another place": {redirect, false, model.Failed, 0, "set the base URL"},
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
	_, whole, err := ask(
		t,
		serve(t, cut("text/event-stream",
			"data: "+delta(`{"content":"hello"}`)+"\n\ndata: "+finish("stop")+"\n\n")).model(t),
		hello(true),
	)
	require.NoError(t, err)
	require.Equal(t, said(text("hello")), whole.Content)
}

func TestNobodyListens(t *testing.T) {
	const address = "127.0.0.1:1"
	m, err := openai.New(openai.Config{
		Model:      "tiny",
		BaseURL:    "http://" + address,
		Attempts:   1,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	require.NoError(t, err)
	_, _, err = ask(t, m, hello(false))
	var coded *model.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, "UNAVAILABLE", coded.Code)
	require.ErrorContains(t, err,
		"http://"+address+"/chat/completions cannot be reached; check that the server runs: ")
	require.NotContains(t, err.Error(), "Post", "the address is said once")
	var op *net.OpError
	require.ErrorAs(t, err, &op, "the cause is there")
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A certificate that nobody vouches for does not get better by waiting.
func TestNotTrusted(t *testing.T) {
	srv := httptest.NewUnstartedServer(sends(ok))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it says that the handshake failed
	srv.StartTLS()
	defer srv.Close()
	m, err := openai.New(openai.Config{
		Model:      "tiny",
		BaseURL:    srv.URL,
		APIKey:     key,
		Attempts:   1,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	require.NoError(t, err)
	_, _, err = ask(t, m, hello(false))
	var coded *model.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, model.Failed, coded.Code)
	require.ErrorContains(t, err, "is not trusted")
}

// Who reads the key from elsewhere says where, and errors about it send people there.
func TestKeyFrom(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	const from = "the variable MYKEY"
	m, err := openai.New(openai.Config{
		Model:      "tiny",
		BaseURL:    s.URL + "/v1",
		APIKey:     key,
		KeyFrom:    from,
		Attempts:   1,
		HTTPClient: s.Client(),
	})
	require.NoError(t, err)
	_, _, err = ask(t, m, hello(false))
	require.ErrorContains(t, err, "401 Unauthorized; check the variable MYKEY")
	require.NotContains(t, err.Error(), "Config")
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("OPENAI_API_KEY", "")
	for want, c := range map[string]openai.Config{
		"needs a key; set the variable MYKEY, or the base URL": {Model: "tiny", KeyFrom: from},
		"the key (the variable MYKEY) has a line break":        {Model: "tiny", APIKey: key + "\n", KeyFrom: from},
		"a key goes into the variable MYKEY":                   {Model: "tiny", BaseURL: "http://localhost/v1?key=" + key, KeyFrom: from},
	} {
		_, err := openai.New(c)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), key)
	}
}
