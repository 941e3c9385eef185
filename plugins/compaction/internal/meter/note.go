package meter

import (
	"encoding/json"
	"fmt"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

const (
	// PluginName is the name of the plugin, and the key of a note in the CustomMetadata of its events.
	PluginName = "compaction"
	// RecallName is the name of the tool that reads what a prompt does not have.
	RecallName = extract.RecallName
)

// A Note is what the event of a compaction says about it. It contains no text, so what a later plugin removes
// from the summary is nowhere else in the event.
type Note struct {
	// Trigger is why the compaction was made; By is "offline", or the model that wrote the summary.
	Trigger string `json:"trigger"`
	By      string `json:"by"`
	// Before and After are the tokens of the live view; Events is how many were covered, without the summary
	// before; Generation is 1 for the first summary, 2 for a summary of a summary.
	Before     int `json:"before"`
	After      int `json:"after"`
	Events     int `json:"events"`
	Generation int `json:"generation"`
	// Cost is what the model cost, in the currency of the prices that it was computed with.
	Cost float64 `json:"cost,omitzero"`
	// Factor is the meter's reported; Beside is the meter's without the scale.
	Factor float64 `json:"factor,omitzero"`
	Beside int     `json:"beside,omitzero"`
	// Fixed are the tokens of the prompt that the compaction was made for which are not of the live view.
	Fixed int `json:"fixed,omitzero"`
	// Scale and Lessons are those of the meter, with what a refused prompt has taught that this compaction is
	// made for.
	Scale   float64 `json:"scale,omitzero"`
	Lessons int     `json:"lessons,omitzero"`
	// Cleared are the parts of events that stay of which the prompt has the beginning, as a position, the index
	// of the part, and how many characters are shown if that is more than a line; Saved are those that are artifacts, too; Hidden are the positions of calls that
	// wait for an answer and are not in the prompt.
	Cleared positions `json:"cleared,omitzero"`
	Saved   positions `json:"saved,omitzero"`
	Hidden  []int64   `json:"hidden,omitzero"`
	// Sections are the states of package extract, one for each part of the content.
	Sections []any `json:"sections,omitzero"`
}

// Shortened returns the positions of the events of which the prompt has less than the whole.
func (n *Note) Shortened() (list []int64) {
	n.Cleared.each(func(p Part, _ int) { list = append(list, p.Seq) })
	return append(list, n.Hidden...)
}

// Metadata returns the CustomMetadata of the event that the note is about.
func (n *Note) Metadata() map[string]any { return map[string]any{PluginName: AsJSON(n)} }

// AsJSON returns a value of numbers and hashes as a program reads it from JSON.
func AsJSON(v any) (plain any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &plain)
	}
	if err != nil {
		panic(fmt.Sprintf("compaction: a value of numbers and hashes is JSON: %v", err))
	}
	return plain
}

// HeadNote returns the note of the summary that heads a view, nil if there is none that can be read.
func HeadNote(live []*session.Event) *Note {
	if len(live) == 0 || !live[0].Marker() {
		return nil
	}
	return ReadNote(live[0])
}

// NoteOf returns the note of an event of this plugin, nil if there is none that can be read.
func NoteOf(e *session.Event) *Note {
	if e.CustomMetadata == nil || e.Author != session.PluginPrefix+PluginName {
		return nil
	}
	return ReadNote(e)
}

// ReadNote returns the note in an event, nil if there is none that can be read.
func ReadNote(e *session.Event) *Note {
	v, ok := e.CustomMetadata[PluginName].(map[string]any)
	if !ok {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	n := new(Note)
	if err := json.Unmarshal(data, n); err != nil {
		return nil
	}
	return n
}
