package extract

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/session"
)

// Render returns an event as the text of a prompt: its texts without thoughts, and one line for each function
// call, with name and arguments, and for each function response, with name and result. Arguments and results
// are JSON. It returns "" for an event that a model is shown nothing of. The result is valid UTF-8.
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
			lines = append(lines, p.FunctionCall.Name+" "+told.JSON(p.FunctionCall.Args))
		case p.FunctionResponse != nil:
			flush()
			lines = append(lines, p.FunctionResponse.Name+" "+told.JSON(p.FunctionResponse.Response))
		default:
			text.WriteString(p.Text)
		}
	}
	flush()
	return valid(strings.Join(lines, "\n"))
}

// Rendered reports whether Render returns a text for an event, which is faster.
func Rendered(e *session.Event) bool {
	return e != nil && e.Content != nil && slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
		return p != nil && !p.Thought && (p.FunctionCall != nil || p.FunctionResponse != nil || p.Text != "")
	})
}

// breaks matches everything that a reader could take for the end of a line.
var breaks = lazyregexp.New("\r\n|[\n\r\v\f\x1c-\x1e\u0085\u2028\u2029]")

// OneLine returns a text as one line of valid UTF-8.
func OneLine(text string) string { return breaks.ReplaceAllLiteralString(valid(text), "⏎") }

// Prefix returns how many bytes the first characters of a text have.
func Prefix(text string, characters int) int {
	n := 0
	for i := range text {
		if n == characters {
			return i
		}
		n++
	}
	return len(text)
}
