package web

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// TextOf returns what an event says to those who read texts only: its text, or the output with which the
// workflow has ended that the user has called, as JSON if it is no text.
func TextOf(e *session.Event) string {
	text := e.Text()
	if text != "" || !agent.WorkflowOutput(e) || strings.Contains(e.NodeInfo.Path, "/") ||
		!agent.Sees("", e.Branch) {
		return text
	}
	if output, ok := e.Output.(string); ok {
		return output
	}
	data, err := json.Marshal(e.Output, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(data)
}
