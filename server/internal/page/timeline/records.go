package timeline

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/plughook/plughook/session"
)

// Records are what a plugin with a policy has noted on an event, under its name in the event's metadata: which rules have
// decided, and nothing of the text. Plugin is "" if there are none.
type Records struct {
	Plugin   string   `json:"-"`
	Revision string   `json:"revision"`
	Records  []Record `json:"records"`
}

// A Record says what a rule did, or, with Would, would have done if it were not in shadow.
type Record struct {
	Rule         string   `json:"rule"`
	Stage        string   `json:"stage"`
	Type         string   `json:"type"`
	Action       string   `json:"action"`
	Would        string   `json:"would_action"`
	Count        int      `json:"count"`
	Length       int      `json:"length"`
	Fingerprints []string `json:"fingerprints"`
}

// edits reports whether the action takes something out of a text.
func (r Record) edits() bool {
	return slices.Contains([]string{"redact", "replace", "hash", "vault", "mask"}, r.Action)
}

// RecordsOf returns the records on an event. Whoever can write an event's metadata can write them.
func RecordsOf(e *session.Event) (r Records) {
	for _, name := range slices.Sorted(maps.Keys(e.CustomMetadata)) {
		value, _ := e.CustomMetadata[name].(map[string]any)
		if value["records"] == nil {
			continue
		}
		data, err := json.Marshal(value)
		if err == nil && json.Unmarshal(data, &r) == nil {
			r.Plugin = name
			return r
		}
		r = Records{}
	}
	return r
}
