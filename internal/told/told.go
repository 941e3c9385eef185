// Package told has the sentences in which a model is told what other agents have said and done. The agents of
// agent/llm and agent/a2a tell them, and plugins/compaction finds in a prompt what was told so.
//
// To have something else told, add a function here for its sentence.
package told

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Context stands before what is told.
const Context = "For context:"

// Text returns the sentence about what an agent has said.
func Text(author, text string) string { return fmt.Sprintf("[%s] said: %s", author, text) }

// Call returns the sentence about a function call.
func Call(author, function string, args map[string]any) string {
	return fmt.Sprintf("[%s] called %s with %s", author, function, JSON(args))
}

// Response returns the sentence about the response to a function call. The author is that of the response.
func Response(author, function string, response map[string]any) string {
	return fmt.Sprintf("[%s] %s answered: %s", author, function, JSON(response))
}

// JSON returns a value, such as a call's arguments, as JSON on one line: "{}" for a nil map.
func JSON(value any) string {
	if m, ok := value.(map[string]any); ok && m == nil {
		return "{}"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(b.String())
}
