package compaction

import (
	"context"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Summarizer writes the prose of a summary. It is called without any lock, for many sessions at once.
type Summarizer interface {
	// Summarize returns what is to stand in for a request's events, and for the summary before them. An error
	// leaves the session as it is; the offline summary is used after Config.Attempts of them. Its text goes into
	// the log record, and so should have nothing of the conversation in it. A Summary beside it says what was
	// spent; its Text is not used. Who does not return when ctx is done is not waited for.
	Summarize(ctx context.Context, r *Request) (*Summary, error)
}

// A Request is what a Summarizer is asked for.
type Request struct {
	// Prior is the prose of the summary before, "" if there is none. What is not in the answer is lost to the
	// prompt, so it belongs into it, shortened if need be.
	Prior string
	// Events are what is covered now, in order, as they are in the log: plugins have redacted what they redact.
	// They are shared and not to be changed.
	Events []*session.Event
	// Budget is how many tokens the answer may have, as Count counts them.
	Budget int
	Count  func(text string) int
	// Instructions say what must not be left out, "" if nothing was said.
	Instructions string
}

// A Summary is what a Summarizer answers.
type Summary struct {
	// Text is the prose. One above the request's budget, or an empty one, counts as a failure.
	Text string
	// Usage and Model say what it took, and go into the log; nil and "" if no model was asked.
	Usage *genai.GenerateContentResponseUsageMetadata
	Model string
	// Cost is what it cost, in the currency of whoever configured prices; 0 if that is not known.
	Cost float64
}
