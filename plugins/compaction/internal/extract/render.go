package extract

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/plughook/plughook/session"
)

// Render returns how an event reads in the text of a prompt: its texts, thoughts left out, its function
// calls as name and arguments, and its function responses as name and result, a line each, the values as
// JSON. It is "" for an event that a model sees nothing of. The result is valid UTF-8.
func Render(e *session.Event) string {
	if e == nil || e.Content == nil {
		return ""
	}
	var lines []string
	text := strings.Builder{}
	flush := func() {
		if text.Len() > 0 {
			lines = append(lines, text.String())
			text.Reset()
		}
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.FunctionCall != nil:
			flush()
			lines = append(lines, p.FunctionCall.Name+" "+compact(p.FunctionCall.Args))
		case p.FunctionResponse != nil:
			flush()
			lines = append(lines, p.FunctionResponse.Name+" "+compact(p.FunctionResponse.Response))
		default:
			text.WriteString(p.Text)
		}
	}
	flush()
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
}

// compact is a value's JSON, "{}" for what has none.
func compact(v map[string]any) string {
	if len(v) == 0 {
		return "{}"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "{}" // a value that no log can hold
	}
	return strings.TrimSuffix(b.String(), "\n")
}
