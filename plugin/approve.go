package plugin

import "github.com/plughook/plughook/session"

// ApprovedKey is the key in an event's CustomMetadata by which a plugin says that no human need be asked
// about the calls in the event. It lifts no other plugin's question.
const ApprovedKey = "approved"

// Approve notes on an event with calls that no human need be asked about them. Hooks of coding agents then
// show no dialog.
func Approve(e *session.Event) {
	if e.CustomMetadata == nil {
		e.CustomMetadata = map[string]any{}
	}
	e.CustomMetadata[ApprovedKey] = true
}

// Approved reports whether a plugin has approved the calls of an event. Whoever makes an event can write its
// metadata, so this counts only for events that were offered without.
func Approved(e *session.Event) bool {
	return e != nil && e.CustomMetadata[ApprovedKey] == true
}
