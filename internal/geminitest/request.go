package geminitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

var endpoint = regexp.MustCompile(`^/v1[a-z0-9]*/(?:((?:projects/[^/]+/locations/[^/]+/)?publishers/google/)?models)/([^/:]+):(generateContent|streamGenerateContent|countTokens)$`)

// A Request is what the server was asked.
type Request struct {
	// Context is done when the client has left.
	Context context.Context
	// Path is the URL's path, Header the HTTP header.
	Path   string
	Header http.Header
	// Model, Method ("generateContent", …) and Vertex are what the path says.
	Model, Method string
	Vertex        bool
	// Body is the JSON body; its numbers are json.Number. Raw are the bytes.
	Body map[string]any
	Raw  []byte
	// Contents are the body's contents.
	Contents []Content
}

// A Content is one turn of the conversation.
type Content struct {
	Role  string
	Parts []Part
}

// Text returns the last text of the conversation.
func (r *Request) Text() string {
	for _, c := range slices.Backward(r.Contents) {
		for _, p := range slices.Backward(c.Parts) {
			if text, ok := p["text"].(string); ok {
				return text
			}
		}
	}
	return ""
}

func (r *Request) tokens() int { return tokens(r.Body["contents"]) }

// tokens counts a token for every four bytes of text and of other JSON.
func tokens(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return (len(data) + 3) / 4
}

// data are the keys that a part has one of.
var data = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}

// read reads the contents, and says what the API would refuse about them.
func (r *Request) read() string {
	list, ok := r.Body["contents"].([]any)
	if !ok || len(list) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified"
	}
	for i, v := range list {
		at := fmt.Sprintf("* GenerateContentRequest.contents[%d]", i)
		content, _ := v.(map[string]any)
		role, _ := content["role"].(string)
		if role != "user" && role != "model" {
			return fmt.Sprintf("%s.role: Please use a valid role: user, model; not %q.", at, role)
		}
		c := Content{Role: role}
		parts, _ := content["parts"].([]any)
		if len(parts) == 0 {
			return at + ".parts: contents.parts must not be empty."
		}
		for j, p := range parts {
			part, _ := p.(map[string]any)
			if !slices.ContainsFunc(data, func(key string) bool { return part[key] != nil }) {
				return fmt.Sprintf("%s.parts[%d].data: required oneof field 'data' must have one initialized field", at, j)
			}
			c.Parts = append(c.Parts, part)
		}
		r.Contents = append(r.Contents, c)
	}
	return pairs(r.Contents)
}

// pairs says which call has no response, or which response no call.
func pairs(contents []Content) string {
	var open []map[string]any
	for i, c := range contents {
		calls, responses := fields(c, "functionCall"), fields(c, "functionResponse")
		if len(responses) != len(open) {
			return fmt.Sprintf("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn. (contents[%d] has %d, the calls before it are %d)", i, len(responses), len(open))
		}
		for _, r := range responses {
			at := slices.IndexFunc(open, func(call map[string]any) bool {
				return name(call) == name(r)
			})
			if at < 0 {
				return fmt.Sprintf("contents[%d]: the response of function %v (id %v) answers none of the calls before it", i, r["name"], r["id"])
			}
			open = slices.Delete(open, at, at+1)
		}
		if len(calls) > 0 && (c.Role != "model" || i == 0 || contents[i-1].Role != "user") {
			return fmt.Sprintf("Please ensure that function call turn comes immediately after a user turn or after a function response turn. (contents[%d])", i)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Sprintf("the call of function %v has no response", open[0]["name"])
	}
	return ""
}

func name(call map[string]any) [2]string {
	name, _ := call["name"].(string)
	id, _ := call["id"].(string)
	return [2]string{name, id}
}

func fields(c Content, key string) (list []map[string]any) {
	for _, p := range c.Parts {
		if f, ok := p[key].(map[string]any); ok {
			list = append(list, f)
		}
	}
	return list
}
