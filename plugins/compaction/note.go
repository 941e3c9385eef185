package compaction

import (
	"encoding/json"
	"fmt"

	"github.com/plughook/plughook/session"
)

// noteKey is where a compaction's event says how it came about: in its CustomMetadata.
const noteKey = "compaction"

// note is what a compaction's event says of itself. It holds no text, so that what a later plugin takes out of
// the summary is nowhere else.
type note struct {
	// Trigger is why it was made, By who has written it: "offline", or a model.
	Trigger string `json:"trigger"`
	By      string `json:"by"`
	// Before and After are the tokens of the live view; Events is how many were covered beside the summary
	// before; Generation counts summaries of summaries from 1.
	Before     int `json:"before"`
	After      int `json:"after"`
	Events     int `json:"events"`
	Generation int `json:"generation"`
	// Cost is what the model cost, in the currency of the configured prices.
	Cost float64 `json:"cost,omitzero"`
	// Factor and Beside correct the count of tokens; see meter.
	Factor float64 `json:"factor,omitzero"`
	Beside int     `json:"beside,omitzero"`
	// Sections are what package extract needs to go on, one for each part of the content.
	Sections []any `json:"sections,omitzero"`
}

// value returns the note as JSON values.
func (n *note) value() map[string]any {
	var v map[string]any
	data, err := json.Marshal(n)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		panic(fmt.Sprintf("compaction: a note of numbers is JSON: %v", err))
	}
	return v
}

// noteOf returns the note on an event, nil if there is none that can be read.
func noteOf(e *session.Event) *note {
	v, ok := e.CustomMetadata[noteKey].(map[string]any)
	if !ok {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var n note
	if json.Unmarshal(data, &n) != nil {
		return nil
	}
	return &n
}
