package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-canary-0123456789"

// server answers chat completions as its handler does, and keeps the requests.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	bodies  []string
}

func serve(t testing.TB, handler http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" ||
			r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "not a request for a chat completion: "+r.Method+" "+r.URL.Path,
				http.StatusTeapot)
			return
		}
		s.mu.Lock()
		s.headers, s.bodies = append(s.headers, r.Header), append(s.bodies, string(body))
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// model returns a model of the server that tries once.
func (s *server) model(t testing.TB) model.Model {
	m, err := openai.New(openai.Config{
		Model:      "tiny",
		BaseURL:    s.URL + "/v1",
		APIKey:     key,
		Attempts:   1,
		HTTPClient: s.Client(),
	})
	require.NoError(t, err)
	return m
}

// sends is a handler that sends JSON.
func sends(body string) http.HandlerFunc { return sendsAs("application/json", body) }

// streams is a handler that sends events, each a line of data.
func streams(events ...string) http.HandlerFunc {
	return sendsAs("text/event-stream", "data: "+strings.Join(events, "\n\ndata: ")+"\n\n")
}

func sendsAs(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

// fails is a handler that fails.
func fails(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func hello(stream bool) *model.Request {
	return &model.Request{Contents: genai.Text("hello"), Stream: stream}
}

// ask returns what a model yields, and checks what holds of every model: one whole response, last, or an
// error; what the partial ones say is a beginning of what it says.
func ask(
	t testing.TB,
	m model.Model,
	req *model.Request,
) (partial []*model.Response, whole *model.Response, failed error) {
	for r, err := range m.Generate(t.Context(), req) {
		require.Nil(t, whole, "a whole response is the last")
		require.NoError(t, failed, "an error is the last")
		switch {
		case err != nil:
			require.Nil(t, r)
			failed = err
		case r.Partial:
			partial = append(partial, r)
		default:
			whole = r
		}
	}
	require.True(t, whole != nil || failed != nil, "never silent")
	if whole != nil {
		require.True(t, strings.HasPrefix(texts(whole), texts(partial...)), "%q begins with %q",
			texts(whole), texts(partial...))
		require.True(t, whole.Content != nil || whole.ErrorCode != "")
		require.NotEmpty(t, whole.FinishReason)
	}
	return partial, whole, failed
}

func texts(list ...*model.Response) (all string) {
	for _, r := range list {
		if r.Content != nil {
			for _, p := range r.Content.Parts {
				all += p.Text
			}
		}
	}
	return all
}

func inJSON(t testing.TB, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
