package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// response returns the result of a call as a function's response:
//
//   - structured content that is an object, as it is; other structured content, and else all texts, a line
//     each, as "result";
//   - images, audio, resources and links as a list "content" beside that "result", each with its type and
//     what is known of it. Media is saved as an artifact, of which the list has name and version, if there
//     is a service; else it is in the list, in base64, up to 64 KiB.
//
// A result that is an error is an error, of its text.
func response(ctx context.Context, call *tool.Call, r *sdk.CallToolResult) (map[string]any, error) {
	var texts []string
	var others []any
	for _, content := range r.Content {
		if t, ok := content.(*sdk.TextContent); ok {
			texts = append(texts, t.Text)
			continue
		}
		if r.IsError {
			continue
		}
		other, err := describe(ctx, call, content, len(others)+1)
		if err != nil {
			return nil, err
		}
		others = append(others, other)
	}
	text := strings.Join(texts, "\n")
	if r.IsError {
		switch {
		case text != "":
			return nil, errors.New(text)
		case r.StructuredContent != nil:
			return nil, fmt.Errorf("the tool failed: %v", r.StructuredContent)
		}
		return nil, errors.New("the tool failed, and did not say why")
	}
	object, ok := r.StructuredContent.(map[string]any)
	if ok && len(others) == 0 {
		return object, nil
	}
	made := map[string]any{"result": text}
	if r.StructuredContent != nil { // which the texts say again
		made["result"] = r.StructuredContent
	}
	if len(others) > 0 {
		made["content"] = others
	}
	return made, nil
}

// describe returns what is said of content that is not text, the nth of its result.
func describe(ctx context.Context, call *tool.Call, content sdk.Content, n int) (map[string]any, error) {
	switch v := content.(type) {
	case *sdk.ImageContent:
		return media(ctx, call, map[string]any{"type": "image"}, v.MIMEType, v.Data, n)
	case *sdk.AudioContent:
		return media(ctx, call, map[string]any{"type": "audio"}, v.MIMEType, v.Data, n)
	case *sdk.ResourceLink:
		return known(map[string]any{"type": "resource_link"}, "uri", v.URI, "name", v.Name, "description", v.Description, "mimeType", v.MIMEType), nil
	case *sdk.EmbeddedResource:
		if v.Resource == nil {
			return map[string]any{"type": "resource"}, nil
		}
		said := known(map[string]any{"type": "resource"}, "uri", v.Resource.URI)
		if v.Resource.Blob != nil {
			return media(ctx, call, said, v.Resource.MIMEType, v.Resource.Blob, n)
		}
		said["text"] = v.Resource.Text
		return known(said, "mimeType", v.Resource.MIMEType), nil
	}
	return nil, fmt.Errorf("the tool answered with content of type %T, which is not for a tool's result", content)
}

// media says where the data is.
func media(ctx context.Context, call *tool.Call, said map[string]any, mimeType string, data []byte, n int) (map[string]any, error) {
	known(said, "mimeType", mimeType)
	switch {
	case call.Artifacts != nil:
		name := fmt.Sprintf("mcp/%s-%d%s", call.Name, n, extension(mimeType))
		version, err := call.Save(ctx, name, genai.NewPartFromBytes(data, mimeType))
		if err != nil {
			return nil, fmt.Errorf("what the tool answered cannot be saved: %w", err)
		}
		said["artifact"], said["version"] = name, version
	case len(data) <= maxInline:
		said["data"] = base64.StdEncoding.EncodeToString(data)
	default:
		said["omitted"] = fmt.Sprintf("%d bytes; there is no artifact service to save them", len(data))
	}
	return said, nil
}

// known sets the keys that have a value.
func known(said map[string]any, pairs ...string) map[string]any {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			said[pairs[i]] = pairs[i+1]
		}
	}
	return said
}

// extension returns a file name's ending for what people look at.
func extension(mimeType string) string {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	return map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/ogg": ".ogg", "application/pdf": ".pdf", "application/json": ".json"}[kind]
}
