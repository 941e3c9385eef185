package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/gabriel-vasile/mimetype"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"github.com/plughook/plughook/tool"
)

// response returns the result of a call as the response of a function:
//
//   - Structured content that is an object is the response. Other structured content is its
//     "result". Without structured content, "result" is the texts, one in a line.
//   - Images, audio, resources and links are a list "content" beside "result", each with its type
//     and what is known about it. If there is an artifact service, media is saved as an artifact,
//     and the list has its name and version. Otherwise media of up to 64 KiB is in the list, in
//     base64.
//
// If the result is an error, response returns an error with its text.
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
		return nil, errors.New("the tool failed without a message")
	}
	object, ok := r.StructuredContent.(map[string]any)
	if ok && len(others) == 0 {
		return object, nil
	}
	made := map[string]any{"result": text}
	if r.StructuredContent != nil { // the texts repeat it
		made["result"] = r.StructuredContent
	}
	if len(others) > 0 {
		made["content"] = others
	}
	return made, nil
}

// describe describes content that is not text, the nth of its result.
func describe(ctx context.Context, call *tool.Call, content sdk.Content,
	n int) (map[string]any, error) {
	switch v := content.(type) {
	case *sdk.ImageContent:
		return media(ctx, call, map[string]any{"type": "image"}, v.MIMEType, v.Data, n)
	case *sdk.AudioContent:
		return media(ctx, call, map[string]any{"type": "audio"}, v.MIMEType, v.Data, n)
	case *sdk.ResourceLink:
		return known(map[string]any{"type": "resource_link"}, "uri", v.URI, "name", v.Name, "description",
			v.Description, "mimeType", v.MIMEType), nil
	case *sdk.EmbeddedResource:
		if v.Resource == nil {
			return map[string]any{"type": "resource"}, nil
		}
		described := known(map[string]any{"type": "resource"}, "uri", v.Resource.URI)
		if v.Resource.Blob != nil {
			return media(ctx, call, described, v.Resource.MIMEType, v.Resource.Blob, n)
		}
		described["text"] = v.Resource.Text
		return known(described, "mimeType", v.Resource.MIMEType), nil
	}
	return nil, fmt.Errorf("the tool answered with content of type %T, which a result of a tool cannot have", content)
}

// media adds the data to a description, or where the data is.
func media(ctx context.Context, call *tool.Call, described map[string]any, mimeType string,
	data []byte, n int) (map[string]any, error) {
	known(described, "mimeType", mimeType)
	switch {
	case call.Artifacts != nil:
		name := fmt.Sprintf("mcp/%s-%d%s", call.Name, n, extension(mimeType))
		version, err := call.Save(ctx, name, genai.NewPartFromBytes(data, mimeType))
		if err != nil {
			return nil, fmt.Errorf("the file in the tool's answer cannot be saved: %w", err)
		}
		described["artifact"] = name
		described["version"] = version
	case len(data) <= maxInline:
		described["data"] = base64.StdEncoding.EncodeToString(data)
	default:
		described["omitted"] = fmt.Sprintf("%d bytes; there is no artifact service to save them",
			len(data))
	}
	return described, nil
}

// known sets keys to values, unless a value is "".
func known(described map[string]any, pairs ...string) map[string]any {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			described[pairs[i]] = pairs[i+1]
		}
	}
	return described
}

// extension returns the file extension of a type, "" if none is known.
func extension(mimeType string) string {
	if known := mimetype.Lookup(mimeType); known != nil {
		return known.Extension()
	}
	return ""
}
