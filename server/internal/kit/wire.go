package kit

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A wireEvent is an event as the kit knows it. It has only keys that the kit's model of an event has, since
// that refuses others.
type wireEvent struct {
	ID                string                                      `json:"id"`
	InvocationID      string                                      `json:"invocationId"`
	Author            string                                      `json:"author"`
	Branch            string                                      `json:"branch,omitempty"`
	Timestamp         float64                                     `json:"timestamp"`
	Content           *wireContent                                `json:"content,omitempty"`
	Partial           bool                                        `json:"partial,omitempty"`
	TurnComplete      bool                                        `json:"turnComplete,omitempty"`
	Interrupted       bool                                        `json:"interrupted,omitempty"`
	ErrorCode         string                                      `json:"errorCode,omitempty"`
	ErrorMessage      string                                      `json:"errorMessage,omitempty"`
	FinishReason      genai.FinishReason                          `json:"finishReason,omitempty"`
	UsageMetadata     *genai.GenerateContentResponseUsageMetadata `json:"usageMetadata,omitempty"`
	GroundingMetadata *genai.GroundingMetadata                    `json:"groundingMetadata,omitempty"`
	CitationMetadata  *genai.CitationMetadata                     `json:"citationMetadata,omitempty"`
	ModelVersion      string                                      `json:"modelVersion,omitempty"`
	CustomMetadata    map[string]any                              `json:"customMetadata,omitempty"`
	LongRunningIDs    []string                                    `json:"longRunningToolIds,omitempty"`
	Actions           wireActions                                 `json:"actions"`
}

// wireContent is a content with each part as JSON.
type wireContent struct {
	Role  string           `json:"role,omitempty"`
	Parts []jsontext.Value `json:"parts"`
}

// wireActions are the actions that the kit knows. Others, such as rewinds, are left out.
type wireActions struct {
	StateDelta        map[string]any              `json:"stateDelta"`
	ArtifactDelta     map[string]int64            `json:"artifactDelta"`
	AuthConfigs       struct{}                    `json:"requestedAuthConfigs"`
	Confirmations     map[string]wireConfirmation `json:"requestedToolConfirmations,omitempty"`
	SkipSummarization bool                        `json:"skipSummarization,omitempty"`
	TransferToAgent   string                      `json:"transferToAgent,omitempty"`
	Escalate          bool                        `json:"escalate,omitempty"`
	Compaction        *wireCompaction             `json:"compaction,omitempty"`
}

// wireConfirmation is what an agent asks about a call.
type wireConfirmation struct {
	Hint      string `json:"hint"`
	Confirmed bool   `json:"confirmed"`
	Payload   any    `json:"payload,omitempty"`
}

// wireCompaction is a compaction, which in the kit covers a range of time.
type wireCompaction struct {
	Start   float64      `json:"startTimestamp"`
	End     float64      `json:"endTimestamp"`
	Content *wireContent `json:"compactedContent"`
}

// newWireEvent returns an event as the kit knows it, without what a history adds.
func newWireEvent(e *session.Event) (*wireEvent, error) {
	content, err := contentOf(e.Content)
	if err != nil {
		return nil, err
	}
	wire := &wireEvent{
		ID:                e.ID,
		InvocationID:      e.InvocationID,
		Author:            e.Author,
		Branch:            e.Branch,
		Timestamp:         seconds(e.Timestamp),
		Content:           content,
		Partial:           e.Partial,
		TurnComplete:      e.TurnComplete,
		Interrupted:       e.Interrupted,
		ErrorCode:         e.ErrorCode,
		ErrorMessage:      e.ErrorMessage,
		FinishReason:      e.FinishReason,
		UsageMetadata:     e.UsageMetadata,
		GroundingMetadata: e.GroundingMetadata,
		CitationMetadata:  e.CitationMetadata,
		ModelVersion:      e.ModelVersion,
		CustomMetadata:    e.CustomMetadata,
		Actions: wireActions{
			StateDelta:        orEmpty(e.Actions.StateDelta),
			ArtifactDelta:     orEmpty(e.Actions.ArtifactDelta),
			SkipSummarization: e.Actions.SkipSummarization,
			TransferToAgent:   e.Actions.TransferToAgent,
			Escalate:          e.Actions.Escalate,
		},
	}
	return wire, nil
}

// say adds a part to the event's content.
func (w *wireEvent) say(role string, part *genai.Part) error {
	data, err := partOf(part)
	if err != nil {
		return err
	}
	if w.Content == nil {
		w.Content = &wireContent{Role: role}
	}
	w.Content.Parts = append(w.Content.Parts, data)
	return nil
}

// contentOf returns a content, nil for one without parts, since older pages fail on that.
func contentOf(c *genai.Content) (*wireContent, error) {
	if c == nil {
		return nil, nil
	}
	wire := &wireContent{Role: c.Role}
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		data, err := partOf(p)
		if err != nil {
			return nil, err
		}
		if string(data) != "{}" { // an empty text
			wire.Parts = append(wire.Parts, data)
		}
	}
	if len(wire.Parts) == 0 {
		return nil, nil
	}
	return wire, nil
}

// partOf returns a part as JSON. A call has the key args, and a response the key response, even if there is
// nothing in it: the pages read them without asking whether they are there.
func partOf(p *genai.Part) (jsontext.Value, error) {
	data, err := encoded(p)
	switch {
	case err != nil:
		return nil, err
	case p.FunctionCall != nil && len(p.FunctionCall.Args) == 0:
		return withEmpty(data, "functionCall", "args")
	case p.FunctionResponse != nil && len(p.FunctionResponse.Response) == 0:
		return withEmpty(data, "functionResponse", "response")
	}
	return data, nil
}

// withEmpty returns a part with an empty object under a key of its function call or response.
func withEmpty(part jsontext.Value, of, key string) (jsontext.Value, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(part, &keys); err != nil {
		return nil, err
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(keys[of], &inner); err != nil {
		return nil, err
	}
	inner[key] = json.RawMessage("{}")
	whole, err := encoded(inner)
	if err != nil {
		return nil, err
	}
	keys[of] = json.RawMessage(whole)
	return encoded(keys)
}

// encoded returns a value as JSON on one line. It uses the standard library's encoder, since the tags of
// package genai are made for that.
func encoded(v any) (jsontext.Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// orEmpty returns a map that is not nil.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
