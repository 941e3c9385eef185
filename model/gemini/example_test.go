package gemini_test

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/gemini"
)

// With a key in GEMINI_API_KEY, gemini.Config{Model: "gemini-2.5-flash"} is enough. Here a server for
// tests answers, which needs no key that is real.
func Example() {
	srv := geminitest.New(
		geminitest.Status(503, "overloaded"), // it is asked again
		geminitest.Stream(geminitest.Text("It rains"), geminitest.Text(" in Paris.")),
	)
	defer srv.Close()

	ctx := context.Background()
	m, err := gemini.New(ctx,
		gemini.Config{Model: "gemini-2.5-flash", APIKey: "any", BaseURL: srv.URL, Backoff: 1})
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range m.Generate(ctx, &model.Request{Contents: genai.Text("How is the weather in Paris?"), Stream: true}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q partial=%t\n", r.Content.Parts[0].Text, r.Partial)
	}
	// Output:
	// "It rains" partial=true
	// " in Paris." partial=true
	// "It rains in Paris." partial=false
}
