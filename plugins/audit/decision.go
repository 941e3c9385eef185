package audit

import (
	"encoding/json"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// guard is the plugin whose records are copied, and their key in an event's metadata.
const guard = "guardrail"

// A decision is what a rule of a policy did, or in shadow would have done, with an event: a record of package guardrail.
type decision struct {
	Rule         string   `json:"rule"`
	Stage        string   `json:"stage,omitzero"`
	Type         string   `json:"type,omitzero"`
	Action       string   `json:"action"`
	Would        string   `json:"would_action,omitzero"`
	Count        int      `json:"count,omitzero"`
	Length       int      `json:"length,omitzero"`
	Fingerprints []string `json:"fingerprints,omitzero"`
}

// decided takes over what the guardrail has noted on the event, if it was the guardrail. Its texts are names, like others.
func (l *line) decided(e *session.Event, n plugin.Notes) {
	mine := func(note plugin.Note) bool { return note.Plugin == guard }
	if e.Author != session.PluginPrefix+guard && !slices.ContainsFunc(n.Changed, mine) {
		return
	}
	var note struct {
		Revision string     `json:"revision"`
		Records  []decision `json:"records"`
	}
	data, err := json.Marshal(e.CustomMetadata[guard])
	if err != nil || json.Unmarshal(data, &note) != nil {
		return
	}
	l.Policy = name(note.Revision)
	for _, d := range first(l, note.Records) {
		d.Rule, d.Stage, d.Type, d.Action, d.Would = name(d.Rule), name(d.Stage), name(d.Type), name(d.Action), name(d.Would)
		d.Fingerprints = first(l, d.Fingerprints)
		for i, f := range d.Fingerprints {
			d.Fingerprints[i] = name(f)
		}
		l.Decisions = append(l.Decisions, d)
	}
}
