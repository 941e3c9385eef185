package extract

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/plughook/plughook/session"
)

// Render returns an event as the text of a prompt: its texts without thoughts, and one line for each function call,
// with name and arguments, and for each function response, with name and result. Arguments and results are JSON.
// It returns "" for an event that a model is shown nothing of. The result is valid UTF-8.
func Render(e *session.Event) string {
	if e == nil || e.Content == nil {
		return ""
	}
	var lines []string
	var text strings.Builder
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
	return valid(strings.Join(lines, "\n"))
}

// compact returns the JSON of an object, "{}" if it has none.
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
