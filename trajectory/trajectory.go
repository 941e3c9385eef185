// Package trajectory says what a session's agents did: the tool calls with their results and what became of
// them, the changes of state, the tokens, the reasoning and the final output. It is what evaluation, training and
// optimizers of prompts begin with.
//
//   - Read reduces a session's log, which it reads once, to an Extract: the events of one View, their values
//     redacted and cut.
//   - WriteTrajectory writes what an Extract has of all agents, or of one, as a line of JSON with the names that
//     gepa-adk uses, piece by piece.
//   - WriteChat, WriteATIF and an EvalSet write Extracts in the forms of other tools.
//   - FinalOutput, Reasoning and StatusOf are the pieces, for events in memory.
//
// A new form of export: a file with its Write function beside chat.go. A new field of events that exports need: keep it in
// Extract.reduce.
package trajectory

import (
	"cmp"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Status says what became of a tool call.
type Status string

// What becomes of a tool call.
const (
	OK          Status = "ok"
	Failed      Status = "error"       // the response has an "error"
	Denied      Status = "denied"      // a policy refused the call
	Declined    Status = "declined"    // a human said no
	Interrupted Status = "interrupted" // the run ended before the tool had answered
	Waiting     Status = "waiting"     // a human, or what the call has started, answers later
	Open        Status = "open"        // there is no response, and nobody said that one comes
)

// A Usage is a number of tokens.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"` // without Reasoning
	Total  int64 `json:"total_tokens"`
	// Cached is the part of Input that came from the model's cache.
	Cached    int64 `json:"cached_tokens,omitzero"`
	Reasoning int64 `json:"reasoning_tokens,omitzero"`
}

func usageOf(m *genai.GenerateContentResponseUsageMetadata) *Usage {
	if m == nil {
		return nil
	}
	return &Usage{
		Input:     int64(m.PromptTokenCount),
		Output:    int64(m.CandidatesTokenCount),
		Total:     int64(m.TotalTokenCount),
		Cached:    int64(m.CachedContentTokenCount),
		Reasoning: int64(m.ThoughtsTokenCount),
	}
}

func (u *Usage) add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Total += v.Total
	u.Cached += v.Cached
	u.Reasoning += v.Reasoning
}

// summaryText returns the text of the live view's compaction.
func (x *Extract) summaryText() string {
	var texts []string
	for _, p := range (&session.Event{Content: x.summary.Actions.Compaction.Content}).Parts() {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// StatusOf says what became of a call.
func StatusOf(c *session.Call) Status {
	return statusOf(c, func(r *genai.FunctionResponse) Status { return saidBy(r.Response) })
}

// status is StatusOf for a call of the Extract, whose response has been noted and let go.
func (x *Extract) status(c session.Call) Status {
	return statusOf(&c, func(r *genai.FunctionResponse) Status { return cmp.Or(x.answers[r], OK) })
}

func statusOf(c *session.Call, says func(*genai.FunctionResponse) Status) Status {
	switch {
	case c.Response == nil && c.Waits():
		return Waiting
	case c.Response == nil:
		return Open
	case c.Response.ErrorCode == session.Denied:
		return Denied
	}
	return says(c.Result)
}

// saidBy says what a response says of its call. A refusal and an interruption have an "error", too.
func saidBy(response map[string]any) Status {
	switch {
	case response["declined"] == true:
		return Declined
	case response["interrupted"] == true:
		return Interrupted
	case response["error"] != nil:
		return Failed
	}
	return OK
}
