package main

import (
	"context"
	"mime"
	"net/http"
	"path/filepath"

	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/session"
)

// maxAttachment is how many bytes a file that goes with a message may have.
const maxAttachment = 64 << 20

// attachments reads files that go with a message.
func attachments(ctx context.Context, files []string) ([]*genai.Part, error) {
	var parts []*genai.Part
	for _, name := range files {
		data, err := input.ReadFile(ctx, name, maxAttachment)
		if err != nil {
			return nil, exit.Usage.As(err)
		}
		kind, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
		if err != nil { // its name does not tell
			kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
		}
		parts = append(parts, &genai.Part{InlineData: &genai.Blob{
			Data:        data,
			MIMEType:    kind,
			DisplayName: filepath.Base(name),
		}})
	}
	return parts, nil
}

// attach adds files to an input, as data in it.
func attach(input *session.Event, files []*genai.Part) {
	if len(files) == 0 {
		return
	}
	if input.Content == nil {
		input.Content = &genai.Content{Role: genai.RoleUser}
	}
	input.Content.Parts = append(input.Content.Parts, files...)
}
