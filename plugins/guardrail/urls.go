package guardrail

import (
	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/links"
)

// disallowed finds the links that a list does not allow.
type disallowed struct{ list *links.List }

// Find implements detect.Detector.
func (d disallowed) Find(found []detect.Finding, text string) []detect.Finding {
	var buffer [8]links.Link
	for _, link := range links.Find(buffer[:0], text) {
		if d.list.Check(text[link.Start:link.End]) == nil {
			continue
		}
		by := "link"
		if link.Loaded {
			by = "image"
		}
		found = append(found, detect.Finding{Type: "URL", Rule: by, Start: link.Start, End: link.End, Score: 1})
	}
	return found
}

// Open implements detect.Detector.
func (disallowed) Open(text string) int { return links.Open(text) }
