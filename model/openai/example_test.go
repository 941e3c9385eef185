package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/openai"
)

// A local server, such as Ollama's at http://localhost:11434/v1, needs a base URL and no key.
func Example() {
	ollama := httptest.NewServer(streams(
		`{"model":"qwen3:4b","choices":[{"index":0,"delta":{"role":"assistant","content":"It is "},"finish_reason":null}]}`,
		`{"model":"qwen3:4b","choices":[{"index":0,"delta":{"role":"assistant","content":"sunny."},"finish_reason":null}]}`,
		`{"model":"qwen3:4b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
		`{"model":"qwen3:4b","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`,
		`[DONE]`,
	))
	defer ollama.Close()
	m, err := openai.New(
		openai.Config{Model: "qwen3:4b", BaseURL: ollama.URL + "/v1", HTTPClient: ollama.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &model.Request{Contents: genai.Text("How is the weather?"), Stream: true}
	for r, err := range m.Generate(context.Background(), request) {
		switch {
		case err != nil:
			fmt.Println(err)
		case r.Partial:
			fmt.Printf("+ %q\n", r.Content.Parts[0].Text)
		default:
			fmt.Printf("%q %s, %d tokens\n", r.Content.Parts[0].Text, r.FinishReason,
				r.UsageMetadata.TotalTokenCount)
		}
	}
	// Output:
	// + "It is "
	// + "sunny."
	// "It is sunny." STOP, 17 tokens
}
