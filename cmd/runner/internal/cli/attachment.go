package cli

import (
	"context"
	"mime"
	"net/http"
	"path/filepath"

	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/input"
)

// maxAttachment is how many bytes a file that goes with a message may have.
const maxAttachment = 64 << 20

// ReadAttachment reads a file that goes with a message. Its MIME type is that of the extension of its name,
// or, if nobody knows the extension, that of its first bytes.
func ReadAttachment(ctx context.Context, name string) (*genai.Blob, error) {
	data, err := input.ReadFile(ctx, name, maxAttachment)
	if err != nil {
		return nil, exit.Usage.As(err)
	}
	kind, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
	if err != nil { // no extension, or an unknown one
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	return &genai.Blob{Data: data, MIMEType: kind, DisplayName: filepath.Base(name)}, nil
}
