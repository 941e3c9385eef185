package plugin

import (
	"cmp"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/session"
)

// Notes are what the runner notes on an event.
type Notes struct {
	// Reason is why a plugin emitted the event.
	Reason string `json:"reason,omitzero"`
	// Agent is the agent in whose place a plugin made function calls.
	Agent string `json:"agent,omitzero"`
	// Changed are the plugins that replaced the event, in order.
	Changed []Note `json:"changed,omitzero"`
	// Unchecked are the plugins that failed on it and let it pass.
	Unchecked []Note `json:"unchecked,omitzero"`
	// Stopped is the plugin that ended the invocation at it while nobody said anything: who asks again gets no
	// other answer.
	Stopped string `json:"stopped,omitzero"`
	// Input names the input of the invocation where the log does not have it: a plugin has withheld it, or the
	// run was cancelled before. It is on the first event that the invocation has in the log. Who sends the input
	// again is answered with that event, and those after it. It also names another event that an agent outside has
	// offered (runner.Outside), and is on the first event in its place.
	Input *InputNote `json:"input,omitzero"`
}

// An InputNote names an input that is not in the log.
type InputNote struct {
	ID string `json:"id"`
	// Digest tells another input with the same ID apart. It has two bytes, in hex: too few to find out what was
	// withheld, and one of 65,536 other inputs is taken for this one.
	Digest string `json:"digest"`
}

// A Note names a plugin and why it did what the note is about.
type Note struct {
	Plugin string `json:"plugin"`
	Hook   Hook   `json:"hook,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// NotesOf returns the notes on an event; zero if there are none or they are not readable.
func NotesOf(e *session.Event) Notes {
	switch v := e.CustomMetadata[session.NotesKey].(type) {
	case nil:
		return Notes{}
	default:
		var n Notes
		if data, err := json.Marshal(v); err == nil && json.Unmarshal(data, &n) != nil {
			return Notes{}
		}
		return n
	}
}

// Denial returns the plugin by which an event is a denial, its author or the last to change it, and why: the reason
// that the plugin gave, or else the event's error message, or its code. ok is false if the event is none, or nobody's
// but the agent's.
func Denial(e *session.Event) (name, why string, ok bool) {
	if e.ErrorCode != session.Denied || e.Author == session.User {
		return "", "", false
	}
	notes := NotesOf(e)
	why = notes.Reason
	name, ok = e.Plugin()
	if n := len(notes.Changed); !ok && n > 0 {
		name = notes.Changed[n-1].Plugin
		why = notes.Changed[n-1].Reason
		ok = true
	}
	return name, cmp.Or(why, e.ErrorMessage, e.ErrorCode), ok
}

// With returns a copy of the event with these notes in place of its own. It shares the rest.
func (n Notes) With(e *session.Event) *session.Event {
	c := *e
	c.CustomMetadata = maps.Clone(e.CustomMetadata)
	switch {
	case n.Input != nil || n.Reason != "" || n.Agent != "" || len(n.Changed) > 0 || len(n.Unchecked) > 0 || n.Stopped != "":
		if c.CustomMetadata == nil {
			c.CustomMetadata = map[string]any{}
		}
		c.CustomMetadata[session.NotesKey] = n.asRead()
	case c.CustomMetadata != nil:
		if delete(c.CustomMetadata, session.NotesKey); len(c.CustomMetadata) == 0 {
			c.CustomMetadata = nil
		}
	}
	return &c
}

// asRead returns the notes as they are once the event was written and read.
func (n Notes) asRead() (v any) {
	data, err := json.Marshal(n, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		panic(err) // strings in a struct
	}
	return v
}
