package audit

import (
	"encoding/json"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// guardName is the name of the plugin guardrail, and the key of its records in an event's metadata.
const guardName = "guardrail"

// A decision is what a rule of a policy did with an event, or would have done in shadow mode: a record of package
// guardrail.
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

// decisions copies the guardrail's records from an event's metadata, if the guardrail wrote or changed the event. In any other
// event, somebody else has written them.
func (l *line) decisions(e *session.Event, n plugin.Notes) {
	isGuard := func(note plugin.Note) bool { return note.Plugin == guardName }
	if e.Author != session.PluginPrefix+guardName && !slices.ContainsFunc(n.Changed, isGuard) {
		return
	}
	data, err := json.Marshal(e.CustomMetadata[guardName])
	if err != nil {
		return
	}
	var records struct {
		Revision string     `json:"revision"`
		Records  []decision `json:"records"`
	}
	if err := json.Unmarshal(data, &records); err != nil {
		return
	}
	l.Policy = name(records.Revision)
	for _, d := range first(l, records.Records) {
		d.Rule = name(d.Rule)
		d.Stage = name(d.Stage)
		d.Type = name(d.Type)
		d.Action = name(d.Action)
		d.Would = name(d.Would)
		d.Fingerprints = first(l, d.Fingerprints)
		for i, f := range d.Fingerprints {
			d.Fingerprints[i] = name(f)
		}
		l.Decisions = append(l.Decisions, d)
	}
}
