package gemini_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model/gemini"
)

// Whatever a server says, there is a response or an error and no panic, in both ways to ask.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "{}", "data: {}\n\n", "data: null\n\n", ": ping\n\n", "data: [DONE]\n\n", "<html>", done, "data: " + done + "\n\n",
		`{"candidates":[null]}`, `{"candidates":{}}`, `{"candidates":[{"content":{"parts":[null,{}]},"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":9007199254740993}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":[]}}]}}]}`,
		`{"candidates":[{"index":"0","citationMetadata":{"citationSources":5},"finishReason":5}]}`,
		`{"candidates":[{"continuationToken":"eA==","finishReason":"STOP"}]}`, `{"candidates":[{"continuationToken":"eA=="}]}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"promptFeedback":5}`, `{"error":{"code":429,"message":"quota"}}`, `{"error":5}`, `{"usageMetadata":{"promptTokenCount":1e99}}`,
		"data: {\"candidates\":\ndata: []}\n\ndata: {\"error\":{\"code\":500}}\n\n",
	} {
		f.Add(200, []byte(seed))
		f.Add(503, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status int, data []byte) {
		if status < 200 || status > 599 {
			status = 200
		}
		m, err := gemini.New(t.Context(), gemini.Config{
			Model:    "m",
			APIKey:   canary,
			Backend:  genai.BackendGeminiAPI,
			Attempts: 1,
			HTTPClient: &http.Client{
				Transport: network(func(*http.Request) (*http.Response, error) {
					return &http.Response{
						StatusCode: status,
						Header:     http.Header{},
						Body:       io.NopCloser(bytes.NewReader(data)),
					}, nil
				}),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, stream := range []bool{false, true} {
			_, whole, err := ask(t, t.Context(), m, request(stream))
			if err == nil && whole.Content == nil && whole.ErrorCode == "" {
				t.Fatalf("silence: %+v", whole)
			}
		}
	})
}
