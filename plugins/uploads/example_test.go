package uploads_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/uploads"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func Example() {
	ctx, key := context.Background(), session.Key{App: "a", User: "u", ID: "s"}
	artifacts := artifact.NewMemory() // artifact.Open keeps them in files
	p, err := uploads.New(uploads.Config{Artifacts: artifacts, Types: []string{"image/*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	eyes := &sees{}
	bot, err := llm.New(llm.Config{Name: "bot", Model: eyes})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(
		runner.Options{Agent: bot, Sessions: memory.New(), Plugins: []*plugin.Plugin{p}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close(ctx)
	photo := &genai.Part{
		InlineData: &genai.Blob{
			Data:        []byte("…"),
			MIMEType:    "image/jpeg",
			DisplayName: "holiday.jpg",
		},
	}
	input := &session.Event{
		Content: genai.NewContentFromParts(
			[]*genai.Part{genai.NewPartFromText("Where was I?"), photo}, genai.RoleUser),
	}
	for e, err := range r.Run(ctx, key, input, session.RunConfig{Create: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, part := range e.Content.Parts {
			if part.FileData != nil {
				fmt.Println("in the log:", part.FileData.FileURI)
			}
		}
	}
	fmt.Println("the model saw:", eyes.asked.Contents[0].Parts[1].InlineData.MIMEType)
	names, err := artifacts.List(ctx, key)
	fmt.Println("kept:", names, err)
	// Output:
	// in the log: artifact:holiday.jpg?version=0
	// the model saw: image/jpeg
	// kept: [holiday.jpg] <nil>
}
