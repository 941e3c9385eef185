package extract

import (
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// RecallName is the name of the tool that reads what a summary stands for. What it returns was said before, so it is
// no news for a summary.
const RecallName = "recall"

// Recalled reports whether an event has nothing but calls of the tool recall, or what it has returned.
func Recalled(e *session.Event) bool {
	return e.Content != nil && !slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
		isCall := p != nil && p.FunctionCall != nil && p.FunctionCall.Name == RecallName
		isAnswer := p != nil && p.FunctionResponse != nil && p.FunctionResponse.Name == RecallName
		return p != nil && !isCall && !isAnswer
	})
}
