package compaction_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/geminitest"
	"github.com/plughook/plughook/model/gemini"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
)

// A model writes the summaries. Here it is a server of the example's own; without BaseURL it is Google's.
func ExampleModel() {
	ctx := context.Background()
	srv := geminitest.New(geminitest.Reply{
		Chunks: [][]geminitest.Part{
			{geminitest.Text("The user wants to sail to Ithaca in May.")},
		},
		Usage: &geminitest.Usage{Prompt: 800, Candidates: 10},
	})
	defer srv.Close()
	flash, err := gemini.New(ctx, gemini.Config{
		Model:   "gemini-2.5-flash",
		APIKey:  "key",
		Backend: genai.BackendGeminiAPI,
		BaseURL: srv.URL,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	writes := &compaction.Model{
		Model:    flash,
		MaxInput: 100_000,
		Price:    prices.Price{Rates: prices.Rates{Input: 0.30, Cached: 0.03, Output: 2.50}},
	}

	// The plugin asks it when a session has become large.
	if _, err := compaction.New(compaction.Config{Window: 1_000_000, Budget: 60_000, Summarizer: writes}); err != nil {
		fmt.Println(err)
		return
	}

	// What the plugin does, by hand:
	summary, err := writes.Summarize(ctx, &compaction.Request{
		Events: []*session.Event{
			{
				Seq:    1,
				Author: session.User,
				Content: genai.NewContentFromText("Take me to Ithaca. By sea, in May.",
					genai.RoleUser),
			},
		},
		Budget: 100,
		Count:  func(text string) int { return len(text) / 4 },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Text)
	fmt.Printf("%.6f for %d tokens\n", summary.Cost, summary.Usage.TotalTokenCount)
	// Output:
	// The user wants to sail to Ithaca in May.
	// 0.000265 for 810 tokens
}
