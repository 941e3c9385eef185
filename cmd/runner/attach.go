package main

import (
	"mime"
	"net/http"
	"os"
	"path/filepath"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// attach adds files to an input, as data in it.
func attach(input *session.Event, files []string) error {
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return exitUsage.as(err)
		}
		kind, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
		if err != nil { // its name does not tell
			kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
		}
		if input.Content == nil {
			input.Content = &genai.Content{Role: genai.RoleUser}
		}
		input.Content.Parts = append(input.Content.Parts, &genai.Part{InlineData: &genai.Blob{Data: data, MIMEType: kind, DisplayName: filepath.Base(name)}})
	}
	return nil
}
