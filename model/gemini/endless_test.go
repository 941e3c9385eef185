package gemini_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

func TestAnswersWithoutAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		status            int
		kind, begin, text string
		stream            bool
		want              string
	}{
		"a whole answer": {200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"`, "x", false, "33554432 bytes"},
		"values":         {200, "application/json", `{"candidates":[`, "{},", false, "500000 JSON values"},
		"a stream":       {200, "text/event-stream", "", `data: {"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("x", 500) + "\"}]}}]}\n\n", true, "33554432 bytes"},
		"a line":         {200, "text/event-stream", "data: ", "x", true, "33554432 bytes"},
		"an error":       {400, "application/json", `{"error":{"message":"`, "no, ", false, "INVALID_ARGUMENT"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, err := io.WriteString(w, c.begin)
			block := strings.Repeat(c.text, 1+64<<10/len(c.text))
			for err == nil {
				_, err = io.WriteString(w, block)
			}
		}))
		t.Cleanup(server.Close)
		m, err := gemini.New(t.Context(), gemini.Config{
			Model:      "m",
			APIKey:     canary,
			Backend:    genai.BackendGeminiAPI,
			BaseURL:    server.URL,
			Attempts:   1,
			HTTPClient: server.Client(),
		})
		require.NoError(t, err)
		_, _, err = ask(t, t.Context(), m, request(c.stream))
		require.ErrorContains(t, err, c.want, name)
		if name != "an error" {
			var coded *model.Error
			require.ErrorAs(t, err, &coded)
			require.Equal(t, model.Failed, coded.Code, name)
		}
	}
}
