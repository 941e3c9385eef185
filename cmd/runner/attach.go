package main

import (
	"context"

	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/session"
)

// attachments reads files that go with a message.
func attachments(ctx context.Context, files []string) ([]*genai.Part, error) {
	var parts []*genai.Part
	for _, name := range files {
		blob, err := cli.ReadAttachment(ctx, name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &genai.Part{InlineData: blob})
	}
	return parts, nil
}

// attach adds parts to an input: files, or responses to calls.
func attach(input *session.Event, parts []*genai.Part) {
	if len(parts) == 0 {
		return
	}
	if input.Content == nil {
		input.Content = &genai.Content{Role: genai.RoleUser}
	}
	input.Content.Parts = append(input.Content.Parts, parts...)
}
