package gemini_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a key that must be in no error and no log.
const canary = "AIzaCANARYcanaryCANARY"

// config is a Config for a server, which retries at once and twice.
func config(srv *geminitest.Server) gemini.Config {
	return gemini.Config{
		Model:    "m",
		APIKey:   canary,
		Backend:  genai.BackendGeminiAPI,
		BaseURL:  srv.URL,
		Attempts: 3,
		Backoff:  time.Nanosecond,
	}
}

// start returns a model whose server answers so.
func start(t *testing.T, answers ...geminitest.Answer) (model.Model, *geminitest.Server) {
	t.Helper()
	srv := geminitest.New(answers...)
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	m, err := gemini.New(t.Context(), config(srv))
	require.NoError(t, err)
	return m, srv
}

func request(stream bool, contents ...*genai.Content) *model.Request {
	if contents == nil {
		contents = genai.Text("hello")
	}
	return &model.Request{Contents: contents, Stream: stream}
}

// ask returns what the model yields, and holds it to the contract: partial responses only of a stream,
// then one whole response or one error, and no key in it.
func ask(
	t *testing.T,
	ctx context.Context,
	m model.Model,
	req *model.Request,
) (partials []*model.Response, whole *model.Response, failure error) {
	t.Helper()
	for r, err := range m.Generate(ctx, req) {
		require.Nil(t, whole, "something after the whole response")
		require.NoError(t, failure, "something after the error")
		switch {
		case err != nil:
			require.Nil(t, r)
			require.NotContains(t, err.Error(), canary)
			failure = err
		case r.Partial:
			require.True(t, req.Stream)
			partials = append(partials, r)
		default:
			whole = r
		}
	}
	require.True(t, whole != nil || failure != nil, "neither a whole response nor an error")
	return partials, whole, failure
}

// fails requires an error with a code and returns it.
func fails(t *testing.T, m model.Model, req *model.Request, code string) *model.Error {
	t.Helper()
	_, _, err := ask(t, t.Context(), m, req)
	var coded *model.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, code, coded.Code, coded.Error())
	require.NotEmpty(t, coded.Err.Error())
	return coded
}

func text(r *model.Response) string {
	var s string
	if r.Content != nil {
		for _, p := range r.Content.Parts {
			s += p.Text
		}
	}
	return s
}

// both runs a test with and without streaming.
func both(t *testing.T, test func(t *testing.T, stream bool)) {
	t.Run("whole", func(t *testing.T) { test(t, false) })
	t.Run("stream", func(t *testing.T) { test(t, true) })
}
