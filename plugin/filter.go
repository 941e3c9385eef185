package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A Filter selects the events that OnEvent is called with. What it leaves out costs nothing, and, if the
// plugin runs in a process of its own, no message. The zero Filter selects all.
type Filter struct {
	// Authors are those whose events are selected: an author, or the beginning of one and a "*"
	// ("plugin/*"). None selects everyone's.
	Authors []string
	// Has are things of which an event has at least one. None selects every event.
	Has []EventFeature
}

// An EventFeature is something that an event can have.
type EventFeature string

// What an event can have.
const (
	HasText         EventFeature = "text"         // a part with text, thoughts too
	HasCall         EventFeature = "call"         // a function call
	HasResponse     EventFeature = "response"     // a function response
	HasMedia        EventFeature = "media"        // inline data or a file
	HasState        EventFeature = "state"        // a change of the state
	HasError        EventFeature = "error"        // an error code
	HasConfirmation EventFeature = "confirmation" // a question to a human, or an answer
	HasTransfer     EventFeature = "transfer"     // a hand-over to another agent
	HasMarker       EventFeature = "marker"       // a compaction or a rewind
)

var hasAll = []EventFeature{HasText, HasCall, HasResponse, HasMedia, HasState, HasError, HasConfirmation, HasTransfer, HasMarker}

// Match reports whether the filter selects an event. A nil Filter selects all.
func (f *Filter) Match(e *session.Event) bool {
	return f == nil || f.author(e.Author) && (len(f.Has) == 0 || slices.ContainsFunc(f.Has, func(h EventFeature) bool { return has(e, h) }))
}

func (f *Filter) author(author string) bool {
	for _, a := range f.Authors {
		if prefix, ok := strings.CutSuffix(a, "*"); a == author || ok && strings.HasPrefix(author, prefix) {
			return true
		}
	}
	return len(f.Authors) == 0
}

func has(e *session.Event, h EventFeature) bool {
	a := &e.Actions
	switch h {
	case HasState:
		return len(a.StateDelta)+len(a.StateIncrement) > 0
	case HasError:
		return e.ErrorCode != ""
	case HasConfirmation:
		return len(a.RequestedToolConfirmations) > 0
	case HasTransfer:
		return a.TransferToAgent != ""
	case HasMarker:
		return e.Marker()
	}
	for _, p := range e.Parts() {
		if h == HasText && p.Text != "" || h == HasCall && p.FunctionCall != nil || h == HasResponse && p.FunctionResponse != nil ||
			h == HasMedia && (p.InlineData != nil || p.FileData != nil) {
			return true
		}
	}
	return false
}

// check returns an error for what the filter names and no event can have.
func (f *Filter) check() error {
	if f == nil {
		return nil
	}
	for _, h := range f.Has {
		if !slices.Contains(hasAll, h) {
			return fmt.Errorf("the filter's Has names %q; there are %v", h, hasAll)
		}
	}
	return nil
}
