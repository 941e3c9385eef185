package plugin

import "github.com/plughook/plughook/session"

// ApprovedKey is the key in an event's CustomMetadata by which a plugin says why no human need be asked about
// the calls in the event. It lifts no other plugin's question.
const ApprovedKey = "approved"

// Approve notes on an event with calls that no human need be asked about them, and why. Hooks of coding agents then
// show no dialog.
func Approve(e *session.Event, why string) {
	if e.CustomMetadata == nil {
		e.CustomMetadata = map[string]any{}
	}
	e.CustomMetadata[ApprovedKey] = why
}

// Approved returns why a plugin has approved the calls of an event; ok is false if none has. Whoever makes an event
// can write its metadata, so this counts only for events that were offered without.
func Approved(e *session.Event) (why string, ok bool) {
	if e == nil {
		return "", false
	}
	why, ok = e.CustomMetadata[ApprovedKey].(string)
	return why, ok
}
