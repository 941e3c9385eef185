package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

// Whatever a server sends, there is one whole response or a coded error, and never silence.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{ok, "", "null", "{", `{"choices":[null]}`, `{"error":{"code":429}}`, `{"error":[]}`,
		message(`{"content":["a"],"tool_calls":[{"function":{"name":"f","arguments":{"a":[1e400]}}}]}`, `"tool_calls"`),
		message(`{"content":null,"refusal":"no","tool_calls":[null,{"index":-1}]}`, `"length"`),
		"data: " + delta(`{"content":"a"}`) + "\n\ndata: " + finish("stop") + "\n\ndata: [DONE]\n\n",
		"data: " + delta(`{"tool_calls":[{"index":9,"function":{"name":"f","arguments":"{"}}]}`) + "\n\ndata: " + finish("tool_calls") + "\n\n",
		": ping\n\nevent: error\ndata: {\"error\":null,\"usage\":{\"total_tokens\":-9e9}}\n\n",
	} {
		for _, kind := range []string{"application/json", "text/event-stream", ""} {
			f.Add(200, kind, body, true)
		}
		f.Add(500, "", body, false)
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string, stream bool) {
		if status < 200 || status > 599 {
			return // no server can
		}
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: status,
				Header:     http.Header{"Content-Type": {kind}},
				Body:       io.NopCloser(strings.NewReader(body)),
				Request:    r,
			}, nil
		})}
		m, err := openai.New(openai.Config{
			Model:      "tiny",
			BaseURL:    "http://localhost/v1",
			APIKey:     key,
			Attempts:   1,
			HTTPClient: client,
		})
		require.NoError(t, err)
		_, whole, err := ask(t, m, hello(stream))
		if err != nil {
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.NotEmpty(t, coded.Code)
			require.NotContains(t, err.Error(), key)
		} else {
			require.Less(t, status, 400)
			inJSON(t, whole)
		}
	})
}
